"""Weights as levels whose errors cancel."""

import numpy as np
import pytest
from lamr_export.integer_graph import gptq_levels

MOST = 63


@pytest.fixture
def weight(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(200, 48)).astype(np.float32)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(4)


def scale_of(weight: np.ndarray) -> np.ndarray:
    return np.abs(weight).max(axis=0) / MOST


def error(inputs: np.ndarray, weight: np.ndarray, levels: np.ndarray) -> float:
    return float(np.linalg.norm(inputs @ (levels * scale_of(weight)) - inputs @ weight))


def rounded(weight: np.ndarray) -> np.ndarray:
    return np.rint(weight / scale_of(weight))


def test_channels_that_move_together_make_up_for_each_other(
    rng: np.random.Generator, weight: np.ndarray
) -> None:
    hidden = rng.normal(size=(3_000, 20))
    inputs = (hidden @ rng.normal(size=(20, 200)) + 0.1 * rng.normal(size=(3_000, 200))).astype(np.float32)
    seen, unseen = np.split(inputs, 2)
    levels = gptq_levels(weight, scale_of(weight), seen.T @ seen, MOST)
    assert error(unseen, weight, levels) < 0.3 * error(unseen, weight, rounded(weight))


def test_channels_that_have_nothing_in_common_are_rounded_by_themselves(weight: np.ndarray) -> None:
    levels = gptq_levels(weight, scale_of(weight), np.diag(np.arange(1, 201)).astype(np.float32), MOST)
    np.testing.assert_array_equal(levels, rounded(weight))


def test_levels_stay_within_bounds(rng: np.random.Generator, weight: np.ndarray) -> None:
    inputs = np.repeat(rng.normal(size=(500, 1)), 200, axis=1).astype(np.float32)
    levels = gptq_levels(weight, scale_of(weight), inputs.T @ inputs, MOST)
    assert levels.dtype == np.int8
    assert np.abs(levels).max() == MOST


@pytest.mark.parametrize("rows", [0, 1, 30])
def test_fewer_samples_than_channels_and_silent_channels_do_no_harm(
    rng: np.random.Generator, weight: np.ndarray, rows: int
) -> None:
    inputs = rng.normal(size=(rows, 200)).astype(np.float32)
    inputs[:, 50:100] = 0
    levels = gptq_levels(weight, scale_of(weight), inputs.T @ inputs, MOST)
    others = rng.normal(size=(500, 200)).astype(np.float32)
    assert error(others, weight, levels) < 2 * error(others, weight, rounded(weight))
    np.testing.assert_array_equal(levels[50:100], rounded(weight)[50:100])


def test_the_gram_stays_as_it_is(rng: np.random.Generator, weight: np.ndarray) -> None:
    inputs = rng.normal(size=(300, 200)).astype(np.float32)
    gram = inputs.T @ inputs
    before = gram.copy()
    gptq_levels(weight, scale_of(weight), gram, MOST)
    np.testing.assert_array_equal(gram, before)
