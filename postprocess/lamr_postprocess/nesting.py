"""Whether a text is nested deeper than parsers stand, found before one reads it.

Scanners keep what is open in a state of fixed size, and end a process where that overruns; and what a parser holds
open when it looks for a repair costs it the square of its depth. People write neither."""

import re

import numpy as np
from lamr_base.expressions import expression

from lamr_postprocess.lines import IntArray

DEEPEST_ROWS = 100
"""Levels of indentation that are open at once."""
DEEPEST_BRACKETS = 1_000
"""Brackets that are open at once, and angles within one statement."""

_BRACKETS = (b"([{", b")]}", b"")
_ANGLES = (b"<", b">", b";{}")
_ALL_CLOSED = 1 << 24  # more than are ever open
_FAR = rb"\n[ \t?:-]{%d}"  # each level takes a column; a line end is found more quickly than what `^` begins
_INDENTED = expression(rb"^([ \t]*)((?:[-?:][ \t]+)*)(?=[^\s])", re.MULTILINE)
_MARK = expression(rb"[-?:][ \t]+")


def is_too_deep(
    data: bytes, *, angles: bool, rows: int = DEEPEST_ROWS, brackets: int = DEEPEST_BRACKETS
) -> bool:
    """Whether a text has more open at once than is allowed. `angles`: whether `<` opens something that belongs to a
    statement (the arguments of a type). `rows`, `brackets`: how many levels of indentation and how many brackets may
    be."""
    if re.search(_FAR % rows, b"\n" + data) and _levels(data) > rows:
        return True
    signs = (_BRACKETS, _ANGLES) if angles else (_BRACKETS,)
    return any(_open_at_once(data, brackets, *each) > brackets for each in signs)


def _open_at_once(data: bytes, few: int, opening: bytes, closing: bytes, ending: bytes) -> int:
    """The most signs that are open at once, where others close one or all; 0 where there are few."""
    if sum(data.count(sign) for sign in opening) <= few:
        return 0
    steps = np.zeros(256, dtype=np.int64)
    for signs, step in ((opening, 1), (closing, -1), (ending, -_ALL_CLOSED)):
        steps[list(signs)] = step
    points = np.frombuffer(data, dtype=np.uint8)
    taken: IntArray = steps[points[(steps != 0)[points]]]
    level = np.append(0, np.cumsum(taken))
    return int((level - np.minimum.accumulate(level)).max())


def _levels(data: bytes) -> int:
    """The most levels of indentation that are open at once, where each mark of a list in one row begins another."""
    deepest, open_at = 0, list[int]()
    for row in _INDENTED.finditer(data):
        begin = row.start()
        for column in (
            row.end(1) - begin,
            *(mark.end() - begin for mark in _MARK.finditer(data, *row.span(2))),
        ):
            while open_at and open_at[-1] >= column:
                open_at.pop()
            open_at.append(column)
            deepest = max(deepest, len(open_at))
    return deepest
