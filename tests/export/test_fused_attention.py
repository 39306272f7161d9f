"""Fused attention gives the same numbers as the operations written out."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from lamr_contract.encoder.packed_batch import encoder_feed
from lamr_export.fused_attention import fuse_attention

from .models import VOCAB

LENGTHS = [5, 1, 17, 9]


def run(model, samples):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(["fused", "relevance"], encoder_feed(samples))


def samples():
    rng = np.random.default_rng(0)
    return [rng.integers(0, VOCAB, length) for length in LENGTHS]


@pytest.mark.parametrize(("kind", "fused"), [("bert", 3), ("swepruner", 1)])
def test_the_same_numbers(exported, kind, fused):
    """A BERT's two layers and its fusion are fused. A causal model has another mask, so only its fusion is."""
    written = onnx.load(exported(kind).onnx)
    found = fuse_attention(written)
    onnx.checker.check_model(found)
    assert [node.op_type for node in found.graph.node].count("MultiHeadAttention") == fused
    for got, expected in zip(run(found, samples()), run(written, samples()), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-5)


def test_sequences_do_not_see_each_other(exported):
    found = fuse_attention(onnx.load(exported("bert").onnx))
    batch = samples()
    alone = np.concatenate([run(found, [sample])[0] for sample in batch])
    np.testing.assert_allclose(run(found, batch)[0], alone, atol=1e-6)


def test_the_argument_is_left_alone(exported):
    written = onnx.load(exported("bert").onnx)
    before = written.SerializeToString()
    fuse_attention(written)
    assert written.SerializeToString() == before
