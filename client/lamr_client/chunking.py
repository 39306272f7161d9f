"""Cuts a document's tokens into overlapping chunks at places where a reader would cut.

Knows token offsets and line layout; knows no tokenizer, no prompt and no model. Chunks aim to begin and end where
functions do, in any language: at the least indented line, best after a blank one (`LineLayout.cut_cost`). What a
chunk that begins inside of something can't see, the headers above it, `header_tokens` finds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lamr_client.layout import LineLayout
from lamr_client.outline import enclosing_lines

# Of one header line; a signature's name comes first.
_HEADER_TOKENS = 20


def plan_chunks(
    offsets: NDArray[np.int64], layout: LineLayout, tokens: int, overlap: int
) -> NDArray[np.int64]:
    """Choose the token ranges of all chunks.

    A chunk ends at the cheapest line start in the last half of its window (the later one of equals), or, where a
    line is longer than that, at the window's end. The next one begins at the cheapest line start between half and
    one and a half `overlap` before that end, or exactly `overlap` before it.

    Args:
        offsets: int64 [n, 2], each token's characters in the text, first column ascending.
        layout: of the text.
        tokens: most tokens of a chunk, ≥ 1.
        overlap: tokens that neighbours share, about; 0 for none.

    Returns:
        int64 [C, 2], first and one-past-last token of each chunk. Starts and ends ascend, every token is in at
        least one chunk, no chunk is empty or longer than `tokens`, and C ≤ 4 n / `tokens` + 1.
    """
    n = len(offsets)
    if n <= tokens:
        return np.array([[0, n]] if n else np.zeros((0, 2)), np.int64)
    cuts = _Cuts(offsets, layout)
    chunks = []
    start = end = 0
    while start + tokens < n:
        hard = start + tokens
        stop = cuts.best(max(start + (tokens + 1) // 2, end + 1), hard)
        end = hard if stop is None else stop
        chunks.append((start, end))
        # A chunk advances by at least a quarter window, however large the overlap asked for is.
        lowest = max(end - overlap - (overlap + 1) // 2, start + (tokens + 3) // 4)
        highest = max(end - overlap // 2, lowest)
        begin = cuts.best(lowest, highest)
        start = min(max(end - overlap, lowest), end) if begin is None else begin
    chunks.append((start, n))
    return np.array(chunks, np.int64)


def header_tokens(
    offsets: NDArray[np.int64], layout: LineLayout, plan: NDArray[np.int64], most: int
) -> list[NDArray[np.int64]]:
    """The tokens that say where each chunk stands: the beginnings of the lines that enclose its first line.

    Args:
        offsets, layout: as for `plan_chunks`.
        plan: what it returned.
        most: tokens of one chunk's headers; when they don't fit, inner headers are left out.

    Returns:
        One int64 `[h]` a chunk, h ≤ `most`: places in the document, ascending, all before the chunk.
    """
    if not most or not len(plan):
        return [np.zeros(0, np.int64)] * len(plan)
    firsts, lines = _line_tokens(offsets, layout)
    if not len(firsts):
        return [np.zeros(0, np.int64)] * len(plan)
    ends = np.append(firsts[1:], len(offsets))
    ends = np.minimum(ends, firsts + _HEADER_TOKENS)
    places = np.maximum(np.searchsorted(firsts, plan[:, 0], side="right") - 1, 0)
    row_of = np.full(len(layout.spans), -1)
    row_of[lines] = np.arange(len(lines))
    found = []
    for headers in enclosing_lines(layout, lines[places]):
        rows = row_of[headers]
        parts = [np.arange(firsts[row], ends[row]) for row in rows[rows >= 0]]
        found.append(np.concatenate([*parts, np.zeros(0, np.int64)])[:most])
    return found


def _line_tokens(
    offsets: NDArray[np.int64], layout: LineLayout
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First token of each line that has one, and those lines' numbers."""
    starts, stops = layout.spans[:, 0], layout.spans[:, 1]
    first, last = np.ascontiguousarray(offsets[:, 0]), offsets[:, 1]
    token = np.searchsorted(first, starts)
    held = token < len(offsets)
    held[held] = first[token[held]] < stops[held]
    token, starts = token[held], starts[held]
    # A token that joins a line end with the indentation after it goes with the line that it indents.
    before = np.maximum(token - 1, 0)
    joined = (first[before] < starts) & (last[before] > starts)
    return np.where(joined, before, token), np.flatnonzero(held)


class _Cuts:
    """Tokens that start a line, ascending, with the cost of a cut before each."""

    def __init__(self, offsets: NDArray[np.int64], layout: LineLayout) -> None:
        self._tokens, lines = _line_tokens(offsets, layout)
        self._costs = layout.cut_cost[lines]

    def best(self, lowest: int, highest: int) -> int | None:
        """The cheapest cut among tokens lowest..highest (both included), the last of equals; None if there is none."""
        a, b = np.searchsorted(self._tokens, [lowest, highest + 1])
        if a == b:
            return None
        costs = self._costs[a:b]
        return int(self._tokens[b - 1 - int(np.argmin(costs[::-1]))])
