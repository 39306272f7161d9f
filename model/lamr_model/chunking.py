"""Cuts a document's tokens into overlapping chunks, at places where a reader would cut.

Chunks aim to begin and end where functions do, in any language: at the least indented line, and best after a blank one
(`LineLayout.cut_cost`). `header_tokens` finds the headers above a chunk, which the chunk itself can't see: the lines
above that are indented less and less, because a model learns from them whose method it reads."""

from __future__ import annotations

import bisect
from bisect import bisect_left
from collections.abc import Sequence
from itertools import chain, pairwise

import numpy as np
from lamr_base.arrays import ranges
from lamr_base.records import dataclass
from lamr_postprocess.layout import LineLayout
from numpy.typing import NDArray

MOST_HEADERS = 32
"""The most headers of one place. Deeper ones say little about it, and text that is made to be deep must not take time
that grows with the square of its length."""


def enclosing_lines(layout: LineLayout, places: Sequence[int] | NDArray[np.int64]) -> list[list[int]]:
    """Return the headers of some lines, outermost first.

    The lines are walked once, whatever the number of places; a stack holds the lines that are open. Places
    ascend; a blank line has the headers of the next line that isn't blank.

    Returns:
        for each place the numbers of the lines above that enclose it, at most the outermost `MOST_HEADERS`; none for a
        line that isn't indented."""
    inked = np.flatnonzero(~layout.blank)
    columns = layout.columns[inked].tolist()
    opening = layout.opening[inked].tolist()
    numbers = inked.tolist()
    headers: list[list[int]] = []
    stack: list[int] = []
    done = 0
    for place in np.searchsorted(inked, np.asarray(places, np.int64)).tolist():
        for row in range(done, place):
            if opening[row]:  # a bracket that closes a signature heads nothing
                while stack and columns[stack[-1]] >= columns[row]:
                    stack.pop()
                stack.append(row)
        done = max(done, place)
        column = columns[place] if place < len(columns) else 0
        headers.append([numbers[row] for row in stack[:MOST_HEADERS] if columns[row] < column])
    return headers


def innermost_headers(layout: LineLayout) -> NDArray[np.int64]:
    """Return for each line the nearest line above that is indented less and may head it, int64 [L].

    It is -1 for a line without one, and for a blank line. A bracket that closes a signature heads nothing."""
    columns, opening = layout.columns.tolist(), layout.opening.tolist()
    nearest = np.full(len(columns), -1, np.int64)
    rows: list[int] = []  # the lines that are open, and how far each is indented, which rises
    indents: list[int] = []
    for row in np.flatnonzero(~layout.blank).tolist():
        inside = bisect.bisect_left(indents, columns[row])
        if inside:
            nearest[row] = rows[inside - 1]
        if opening[row]:
            rows[inside:], indents[inside:] = [row], [columns[row]]
    return nearest


# So many tokens of a header line are enough, because a signature's name comes first.
_HEADER_TOKENS = 20


@dataclass(frozen=True, eq=False)
class LineStarts:
    """The lines of a text that have tokens of their own, and where in the tokens they begin."""

    tokens: NDArray[np.int64]  # [m], the first token of each such line, ascending
    lines: NDArray[np.int64]  # [m], the lines' numbers from 0

    @classmethod
    def of(cls, offsets: NDArray[np.int64], layout: LineLayout) -> LineStarts:
        """Find the line starts of a text. `offsets`: int64 [n, 2], first and one-past-last character of each token;
        the first column ascends."""
        starts = layout.spans[:, 0]
        first, last = offsets[:, 0], offsets[:, 1]
        token = np.searchsorted(first, starts)
        bounds = np.append(token[1:], len(first)) if len(token) else token
        inked = np.flatnonzero(token < bounds)
        token, starts = token[inked], starts[inked]
        # A token that joins a line end with the indentation after it goes with the line that it indents.
        before = np.maximum(token - 1, 0)
        joined = (first[before] < starts) & (last[before] > starts)
        return cls(token - joined, inked)


