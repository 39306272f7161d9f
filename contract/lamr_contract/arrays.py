"""The type of most arrays here, the numbers of several ranges as one array, and sums of rows. Knows numbers only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float32Array = NDArray[np.float32]
Float64Array = NDArray[np.float64]

_ADDED_APART = (
    24  # rows of each segment that are added one rank after another; numpy adds the others one by one
)

_SEGMENTS_AT_ONCE = 256


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


def sums_of_segments(rows: Float32Array, starts: NDArray[np.int64]) -> Float32Array:
    """Return the sums of segments of rows, float32 [S, d], with numpy's own order of additions.

    Segments are taken a few at a time: numpy reads their rows once for each column, so they should stay in the cache.

    Args:
        rows: float32 [n, d].
        starts: int64 [S], the first row of each segment, from 0; each ends where the next one begins.
    """
    sums = np.empty((len(starts), rows.shape[1]), np.float32)
    for first in range(0, len(starts), _SEGMENTS_AT_ONCE):
        some = starts[first : first + _SEGMENTS_AT_ONCE + 1]
        last = some[-1] if len(some) > _SEGMENTS_AT_ONCE else len(rows)
        some = some[:_SEGMENTS_AT_ONCE]
        np.add.reduceat(rows[some[0] : last], some - some[0], axis=0, out=sums[first : first + len(some)])
    return sums


def stable_order(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places int64 [n] of numbers from 0, ascending and in their order where equal; quick for small ones."""
    small = int(values.max(initial=0)) < 1 << 16  # numpy sorts those in linear time
    order: NDArray[np.int64] = np.argsort(values.astype(np.uint16) if small else values, kind="stable")
    return order
