"""How good a place the start of each line is to cut a text at.

Everything here is an array operation over the text's characters. The module knows indentation, blank lines and
brackets; it knows no programming language and no tokens. Lines are those of `lamr_postprocess`.
"""

from __future__ import annotations

from dataclasses import dataclass

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
_WORD = np.array([chr(point).isalnum() for point in range(128)])
# Beyond ASCII every character counts as a letter here.
_OPENING = np.array([chr(point).isalnum() or chr(point) in "_@" for point in range(128)] + [True])

# Costs of a cut in front of a line, in columns of indentation. A line that only closes or opens a bracket belongs
# to the lines before it, even at column 0 (C's lone braces); a blank line before it is the best sign there is.
_MAX_INDENT = 64
_NO_BLANK_BEFORE = 3
_LONE_BRACKET = 8
_BLANK_LINE = 2 * _MAX_INDENT
_BRACKETS = np.array([ord(c) for c in ")]}{"])


@dataclass(frozen=True, eq=False)
class LineLayout:
    """Lines of one text; arrays are aligned, one entry a line.

    Attributes:
        spans: int64 [L, 2], the characters of each line, its newline included. An empty text has no lines.
        blank: bool [L], the line holds white space only (Unicode's, and control characters).
        cut_cost: int64 [L], how bad a cut just before the line is; lower is better.
        columns: int64 [L], indentation; tabs at a line's start make all of it count four times.
        opening: bool [L], the line's first mark is a letter, a digit, `_` or `@`: it may head what is below it.
    """

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
        return LineLayout(spans, none, nowhere, nowhere, none)
    starts, stops = spans[:, 0], spans[:, 1]
    inked = np.flatnonzero(~_BLANK[np.minimum(points, len(_BLANK) - 1)])
    first = np.append(inked, len(points))[np.searchsorted(inked, starts)]
    blank = first >= stops
    columns = (first - starts) * np.where(points[starts] == _TAB, _TAB_COLUMNS, 1)
    after_blank = np.append(True, blank[:-1])
    mark = points[np.minimum(first, len(points) - 1)]
    bracket = np.isin(mark, _BRACKETS)
    opening = ~blank & _OPENING[np.minimum(mark, len(_OPENING) - 1)]
    cost = (
        np.minimum(columns, _MAX_INDENT)
        + np.where(after_blank, 0, _NO_BLANK_BEFORE)
        + np.where(bracket, _LONE_BRACKET, 0)
    )
    return LineLayout(spans, blank, np.where(blank, _BLANK_LINE, cost), columns, opening)


def single_spaces(text: str) -> NDArray[np.int64]:
    """Places of the spaces that stand alone between two ASCII letters or digits, ascending."""
    points = code_points(text)
    between = (points == _SPACE)[1:-1]
    word = np.append(_WORD, False)[np.minimum(points, len(_WORD))]
    return np.flatnonzero(between & word[:-2] & word[2:]) + 1
