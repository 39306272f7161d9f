"""How good a place the start of each line is to cut a text at.

Everything here is an array operation over the text's characters. The module knows indentation, blank lines and
brackets; it knows no programming language and no tokens. Lines are those of `lamr_postprocess`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from lamr_postprocess.lines import code_points, spans_of
from numpy.typing import NDArray

_TAB, _SPACE = 9, 32
_TAB_COLUMNS = 4
# Unicode White_Space beyond the control characters; all of 0..32 counts as blank as well.
_WIDE_SPACES = (0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)
_BLANK = np.zeros(0x3002, np.bool_)
_BLANK[:33] = True
_BLANK[list(_WIDE_SPACES)] = True
_WORD = np.array([chr(point).isalnum() for point in range(128)] + [False])
# Beyond ASCII every character counts as a letter here.
_OPENING = np.array([chr(point).isalnum() or chr(point) in "_@" for point in range(128)] + [True])

# Costs of a cut in front of a line, in columns of indentation. A line that only closes or opens a bracket belongs
# to the lines before it, even at column 0 (C's lone braces); a blank line before it is the best sign there is.
_MAX_INDENT = 64
_NO_BLANK_BEFORE = 3
_LONE_BRACKET = 8
_BLANK_LINE = 2 * _MAX_INDENT
_BRACKET = np.array([chr(point) in ")]}{" for point in range(128)] + [False])


@dataclass(frozen=True, eq=False)
class LineLayout:
    """Lines of one text; arrays are aligned, one entry a line.

    Attributes:
        points: unsigned [c], the text's characters (see `code_points`).
        spans: int64 [L, 2], the characters of each line, its newline included. An empty text has no lines.
        blank: bool [L], the line holds white space only (Unicode's, and control characters).
        cut_cost: int64 [L], how bad a cut just before the line is; lower is better.
        columns: int64 [L], indentation; tabs at a line's start make all of it count four times.
        opening: bool [L], the line's first mark is a letter, a digit, `_` or `@`: it may head what is below it.
    """

    points: NDArray[Any]
    spans: NDArray[np.int64]
    blank: NDArray[np.bool_]
    cut_cost: NDArray[np.int64]
    columns: NDArray[np.int64]
    opening: NDArray[np.bool_]


def line_layout(text: str) -> LineLayout:
    """Find the lines of `text` and weigh a cut before each. O(characters) in time and memory."""
    points = code_points(text)
    spans = spans_of(points)
    if not len(spans):
        none, nowhere = np.zeros(0, np.bool_), np.zeros(0, np.int64)
        return LineLayout(points, spans, none, nowhere, nowhere, none)
    starts, stops = spans[:, 0], spans[:, 1]
    first = _next_mark(points, starts)
    blank = first >= stops
    columns = first - starts
    columns[points[starts] == _TAB] *= _TAB_COLUMNS
    mark = np.minimum(points[np.minimum(first, len(points) - 1)], 128)
    opening = _OPENING[mark] & ~blank
    cost = np.minimum(columns, _MAX_INDENT)
    cost[1:][~blank[:-1]] += _NO_BLANK_BEFORE
    cost[_BRACKET[mark]] += _LONE_BRACKET
    cost[blank] = _BLANK_LINE
    return LineLayout(points, spans, blank, cost, columns, opening)


def _next_mark(points: NDArray[Any], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first character that isn't white space from the start of each line on; the text's length if none is."""
    inked = points > _SPACE if points.itemsize == 1 else ~_BLANK[np.minimum(points, len(_BLANK) - 1)]
    runs = inked.copy()
    runs[1:] &= ~inked[:-1]  # a line's first mark follows white space, and so begins a run
    marks = np.flatnonzero(runs)
    found: NDArray[np.int64] = np.append(marks, len(points))[np.searchsorted(marks, places)]
    return found


def single_spaces(text: str) -> NDArray[np.int64]:
    """Places of the spaces that stand alone between two ASCII letters or digits, ascending."""
    points = code_points(text)
    space = points == _SPACE
    alone = np.flatnonzero(space[1:-1] & ~space[:-2] & ~space[2:]) + 1
    sides = np.minimum(points[[alone - 1, alone + 1]], len(_WORD) - 1)
    found: NDArray[np.int64] = alone[_WORD[sides].all(axis=0)]
    return found
