"""The type of most arrays here, the numbers of several ranges as one array, and sums of rows. Knows numbers only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float32Array = NDArray[np.float32]
Float64Array = NDArray[np.float64]

_ADDED_APART = (
    24  # rows of each segment that are added one rank after another; numpy adds the others one by one
)


def ranges(firsts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of several ranges, one range after another, without a loop.

    Args:
        firsts: int64 [R], the first number of each range.
        lengths: int64 [R], how many numbers each range has.

    Returns:
        int64 [sum of lengths].
    """
    steps: NDArray[np.int64] = firsts - np.cumsum(lengths) + lengths
    numbers: NDArray[np.int64] = np.repeat(steps, lengths) + np.arange(lengths.sum())
    return numbers


def sums_of_rows(table: Float32Array, rows: NDArray[np.int64], sizes: NDArray[np.int64]) -> Float32Array:
    """Return the sums of rows of a table over segments, float32 [S, d].

    The first rows of all segments are added at once, then the second ones, and so on, because most segments are short.

    Args:
        table: float32 [V, d].
        rows: int64 [n], the rows of the first segment, then those of the second, and so on.
        sizes: int64 [S], how many rows each segment has.
    """
    starts = np.cumsum(sizes) - sizes
    longest = stable_order(sizes.max(initial=0) - sizes)
    starts, reaching = (
        starts[longest],
        len(sizes) - np.cumsum(np.bincount(sizes)),
    )  # how many have more rows than k
    sums = np.zeros((len(sizes), table.shape[1]), np.float32)
    for rank, held in enumerate(reaching[:_ADDED_APART].tolist()):
        sums[:held] += table.take(rows[starts[:held] + rank], axis=0)
    if len(reaching) > _ADDED_APART and (held := int(reaching[_ADDED_APART])):
        rest = sizes[longest[:held]] - _ADDED_APART
        others = table.take(rows[ranges(starts[:held] + _ADDED_APART, rest)], axis=0)
        sums[:held] += np.add.reduceat(others, np.cumsum(rest) - rest, axis=0)
    ordered = np.empty_like(sums)
    ordered[longest] = sums
    return ordered


def stable_order(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places int64 [n] of numbers from 0, ascending and in their order where equal; quick for small ones."""
    small = int(values.max(initial=0)) < 1 << 16  # numpy sorts those in linear time
    order: NDArray[np.int64] = np.argsort(values.astype(np.uint16) if small else values, kind="stable")
    return order