def plan_chunks(
    offsets: NDArray[np.int64],
    layout: LineLayout,
    tokens: int,
    overlap: int,
    starts: LineStarts | None = None,
) -> NDArray[np.int64]:
    """Choose the token ranges of all chunks.

    A chunk ends at the cheapest line start in the last half of its window (the last one of equals), or at the window's
    end where a line is longer than that. The next chunk begins at the cheapest line start between half and one and a
    half `overlap` before that end, or exactly `overlap` before it.

    Args:
        offsets: int64 [n, 2], first and one-past-last character of each token; the first column ascends.
        layout: the text's lines.
        tokens: most tokens of a chunk, at least 1.
        overlap: about how many tokens neighbours share; 0 for none.
        starts: `LineStarts.of(offsets, layout)`, where it is at hand.

    Returns:
        int64 [C, 2], first and one-past-last token of each chunk. Starts and ends ascend, every token is in at least
        one chunk, no chunk is empty or longer than `tokens`, and C is at most 4 n / `tokens` + 1."""
    n = len(offsets)
    if n <= tokens:
        return np.array([[0, n]] if n else np.zeros((0, 2)), np.int64)
    cuts = _Cuts(starts or LineStarts.of(offsets, layout), layout)
    chunks = []
    start = end = 0
    while start + tokens < n:
        hard = start + tokens
        stop = cuts.best(max(start + (tokens + 1) // 2, end + 1), hard)
        end = hard if stop is None else stop
        chunks.append((start, end))
        # A chunk advances by at least a quarter of the window, however large the overlap is.
        lowest = max(end - overlap - (overlap + 1) // 2, start + (tokens + 3) // 4)
        highest = max(end - overlap // 2, lowest)
        begin = cuts.best(lowest, highest)
        start = min(max(end - overlap, lowest), end) if begin is None else begin
    chunks.append((start, n))
    return np.array(chunks, np.int64)


def header_tokens(
    offsets: NDArray[np.int64],
    layout: LineLayout,
    plan: NDArray[np.int64],
    most: int,
    starts: LineStarts | None = None,
) -> list[NDArray[np.int64]]:
    """Find the tokens that say where each chunk stands: the beginnings of the lines that enclose its first line.

    Args:
        offsets, layout, starts: see `plan_chunks`.
        plan: int64 [C, 2], which `plan_chunks` returned.
        most: the most tokens of one chunk's headers; inner headers that don't fit are left out.

    Returns:
        for each chunk int64 [h], h at most `most`: tokens of the document, ascending, all before the
        chunk."""
    starts = starts or LineStarts.of(offsets, layout)
    firsts, lines = starts.tokens, starts.lines
    if not most or not len(plan) or not len(firsts):
        return [np.zeros(0, np.int64)] * len(plan)
    lengths = np.minimum(np.diff(firsts, append=len(offsets)), _HEADER_TOKENS)
    places = np.maximum(np.searchsorted(firsts, plan[:, 0], side="right") - 1, 0)
    headers = enclosing_lines(layout, lines[places])
    chunk = np.repeat(np.arange(len(plan)), [len(each) for each in headers])
    above = np.fromiter(chain.from_iterable(headers), np.int64, len(chunk))
    rows = np.searchsorted(lines, above)
    own = lines[np.minimum(rows, len(lines) - 1)] == above  # other lines have no token of their own
    rows, chunk = rows[own], chunk[own]
    tokens = ranges(firsts[rows], lengths[rows])
    bounds = np.searchsorted(np.repeat(chunk, lengths[rows]), np.arange(len(plan) + 1)).tolist()
    return [tokens[a : min(b, a + most)] for a, b in pairwise(bounds)]


def fixed_chunks(n: int, tokens: int, overlap: int) -> NDArray[np.int64]:
    """The token ranges int64 [C, 2] of n tokens in chunks of exactly `tokens`, the last one apart.

    Neighbours share exactly `overlap` tokens, or none where an overlap would leave a chunk less than one new
    token."""
    stride = tokens - overlap if overlap < tokens else tokens
    count = 1 + max(0, -(-(n - tokens) // stride)) if n else 0
    starts = np.arange(count) * stride
    return np.stack([starts, np.minimum(starts + tokens, n)], axis=1)


class _Cuts:
    """The tokens that start a line, and the cost of a cut before each."""

    def __init__(self, starts: LineStarts, layout: LineLayout) -> None:
        self._tokens: list[int] = starts.tokens.tolist()
        self._costs = layout.cut_cost[starts.lines]

    def best(self, lowest: int, highest: int) -> int | None:
        """Return the cheapest cut from token `lowest` to `highest`, the last one of equals; None if there is none."""
        a = bisect_left(self._tokens, lowest)
        b = bisect_left(self._tokens, highest + 1, a)
        if a == b:
            return None
        return self._tokens[b - 1 - int(self._costs[a:b][::-1].argmin())]
