"""Finds the lines that head a place in a text: the class, function and branches around it, in any language.

They are the lines above that are indented less and less; nothing but indentation is read. A model that sees a chunk of
thirty lines learns from them whose method it is.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence

import numpy as np
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
        line that isn't indented.
    """
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

    It is -1 for a line without one, and for a blank line. A bracket that closes a signature heads nothing.
    """
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
