"""Sums of rows are those of a plain loop, however long a segment is."""

from itertools import pairwise

import numpy as np
import pytest
from lamr_base.arrays import SegmentedRows, stable_order


@pytest.mark.parametrize("sizes", [[], [0], [1, 1, 1], [0, 3, 0, 1], [2, 25, 24, 0, 60, 23], [100]])
def test_sums_are_those_of_a_loop(sizes: list[int]) -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(9, 5)).astype(np.float32)
    rows = rng.integers(0, 9, sum(sizes))
    ends = np.cumsum([0, *sizes])
    expected = [table[rows[first:last]].sum(axis=0) for first, last in pairwise(ends)]
    sums = SegmentedRows.of(rows, np.array(sizes, np.int64)).sums(table)
    np.testing.assert_allclose(sums, np.reshape(expected, (len(sizes), 5)), atol=1e-4)


def test_no_row_of_an_empty_table() -> None:
    sums = SegmentedRows.of(np.zeros(0, np.int64), np.zeros(4, np.int64)).sums(np.zeros((0, 3), np.float32))
    np.testing.assert_array_equal(sums, np.zeros((4, 3)))


@pytest.mark.parametrize("largest", [3, 70_000])
def test_order_is_stable(largest: int) -> None:
    values = np.random.default_rng(1).integers(0, largest, 300)
    np.testing.assert_array_equal(stable_order(values), np.argsort(values, kind="stable"))
    assert stable_order(np.zeros(0, np.int64)).shape == (0,)
