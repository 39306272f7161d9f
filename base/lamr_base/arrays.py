"""The type of most arrays here, the numbers of several ranges as one array, sums of rows, and log-odds.

Scores are added and averaged as log-odds. Knows numbers only."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamr_base.records import dataclass

Float32Array = NDArray[np.float32]
Float64Array = NDArray[np.float64]

# rows of each segment that are added one rank after another; numpy adds the others one by one
_ADDED_APART = 24

_SEGMENTS_AT_ONCE = 256


def ranges(firsts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of several ranges, one range after another, without a loop.

    Args:
        firsts: int64 [R], the first number of each range.
        lengths: int64 [R], how many numbers each range has.

    Returns:
        int64 [sum of lengths]."""
    steps: NDArray[np.int64] = firsts - np.cumsum(lengths) + lengths
    numbers: NDArray[np.int64] = np.repeat(steps, lengths) + np.arange(lengths.sum())
    return numbers


@dataclass(frozen=True, eq=False)
class SegmentedRows:
    """Segments of rows of a table, in the order in which they are added."""

    longest: NDArray[np.int64]  # [S], the segments, longer ones first
    # the first rows of all segments that have any, then the second ones, and so on, because most segments are short
    ranks: tuple[NDArray[np.int64], ...]
    # rest, starts: the other rows of the longest segments, and where those of each begin
    rest: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, rows: NDArray[np.int64], sizes: NDArray[np.int64]) -> SegmentedRows:
        """Return the segments of rows int64 [n], one after another, that have the sizes int64 [S]."""
        longest = stable_order(sizes.max(initial=0) - sizes)
        starts = (np.cumsum(sizes) - sizes)[longest]
        reaching = (len(sizes) - np.cumsum(np.bincount(sizes))).tolist()  # how many have more rows than k
        ranks = tuple(rows[starts[:held] + rank] for rank, held in enumerate(reaching[:_ADDED_APART]))
        held = reaching[_ADDED_APART] if len(reaching) > _ADDED_APART else 0
        more = sizes[longest[:held]] - _ADDED_APART
        rest = rows[ranges(starts[:held] + _ADDED_APART, more)]
        return cls(longest, ranks, rest, np.cumsum(more) - more)

    def sums(self, table: Float32Array) -> Float32Array:
        """Return the sums of a table's rows over the segments, float32 [S, d]."""
        sums = np.zeros((len(self.longest), table.shape[1]), np.float32)
        for rows in self.ranks:
            sums[: len(rows)] += table.take(rows, axis=0)
        if len(self.starts):
            others = table.take(self.rest, axis=0)
            sums[: len(self.starts)] += np.add.reduceat(others, self.starts, axis=0)
        ordered = np.empty_like(sums)
        ordered[self.longest] = sums
        return ordered


def sums_of_segments(rows: Float32Array, starts: NDArray[np.int64]) -> Float32Array:
    """Return the sums of segments of rows, float32 [S, d], with numpy's own order of additions.

    Segments are taken a few at a time: numpy reads their rows once for each column, so they should stay in the cache.
    `rows`: float32 [n, d]. `starts`: int64 [S], the first row of each segment, from 0; each ends where the next one
    begins."""
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


# A marginal of exactly 0 or 1 has no logit; float32 sums are no finer than this anyway.
_EPSILON = 1e-6


def logit(p: ArrayLike) -> Float64Array:
    """Return the log-odds of probabilities of any shape; they are finite at 0 and 1."""
    clipped = np.minimum(np.maximum(np.asarray(p, np.float64), _EPSILON), 1 - _EPSILON)
    logits: Float64Array = np.log(clipped) - np.log1p(-clipped)
    return logits


def sigmoid(logits: Float64Array) -> Float64Array:
    """Return the probabilities of log-odds of any shape."""
    probabilities: Float64Array = 1 / (1 + np.exp(-logits))
    return probabilities
