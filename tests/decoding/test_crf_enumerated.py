"""The CRF against enumeration of all labelings: short sequences, many cases, ties, both namespaces."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from lamr_decoding import LinearChainCrf, marginals, nll, viterbi

from .reference import Draw, as_torch, brute_force, random_batch, random_crf, spans

CASES = {"numpy": 100, "torch": 40}


def _draws(rng: np.random.Generator) -> dict[str, Draw]:
    return {
        "ties": lambda shape: rng.integers(-2, 3, shape).astype(np.float64),
        "all equal": np.zeros,
        "normal": lambda shape: rng.normal(size=shape) * 3,
        "large": lambda shape: rng.normal(size=shape) * 3000,
        "largest": lambda shape: rng.integers(-1, 2, shape) * 1e4,
    }


@pytest.mark.parametrize("namespace", ["numpy", "torch"])
@pytest.mark.parametrize("kind", ["ties", "all equal", "normal", "large", "largest"])
def test_equals_enumeration(kind: str, namespace: str) -> None:
    rng = np.random.default_rng(0)
    draw = _draws(rng)[kind]
    for _ in range(3 if kind == "all equal" else CASES[namespace]):
        emissions, cu_seqlens = random_batch(rng, draw, longest=10)
        crf = random_crf(draw)
        _compare(emissions, cu_seqlens, crf, namespace, exact="t" in kind or kind == "all equal")


def _compare(
    emissions: np.ndarray, cu_seqlens: np.ndarray, crf: LinearChainCrf, namespace: str, exact: bool
) -> None:
    convert = torch.as_tensor if namespace == "torch" else np.asarray
    used, e = (as_torch(crf) if namespace == "torch" else crf), convert(emissions)
    labels = viterbi(e, cu_seqlens, used)
    keep = np.asarray(marginals(e, cu_seqlens, used))
    losses = np.asarray(nll(e, labels, cu_seqlens, used))
    for b, span in enumerate(spans(cu_seqlens)):
        true = brute_force(emissions[span], crf)
        found = np.asarray(labels)[span].tolist()
        size = 1 + len(found) * np.abs(emissions[span]).max()  # what rounding scales with
        assert true.scores[tuple(found)] == pytest.approx(true.score, abs=1e-7)
        if exact:
            assert found == true.labels
        assert losses[b] == pytest.approx(true.log_partition - true.score, abs=1e-11 * size)
        np.testing.assert_allclose(keep[span], true.keep, atol=1e-9)


def test_nll_of_any_labeling() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        emissions, cu_seqlens = random_batch(rng, lambda shape: rng.normal(size=shape) * 2, longest=8)
        crf = random_crf(lambda shape: rng.normal(size=shape))
        labels = rng.integers(0, 2, len(emissions))
        losses = nll(emissions, labels, cu_seqlens, crf)
        for b, span in enumerate(spans(cu_seqlens)):
            true = brute_force(emissions[span], crf)
            score = true.scores[tuple(labels[span].tolist())]
            assert losses[b] == pytest.approx(true.log_partition - score, abs=1e-11)


def test_marginals_of_rare_labels_keep_their_digits() -> None:
    emissions = np.array([[0.0, -200.0], [0.0, -30.0], [0.0, 0.0]])
    crf = LinearChainCrf(np.zeros((2, 2)), np.zeros(2), np.zeros(2))
    expected = np.exp([-200.0, -30.0, np.log(0.5)])
    np.testing.assert_allclose(marginals(emissions, [0, 3], crf), expected, rtol=1e-10)
