"""Where lines begin and end, and what each is worth.

This module knows text, tokens' character offsets and scores. It knows no language and decides nothing.

A line ends at LF, CRLF or CR and at nothing else: form feeds, vertical tabs, `\\x1c`-`\\x1e`, `\\x85` and U+2028 are
ordinary characters (unlike `str.splitlines`). Text that ends without a newline still has a last line; empty text
has none. All functions are linear and hold a few arrays of the text's length.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float32]

_LF, _CR = 10, 13
_BLANK = np.array([9, 10, 11, 12, 13, 32], dtype=np.uint32)  # \t \n \v \f \r and space


def code_points(text: str) -> NDArray[Any]:
    """The text's characters as unsigned integers [n]; one byte each when all are ASCII, else four."""
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def spans_of(points: NDArray[Any]) -> IntArray:
    """`line_spans` on `code_points` (or on UTF-8 bytes, giving byte offsets)."""
    n = points.shape[0]
    if n == 0:
        return np.zeros((0, 2), dtype=np.int64)
    ends = points == _LF
    lone = points == _CR
    lone[:-1] &= ~ends[1:]
    stops = np.flatnonzero(ends | lone) + 1
    if stops.shape[0] == 0 or stops[-1] != n:
        stops = np.append(stops, n)
    starts = np.concatenate(([0], stops[:-1]))
    spans: IntArray = np.stack([starts, stops], axis=1).astype(np.int64)
    return spans


def line_spans(text: str) -> IntArray:
    """Character offsets [L, 2] of each line: start, and end past its newline. Consecutive and gapless."""
    return spans_of(code_points(text))


def split_lines(text: str) -> list[str]:
    """The lines with their newlines; joined they give the text back."""
    return [text[start:stop] for start, stop in line_spans(text).tolist()]


def blank_lines(points: NDArray[Any], spans: IntArray) -> BoolArray:
    """Which lines [L] hold nothing but spaces, tabs, form feeds, vertical tabs and their newline."""
    if spans.shape[0] == 0:
        return np.zeros(0, dtype=np.bool_)
    inked = ~np.isin(points, _BLANK.astype(points.dtype))
    blank: BoolArray = ~np.logical_or.reduceat(inked, spans[:, 0])
    return blank


def line_scores_from_tokens(token_scores: ArrayLike, token_offsets: ArrayLike, text: str) -> FloatArray:
    """Mean token score of each line over those of its characters that tokens cover (paper section 3.4).

    A token that spans lines counts in each with its characters there. Lines of white space alone, and lines that
    no token covers, take the smaller score of their two scored neighbours (the only one at an end of the text),
    so a blank line is selected exactly when both its neighbours are. Without any scored line all are 0.

    Args:
        token_scores: float [n].
        token_offsets: int [n, 2], character offsets start and end (exclusive) in `text`; empty spans are ignored.
        text: of c characters and L lines.

    Returns:
        float32 [L].

    Raises:
        ValueError: shapes differ, a score isn't finite or an offset lies outside the text.
    """
    scores = np.asarray(token_scores, dtype=np.float64).reshape(-1)
    offsets = np.asarray(token_offsets, dtype=np.int64).reshape(-1, 2)
    points = code_points(text)
    spans = spans_of(points)
    _check_tokens(scores, offsets, points.shape[0])
    filled = offsets[:, 1] > offsets[:, 0]
    total, covered = _sum_by_line(scores[filled], offsets[filled], spans)
    covered[blank_lines(points, spans)] = 0
    return _follow_neighbours(np.divide(total, np.maximum(covered, 1)), covered > 0)


def _check_tokens(scores: NDArray[np.float64], offsets: IntArray, length: int) -> None:
    if scores.shape[0] != offsets.shape[0]:
        raise ValueError(
            f"{scores.shape[0]} token scores but {offsets.shape[0]} token offsets; give one span a score"
        )
    if not np.isfinite(scores).all():
        raise ValueError("token scores must be finite numbers; found NaN or infinity")
    if offsets.size and (offsets.min() < 0 or offsets.max() > length):
        raise ValueError(f"token offsets must be characters of the text, 0 to {length}; were they bytes?")


def _sum_by_line(
    scores: NDArray[np.float64], offsets: IntArray, spans: IntArray
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Per line [L]: the sum of score x characters, and the covered characters.

    Memory is O(tokens + lines) whatever the tokens span: the first and last line of a token are added one by one,
    the whole lines between them through a difference array.
    """
    lines = spans.shape[0]
    if lines == 0:
        return np.zeros(0), np.zeros(0)
    begin, end = offsets[:, 0], offsets[:, 1]
    first = np.searchsorted(spans[:, 1], begin, side="right")
    last = np.searchsorted(spans[:, 1], end - 1, side="right")
    head = np.minimum(end, spans[first, 1]) - begin
    crosses = last > first
    tail = np.where(crosses, end - spans[last, 0], 0)
    widths = (spans[:, 1] - spans[:, 0]).astype(np.float64)
    sums: list[NDArray[np.float64]] = []
    for weight in (scores, np.ones_like(scores)):
        edges = np.bincount(first, weight * head, lines) + np.bincount(last, weight * tail, lines)
        inner = np.bincount(first[crosses] + 1, weight[crosses], lines + 1)
        inner -= np.bincount(last[crosses], weight[crosses], lines + 1)
        sums.append(edges + np.cumsum(inner)[:lines] * widths)
    return sums[0], sums[1]


def _follow_neighbours(values: NDArray[np.float64], known: BoolArray) -> FloatArray:
    """Fill unknown lines with the smaller of the nearest known value before and after."""
    if not known.any():
        return np.zeros(values.shape[0], dtype=np.float32)
    where = np.flatnonzero(known)
    slot = np.searchsorted(where, np.arange(values.shape[0]))
    after = values[where[np.minimum(slot, where.shape[0] - 1)]]
    before = values[where[np.maximum(slot - 1, 0)]]
    return np.where(known, values, np.minimum(before, after)).astype(np.float32)
