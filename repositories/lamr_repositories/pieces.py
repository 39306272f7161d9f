"""Cuts a file into pieces that compete for a budget: functions with the comments above them, and runs of other lines.

A piece is a run of rows; together the pieces hold every row that isn't blank, and none twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from lamr_postprocess.definition_spans import DefinitionSpan
from lamr_postprocess.lines import BoolArray, IntArray

MOST_ROWS = 80
"""A longer function is no piece of its own: its inner functions are, and the rest is cut at blank lines."""
ENOUGH_ROWS = 20
"""A run of lines outside functions ends at the first blank line after so many."""
_ABOVE = re.compile(r"\s*(?://|/\*|\*|#|@|\[|--|;;|template\b)")
"""How lines begin that belong to the function below them: comments, decorators, attributes."""


def cut(lines: Sequence[str], blank: BoolArray, definitions: Sequence[DefinitionSpan]) -> IntArray:
    """Return the first and one-past-last row of each piece, int64 [P, 2], of lines; blank ones are bool [L]."""
    count = len(lines)
    if not count or blank.all():
        return np.zeros((0, 2), np.int64)
    owner = np.zeros(count, np.int64)
    number = 0
    end = 0
    for each in definitions:
        rows = each.last - each.first + 1
        if not each.is_function or each.first < end or rows > MOST_ROWS:
            continue
        number += 1
        first = _with_what_is_above(lines, blank, each.first, end)
        owner[first : each.last + 1] = number
        end = each.last + 1
    return _runs(owner, blank)


def _with_what_is_above(lines: Sequence[str], blank: BoolArray, row: int, end: int) -> int:
    """Return the first row of the comments and decorators directly above a row, not above row `end`."""
    while row > end and not blank[row - 1] and _ABOVE.match(lines[row - 1]):
        row -= 1
    return row


def _runs(owner: IntArray, blank: BoolArray) -> IntArray:
    """Cut rows where their owner changes, and rows without one at blank lines."""
    inked = np.flatnonzero(~blank)
    owners = owner[inked]
    starts = np.append(True, owners[1:] != owners[:-1])
    free = owners == 0
    after_blank = np.append(True, np.diff(inked) > 1)
    begin = 0
    for place in np.flatnonzero(starts | (free & after_blank)).tolist():
        if starts[place] or inked[place] - begin >= ENOUGH_ROWS:
            starts[place] = True
            begin = inked[place]
    firsts = np.flatnonzero(starts)
    lasts = np.append(firsts[1:], len(inked)) - 1
    spans = np.stack([inked[firsts], inked[lasts] + 1], axis=1)
    return _short(spans)


def _short(spans: IntArray) -> IntArray:
    """Cut runs without a blank line, such as tables, after so many rows."""
    parts = np.maximum(-(-(spans[:, 1] - spans[:, 0]) // MOST_ROWS), 1)
    which = np.repeat(np.arange(len(spans)), parts)
    step = np.arange(len(which)) - np.repeat(np.cumsum(parts) - parts, parts)
    first = spans[which, 0] + step * MOST_ROWS
    return np.stack([first, np.minimum(first + MOST_ROWS, spans[which, 1])], axis=1)
