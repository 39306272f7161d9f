"""Attention in two groups gives the same numbers as one padded batch, from the fewest scores."""

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamr_export.grouped_attention import group_attention

from tests.export.models import CHUNKING, VOCAB, packed

FEATURES = ["fused", "relevance"]
GROUPS = ["groups/short_tokens", "groups/long_tokens"]
LENGTHS = st.lists(st.integers(1, CHUNKING.window), min_size=1, max_size=9)


@pytest.fixture(scope="module")
def sessions(exported):
    """The graph of a model with both kinds of mask, and the grouped one, which shows its groups."""
    written = onnx.load(exported("bert-apart").onnx)
    grouped = group_attention(written)
    onnx.checker.check_model(grouped)
    for name in GROUPS:
        grouped.graph.output.append(
            onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT64, [None, None])
        )
    return session(written), session(grouped)


def session(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # else it tells of initializers that nothing reads any more
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def batch(lengths):
    arrays = (array.numpy() for array in packed(list(lengths), seed=sum(lengths)))
    return dict(zip(("input_ids", "cu_seqlens", "max_len"), arrays, strict=True))


def kinds(model):
    return [node.op_type for node in model.graph.node]


@settings(max_examples=80, deadline=None)
@given(LENGTHS)
def test_the_same_numbers_from_the_fewest_scores(sessions, lengths):
    written, grouped = sessions
    *got, short, long = grouped.run([*FEATURES, *GROUPS], batch(lengths))
    for one, other in zip(got, written.run(FEATURES, batch(lengths)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    ordered = sorted(lengths)
    best = min(
        n * ordered[n - 1] ** 2 + (len(ordered) - n) * ordered[-1] ** 2 for n in range(1, len(ordered) + 1)
    )
    unread = int(len(short) == len(lengths))  # the long group's single slot then
    assert sum(len(table) * table.shape[1] ** 2 for table in (short, long)) == best + unread


@pytest.mark.parametrize("lengths", [[17] * 6, [40], [1]])
def test_one_length_is_one_group(sessions, lengths):
    short, long = sessions[1].run(GROUPS, batch(lengths))
    assert short.shape == (len(lengths), lengths[0])
    assert long.shape == (1, 1)


def test_refused_sequences_spoil_no_others(sessions):
    """A sequence beyond the window and one with an unknown id turn into NaN. The sequences beside them don't."""
    lengths = [9, CHUNKING.window + 30, 50, 12, 48]
    feed = batch(lengths)
    feed["input_ids"][-1] = VOCAB + 5
    features, relevance = sessions[1].run(FEATURES, feed)
    parts = np.split(features, feed["cu_seqlens"][1:-1])
    assert [bool(np.isnan(part).any()) for part in parts] == [False, True, False, False, True]
    assert [bool(np.isnan(part).all()) for part in parts] == [False, True, False, False, True]
    assert np.isnan(relevance[:, 0]).tolist() == [False, True, False, False, True]
    kept = [part for part in parts if not np.isnan(part).any()]
    alone = [sessions[1].run(["fused"], single(feed, n))[0] for n in (0, 2, 3)]
    for one, other in zip(kept, alone, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def single(feed, number):
    """One sequence of a batch by itself."""
    start, end = feed["cu_seqlens"][number : number + 2]
    return {
        "input_ids": feed["input_ids"][start:end],
        "cu_seqlens": np.array([0, end - start], np.int32),
        "max_len": np.zeros(end - start, np.float32),
    }


@pytest.mark.parametrize(("kind", "fused"), [("bert", 3), ("swepruner", 1)])
def test_what_has_another_form_is_left_alone(exported, kind, fused):
    """A BERT's two layers and its fusion are fused. A causal model has another mask, so only its fusion is."""
    grouped = group_attention(onnx.load(exported(kind).onnx))
    onnx.checker.check_model(grouped)
    assert kinds(grouped).count("MultiHeadAttention") == 2 * fused


def test_several_layouts_and_the_argument_are_left_alone(exported):
    """Attentions that share no layout can't share groups."""
    written = onnx.load(exported("bert").onnx)
    softmax = next(node for node in written.graph.node if node.op_type == "Softmax")
    name = softmax.output[0]
    for _ in range(4):  # MatMul, Transpose, Reshape, Gather
        packed_rows = next(node for node in written.graph.node if name in node.input)
        name = packed_rows.output[0]
    copy = onnx.helper.make_node("Identity", [packed_rows.input[1]], ["another layout"])
    packed_rows.input[1] = "another layout"
    written.graph.node.insert(list(written.graph.node).index(packed_rows), copy)
    onnx.checker.check_model(written)
    assert kinds(group_attention(written)) == kinds(written)
    written = onnx.load(exported("bert").onnx)
    before = written.SerializeToString()
    assert group_attention(written).SerializeToString() != before
    assert written.SerializeToString() == before
