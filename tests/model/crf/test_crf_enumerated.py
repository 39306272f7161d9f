"""The CRF against enumeration of all labelings: short sequences, many cases, ties."""

import numpy as np
import pytest
from lamr_model.crf import LinearChainCrf, marginals, viterbi

from .reference import Draw, brute_force, random_batch, random_crf, spans


def _draws(rng: np.random.Generator) -> dict[str, Draw]:
    return {
        "ties": lambda shape: rng.integers(-2, 3, shape).astype(np.float64),
        "all equal": np.zeros,
        "normal": lambda shape: rng.normal(size=shape) * 3,
        "large": lambda shape: rng.normal(size=shape) * 3000,
        "largest": lambda shape: rng.integers(-1, 2, shape) * 1e4,
    }


@pytest.mark.parametrize("kind", ["ties", "all equal", "normal", "large", "largest"])
def test_equals_enumeration(kind: str) -> None:
    rng = np.random.default_rng(0)
    draw = _draws(rng)[kind]
    for _ in range(3 if kind == "all equal" else 100):
        emissions, cu_seqlens = random_batch(rng, draw, longest=10)
        crf = random_crf(draw)
        _compare(emissions, cu_seqlens, crf, exact="t" in kind or kind == "all equal")


def _compare(emissions: np.ndarray, cu_seqlens: np.ndarray, crf: LinearChainCrf, exact: bool) -> None:
    labels, keep = viterbi(emissions, cu_seqlens, crf), marginals(emissions, cu_seqlens, crf)
    for span in spans(cu_seqlens):
        true = brute_force(emissions[span], crf)
        found = labels[span].tolist()
        assert true.scores[tuple(found)] == pytest.approx(true.score, abs=1e-7)
        if exact:
            assert found == true.labels
        np.testing.assert_allclose(keep[span], true.keep, atol=1e-9)


def test_marginals_of_rare_labels_keep_their_digits() -> None:
    emissions = np.array([[0.0, -200.0], [0.0, -30.0], [0.0, 0.0]])
    crf = LinearChainCrf(np.zeros((2, 2)), np.zeros(2), np.zeros(2))
    expected = np.exp([-200.0, -30.0, np.log(0.5)])
    np.testing.assert_allclose(marginals(emissions, [0, 3], crf), expected, rtol=1e-10)
