"""Intervals by bootstrap: clusters are drawn whole, and what is compared is drawn in pairs."""

import math

import numpy as np
import pytest
from lamr_base.resampling import Bootstrap, ratio

FAST = Bootstrap(draws=400)


def test_a_share_is_of_the_sums_and_lies_in_its_interval() -> None:
    rng = np.random.default_rng(1)
    wholes = rng.uniform(1, 5, 60)
    parts = wholes * rng.uniform(0.0, 0.2, 60)
    found = ratio(parts, wholes, np.arange(60), FAST)
    assert found.value == pytest.approx(parts.sum() / wholes.sum())
    assert found.low < found.value < found.high
    assert found.high - found.low < 0.05


def test_items_of_one_cluster_are_drawn_together() -> None:
    parts, wholes = [1.0, -1.0] * 20, [1.0] * 40
    pairs = ratio(parts, wholes, np.repeat(np.arange(20), 2), FAST)
    assert (pairs.low, pairs.high) == (0, 0)
    alone = ratio(parts, wholes, np.arange(40), FAST)
    assert alone.low < 0 < alone.high


def test_the_interval_covers_the_share_that_sessions_were_drawn_from() -> None:
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(200):
        shares, wholes = rng.normal(0.05, 0.05, 80), rng.uniform(1, 3, 80)
        found = ratio(shares * wholes, wholes, np.arange(80), FAST)
        covered += found.low <= 0.05 <= found.high
    assert 178 <= covered <= 199  # of 200; 95 % are 190


@pytest.mark.parametrize(("parts", "wholes"), [([], []), ([0.0], [0.0])])
def test_nothing_has_no_share(parts: list[float], wholes: list[float]) -> None:
    found = ratio(parts, wholes, [str(n) for n in range(len(parts))], FAST)
    assert all(map(math.isnan, (found.value, found.low, found.high)))


def test_too_few_say_nothing_of_how_much_they_differ() -> None:
    found = ratio([1.0, 2.0], [10.0, 10.0], ["a", "b"], FAST)
    assert found.value == pytest.approx(0.15)
    assert math.isnan(found.low)
    assert math.isnan(ratio([1.0] * 40, [10.0] * 40, [f"{n % 4}" for n in range(40)], FAST).low)
    assert ratio([1.0] * 40, [10.0] * 40, [f"{n % 5}" for n in range(40)], FAST).low == pytest.approx(0.1)
