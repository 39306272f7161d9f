"""Cuts a document's tokens into overlapping chunks at places where a reader would cut.

Knows token offsets and line layout; knows no tokenizer, no prompt and no model. Chunks aim to begin and end where
functions do, in any language: at the least indented line, best after a blank one (`LineLayout.cut_cost`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lamr_client.layout import line_layout


def plan_chunks(offsets: NDArray[np.int64], text: str, tokens: int, overlap: int) -> NDArray[np.int64]:
    """Choose the token ranges of all chunks.

    A chunk ends at the cheapest line start in the last half of its window (the later one of equals), or, where a
    line is longer than that, at the window's end. The next one begins at the cheapest line start between half and
    one and a half `overlap` before that end, or exactly `overlap` before it.

    Args:
        offsets: int64 [n, 2], each token's characters in `text`, first column ascending.
        tokens: most tokens of a chunk, ≥ 1.
        overlap: tokens that neighbours share, about; 0 for none.

    Returns:
        int64 [C, 2], first and one-past-last token of each chunk. Starts and ends ascend, every token is in at
        least one chunk, no chunk is empty or longer than `tokens`, and C ≤ 4 n / `tokens` + 1.
    """
    n = len(offsets)
    if n <= tokens:
        return np.array([[0, n]] if n else np.zeros((0, 2)), np.int64)
    cuts = _Cuts(offsets, text)
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


class _Cuts:
    """Tokens that start a line, ascending, with the cost of a cut before each."""

    def __init__(self, offsets: NDArray[np.int64], text: str) -> None:
        layout = line_layout(text)
        starts, stops = layout.spans[:, 0], layout.spans[:, 1]
        first, last = np.ascontiguousarray(offsets[:, 0]), offsets[:, 1]
        token = np.searchsorted(first, starts)
        held = token < len(offsets)  # lines without any token of their own hold no cut
        held[held] = first[token[held]] < stops[held]
        token, starts = token[held], starts[held]
        # A token that joins a line end with the indentation after it goes with the line that it indents.
        before = np.maximum(token - 1, 0)
        joined = (first[before] < starts) & (last[before] > starts)
        self._tokens = np.where(joined, before, token)
        self._costs = layout.cut_cost[held]

    def best(self, lowest: int, highest: int) -> int | None:
        """The cheapest cut among tokens lowest..highest (both included), the last of equals; None if there is none."""
        a, b = np.searchsorted(self._tokens, [lowest, highest + 1])
        if a == b:
            return None
        costs = self._costs[a:b]
        return int(self._tokens[b - 1 - int(np.argmin(costs[::-1]))])
