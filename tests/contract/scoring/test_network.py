"""The network over lines computes what its docstring says, and refuses weights that don't fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lamr_contract.layout import LineLayout, line_layout
from lamr_contract.scoring.network import LineNetwork
from numpy.typing import NDArray

FEATURES = ("own", "length")
WIDTH, REACH, STRIDES = 3, 1, (1, 2)


def parameters(seed: int) -> list[NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    sizes = [(2, WIDTH), (WIDTH,)]
    for _ in STRIDES:
        sizes += [((2 * REACH + 1) * 3 * WIDTH, WIDTH), (WIDTH,)]
    values = [rng.normal(size=size) for size in [*sizes, (WIDTH + 2,)]]
    return [value.astype(np.float16).astype(np.float64) for value in values]


def by_loops(
    values: NDArray[np.float64], layout: LineLayout, parts: list[NDArray[np.float64]]
) -> list[float]:
    """The docstring, line by line."""
    inked = ~layout.blank
    states = np.maximum(values @ parts[0] + parts[1], 0)
    for number, stride in enumerate(STRIDES):
        weights, constant = parts[2 + 2 * number], parts[3 + 2 * number]
        rows = []
        for line in range(len(states)):
            same = (layout.blocks == layout.blocks[line]) & inked
            block = states[same].mean(axis=0) if same.any() else np.zeros(WIDTH)
            file = states[inked].mean(axis=0) if inked.any() else np.zeros(WIDTH)
            rows.append(np.concatenate([states[line], block, file]) * inked[line])
        moved = []
        for line in range(len(states)):
            near = [line + step * stride for step in range(-REACH, REACH + 1)]
            read = [rows[n] if 0 <= n < len(rows) else np.zeros(3 * WIDTH) for n in near]
            moved.append(states[line] + np.maximum(np.concatenate(read) @ weights + constant, 0))
        states = np.array(moved)
    return (states @ parts[-1][:WIDTH] + values @ parts[-1][WIDTH:]).tolist()


@given(st.text("ab \n", max_size=40), st.integers(0, 9))
def test_a_network_is_its_docstring(text: str, seed: int) -> None:
    layout = line_layout(text)
    values = np.random.default_rng(seed).normal(size=(len(layout.blank), 2))
    network = LineNetwork.of(FEATURES, REACH, STRIDES, parameters(seed))
    expected = by_loops(values, layout, parameters(seed)) if len(values) else []
    np.testing.assert_allclose(network.logits(values, layout), expected, rtol=1e-4, atol=1e-4)


def test_members_give_their_mean() -> None:
    layout = line_layout("a\n b\n\nc\n")
    values = np.random.default_rng(3).normal(size=(len(layout.blank), 2))
    several = LineNetwork.of(FEATURES, REACH, STRIDES, *map(parameters, range(3)))
    alone = [
        LineNetwork.of(FEATURES, REACH, STRIDES, parameters(seed)).logits(values, layout) for seed in range(3)
    ]
    assert several.weights.shape == (3, len(np.concatenate([np.ravel(part) for part in parameters(0)])))
    np.testing.assert_allclose(several.logits(values, layout), np.mean(alone, axis=0), rtol=1e-6)


def test_blank_lines_at_the_end_change_nothing() -> None:
    network = LineNetwork.of(FEATURES, REACH, STRIDES, parameters(3))
    values = np.random.default_rng(3).normal(size=(6, 2))
    short, long = line_layout("a\n b\n\nc\n"), line_layout("a\n b\n\nc\n\n \n")
    np.testing.assert_allclose(network.logits(values, long)[:4], network.logits(values[:4], short), rtol=1e-5)


def test_a_network_comes_back_from_arrays() -> None:
    network = LineNetwork.of(FEATURES, REACH, STRIDES, parameters(1), parameters(2))
    again = LineNetwork.from_arrays(network.to_arrays())
    assert (again.features, again.width, again.reach, again.strides) == (FEATURES, WIDTH, REACH, STRIDES)
    np.testing.assert_array_equal(again.weights, network.weights)


def test_weights_that_do_not_fit_are_refused() -> None:
    network = LineNetwork.of(FEATURES, REACH, STRIDES, parameters(1))
    with pytest.raises(ValueError, match="weights, not"):
        replace(network, width=4)
    for changed in ({"reach": 0}, {"weights": network.weights[:0]}, {"weights": network.weights[0]}):
        with pytest.raises(ValueError, match="1 or more"):
            replace(network, **changed)
    broken = parameters(1)
    broken[0][0, 0] = np.inf
    with pytest.raises(ValueError, match="finite"):
        LineNetwork.of(FEATURES, REACH, STRIDES, broken)
