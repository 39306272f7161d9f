"""Scans against plain loops, and the odds of the passes against logarithms."""

import numpy as np
import pytest
from lamr_model.crf import crf
from lamr_model.crf.chain import Chain, Packing
from lamr_model.crf.layers import sigmoid
from lamr_model.crf.maps import ClampMaps, LabelMaps, LogMaps, Maps, OddsMaps, scan

SIZES = [1, 2, 3, 31, 64, 65, 1000]


def _maps(family: str, n: int) -> tuple[Maps, np.ndarray]:
    """Random maps of two chains of n tokens, and the state before the first."""
    rng = np.random.default_rng(n)
    if family == "odds":
        arrays = np.exp(rng.normal(size=(2, 2, n))), np.exp(rng.normal(size=(2, n)) * 2)
        return OddsMaps(*arrays), np.ones((2, 1))
    if family == "log":
        arrays = rng.normal(size=(2, 2, n)) * 100, rng.normal(size=(2, n)) * 100
        return LogMaps(*arrays), np.zeros((2, 1))
    if family == "clamp":
        arrays = (
            np.sort(rng.integers(-9, 9, (2, 2, n)), axis=0).astype(float),
            rng.integers(-9, 9, (2, n)) * 1.0,
        )
        return ClampMaps(*arrays), np.zeros((2, 1))
    arrays = rng.random((2, n)) < 0.1, rng.random((2, n)) < 0.9
    return LabelMaps(*arrays), np.ones((2, 1), dtype=np.bool_)


@pytest.mark.parametrize("family", ["odds", "log", "clamp", "label"])
@pytest.mark.parametrize("n", SIZES)
def test_scans_equal_a_loop(n: int, family: str) -> None:
    maps, state = _maps(family, n)
    initial, expected = state, []
    for i in range(n):
        expected.append(state)
        state = maps.at(slice(i, i + 1))(state)
    before = np.concatenate(expected, axis=-1)
    np.testing.assert_allclose(scan(maps, initial) * 1.0, before * 1.0, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("fields", [1.0, 30.0, 1e3])
@pytest.mark.parametrize("coupling", [63.9, 20.0, -20.0, -63.9])
def test_odds_reach_as_far_as_they_claim(coupling: float, fields: float) -> None:
    """At the largest couplings, odds agree with logarithms, which have no limit, and nothing overflows."""
    rng = np.random.default_rng(0)
    values, cu_seqlens = rng.normal(size=20_000) * fields, np.array([0, 7, 15_000, 20_000])
    packing = Packing(cu_seqlens)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        forward = crf._messages_in_odds(values, packing.last, coupling)
        found = crf.keep_probability(Chain(values, coupling, packing))
    expected_forward = crf._messages(values, packing.last, coupling)
    backward = crf._messages(values[::-1], packing.first[::-1], coupling)[::-1]
    np.testing.assert_allclose(forward, expected_forward, rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(found, sigmoid(expected_forward + values + backward), atol=1e-7)
