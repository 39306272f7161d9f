"""Scans against plain loops, and the passes by scan (GPU) against the passes row by row (numpy)."""

from __future__ import annotations

import array_api_compat
import numpy as np
import pytest
import torch
from lamr_decoding import max_product, sum_product
from lamr_decoding.chain import Chain
from lamr_decoding.maps import ClampMaps, LabelMaps, LogMaps, Maps, OddsMaps
from lamr_decoding.packing import Packing
from lamr_decoding.scan import from_lanes, scan, scan_by_doubling, to_lanes

from .reference import Draw, random_batch, random_crf

SIZES = [1, 2, 3, 31, 64, 65, 1000]


def _maps(family: str, n: int, convert: object) -> tuple[Maps, object]:
    """Random maps of two chains of n tokens, and the state before the first."""
    rng = np.random.default_rng(n)
    xp = array_api_compat.array_namespace(convert(np.zeros(1)))
    if family == "odds":
        arrays = np.exp(rng.normal(size=(2, 2, n))), np.exp(rng.normal(size=(2, n)) * 2)
        return OddsMaps(xp, *map(convert, arrays)), convert(np.ones((2, 1)))
    if family == "log":
        arrays = rng.normal(size=(2, 2, n)) * 100, rng.normal(size=(2, n)) * 100
        return LogMaps(xp, *map(convert, arrays)), convert(np.zeros((2, 1)))
    if family == "clamp":
        arrays = (
            np.sort(rng.integers(-9, 9, (2, 2, n)), axis=0).astype(float),
            rng.integers(-9, 9, (2, n)) * 1.0,
        )
        return ClampMaps(xp, *map(convert, arrays)), convert(np.zeros((2, 1)))
    arrays = rng.random((2, n)) < 0.1, rng.random((2, n)) < 0.9
    return LabelMaps(xp, *map(convert, arrays)), convert(np.ones((2, 1), dtype=np.bool_))


@pytest.mark.parametrize("convert", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])
@pytest.mark.parametrize("family", ["odds", "log", "clamp", "label"])
@pytest.mark.parametrize("n", SIZES)
def test_scans_equal_a_loop(n: int, family: str, convert: object) -> None:
    maps, state = _maps(family, n, convert)
    initial, expected = state, []
    for i in range(n):
        expected.append(np.asarray(state))
        state = maps.at(slice(i, i + 1))(state)
    before = np.concatenate(expected, axis=-1)
    for found in (scan(maps, initial), scan_by_doubling(maps, initial)):
        np.testing.assert_allclose(np.asarray(found) * 1.0, before * 1.0, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", SIZES)
def test_lanes_hold_every_token_once(n: int) -> None:
    values = np.arange(2 * n).reshape(2, n)
    for rows in (1, 2, 16):
        lanes = to_lanes(values, rows)
        assert lanes.shape == (2, rows, -(-n // rows))
        np.testing.assert_array_equal(from_lanes(lanes, n), values)
        lanes[:] = -1
        assert values[0, 0] == 0  # a copy, even where the layout is the same


@pytest.mark.parametrize("kind", ["normal", "ties", "beyond odds", "strong fields"])
def test_both_forms_agree(kind: str) -> None:
    rng = np.random.default_rng(0)
    draws: dict[str, Draw] = {
        "normal": lambda shape: rng.normal(size=shape),
        "ties": lambda shape: rng.integers(-1, 2, shape).astype(float),
        "beyond odds": lambda shape: rng.normal(size=shape) * 100,
        "strong fields": lambda shape: rng.normal(size=shape) * (3 if shape[-1] == shape[0] == 2 else 1e4),
    }
    for _ in range(25):
        emissions, cu_seqlens = random_batch(rng, draws[kind], longest=300, most=9)
        crf, packing = random_crf(draws[kind]), Packing.of(cu_seqlens, len(emissions))
        ours = Chain.of(emissions, packing, crf)
        scanned = Chain(torch.as_tensor(ours.fields), torch.as_tensor(ours.coupling), packing)
        np.testing.assert_array_equal(max_product.labels(scanned).numpy(), max_product.labels(ours))
        keep = sum_product.keep_probability(scanned).numpy()
        np.testing.assert_allclose(keep, sum_product.keep_probability(ours), rtol=1e-6, atol=1e-9)
        forward = sum_product._log_forward(scanned).numpy()
        np.testing.assert_allclose(forward, sum_product._log_forward(ours), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("fields", [1.0, 30.0, 1e3])
@pytest.mark.parametrize("coupling", [63.9, 20.0, -20.0, -63.9])
def test_odds_reach_as_far_as_they_claim(coupling: float, fields: float) -> None:
    """At the largest couplings, odds agree with logarithms, which have no limit, and nothing overflows."""
    rng = np.random.default_rng(0)
    values, cu_seqlens = rng.normal(size=20_000) * fields, np.array([0, 7, 15_000, 20_000])
    packing = Packing(cu_seqlens)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        found = sum_product.keep_probability(Chain(values, np.float64(coupling), packing))
        scanned = sum_product._odds_messages(
            np.exp(np.clip(values, -236, 236)), packing.last, np.float64(coupling)
        )
    logs = sum_product._log_messages(
        np.stack([values, values[::-1]]), np.stack([packing.last, packing.first[::-1]]), np.float64(coupling)
    )
    np.testing.assert_allclose(np.log(scanned), logs[0], rtol=1e-9, atol=1e-7)
    odds = logs[0] + values + logs[1, ::-1]
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-np.clip(odds, -700, 700))), atol=1e-7)
