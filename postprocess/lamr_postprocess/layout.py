"""`LineLayout`: the lines of a text, their indentation, the blocks they form, and how bad a cut before each would be.

Everything here is an array operation over the text's characters. `lines` says where lines end."""

from functools import cached_property
from typing import Any

import numpy as np
from lamr_base.records import dataclass
from numpy.typing import NDArray

from lamr_postprocess.lines import code_points, ink, spans_of

# The kinds of characters: no part of a word, A-Z, a-z, decimal digits, other letters, the underscore.
NONE, UPPER, LOWER, DIGIT, OTHER, UNDERSCORE = range(6)


def _kind(letter: str) -> int:
    """Return the kind of a character."""
    if letter == "_":
        return UNDERSCORE
    if letter.isascii() and letter.isalpha():
        return UPPER if letter.isupper() else LOWER
    return DIGIT if letter.isdecimal() else OTHER if letter.isalnum() else NONE


_KINDS = np.array([_kind(chr(point)) for point in range(128)] + [NONE], np.uint8)


def character_kinds(points: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the kind uint8 [c] of each character of a text (`NONE` to `UNDERSCORE`)."""
    kinds: NDArray[np.uint8] = _KINDS[np.minimum(points, 128)]
    if points.itemsize > 1:
        wide = np.flatnonzero(points > 127)
        letters, place = np.unique(points[wide], return_inverse=True)
        kinds[wide] = np.array([_kind(chr(letter)) for letter in letters.tolist()], np.uint8)[place]
    return kinds


_TAB = 9
_TAB_COLUMNS = 4
# Beyond ASCII every character counts as a letter here.
_OPENING = np.array([chr(point).isalnum() or chr(point) in "_@" for point in range(128)] + [True])

# The costs of a cut before a line, in columns of indentation. A line that only closes or opens a bracket belongs to the
# lines before it, even at column 0 (C's lone braces). A blank line before a line is the best sign there is.
_MAX_INDENT = 64
_NO_BLANK_BEFORE = 3
_LONE_BRACKET = 8
_BLANK_LINE = 2 * _MAX_INDENT
_BRACKET = np.array([chr(point) in ")]}{" for point in range(128)] + [False])
# A block begins after a blank line, at a line that is indented no deeper than a method.
_BLOCK_COLUMNS = 4


@dataclass(frozen=True, eq=False)
class LineLayout:
    """The L lines of one text; an empty text has none."""

    points: NDArray[Any]  # unsigned [c], the text's characters (see `code_points`)
    inked: NDArray[np.bool_]  # [c], which of them are ink
    spans: NDArray[np.int64]  # [L, 2], first and one-past-last character of each line, its newline included
    blank: NDArray[np.bool_]  # [L], whether the line is blank (see `lines`)
    cut_cost: NDArray[np.int64]  # [L], how bad a cut just before the line is; lower is better
    columns: NDArray[np.int64]  # [L], the line's indentation, which counts four times if it begins with a tab
    # [L], the line's first character that isn't white space; its end or later if it is blank
    first: NDArray[np.int64]
    # [L], whether the line may head what is below it: its first character that isn't white space is a letter, a
    # digit, `_` or `@`
    opening: NDArray[np.bool_]

    @cached_property
    def kinds(self) -> NDArray[np.uint8]:
        """The kind of each character, uint8 [c] (`characters`)."""
        return character_kinds(self.points)

    @cached_property
    def blocks(self) -> NDArray[np.int64]:
        """The number of each line's block, int64 [L], from 0: a function, a method or a paragraph of the file."""
        begins = np.append(True, self.blank[:-1]) & (self.cut_cost <= _BLOCK_COLUMNS)
        numbers: NDArray[np.int64] = np.maximum(np.cumsum(begins[: len(self.blank)]) - 1, 0)
        return numbers

    @cached_property
    def block_starts(self) -> NDArray[np.int64]:
        """The first line of each block, int64 [B]; an empty text has none."""
        starts: NDArray[np.int64] = np.flatnonzero(np.diff(self.blocks, prepend=-1))
        return starts


def line_layout(text: str) -> LineLayout:
    """Find the lines of a text and weigh a cut before each, in time and memory that grow as its length."""
    points = code_points(text)
    spans, inked = spans_of(points), ink(points)
    if not len(spans):
        none, nowhere = np.zeros(0, np.bool_), np.zeros(0, np.int64)
        return LineLayout(points, inked, spans, none, nowhere, nowhere, nowhere, none)
    starts, stops = spans[:, 0], spans[:, 1]
    first = _next_ink(inked, starts)
    blank = first >= stops
    columns = first - starts
    columns[points[starts] == _TAB] *= _TAB_COLUMNS
    mark = np.minimum(points[np.minimum(first, len(points) - 1)], 128)
    opening = _OPENING[mark] & ~blank
    cost = np.minimum(columns, _MAX_INDENT)
    cost[1:][~blank[:-1]] += _NO_BLANK_BEFORE
    cost[_BRACKET[mark]] += _LONE_BRACKET
    cost[blank] = _BLANK_LINE
    return LineLayout(points, inked, spans, blank, cost, columns, first, opening)


def token_lines(offsets: NDArray[np.int64], layout: LineLayout) -> NDArray[np.int64]:
    """Return the line that each token belongs to where it can be only one, int64 [n].

    It is the line of the token's first ink. A token of white space alone belongs to the line of its last character,
    so a line end with its indentation belongs to the line that it opens. `offsets`: int64 [n, 2], first and
    one-past-last character of each token."""
    inked, (first, last) = layout.inked, offsets.T
    held = np.append(np.zeros(1, np.int64), np.cumsum(inked))
    place = np.where(inked[np.minimum(first, len(inked) - 1)] if len(inked) else False, first, last - 1)
    late = np.flatnonzero((place != first) & (held[last] > held[first]))  # ink behind white space
    place[late] = _next_ink(inked, first[late])
    lines: NDArray[np.int64] = np.searchsorted(layout.spans[:, 1], np.maximum(place, 0), side="right")
    return lines


def _next_ink(inked: NDArray[np.bool_], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first ink from each place on, which follows no ink; the text's length if there is none."""
    runs = inked.copy()
    runs[1:] &= ~inked[:-1]
    begins = np.flatnonzero(runs)
    following: NDArray[np.int64] = np.append(begins, len(inked))[np.searchsorted(begins, places)]
    return following
