"""What the lines of a diff need: a change its hunk, the hunk its file, the file its commit.

A hunk's header says how many lines it has, so lines in it that look like headers are none. A hunk is kept whole: half
of a change says something else. `git log -p`, `git show`, `git diff` and `diff -u` write such texts."""

import re
from collections.abc import Sequence

import numpy as np
from lamr_base.expressions import expression

from lamr_postprocess.frames import Frames
from lamr_postprocess.lines import BoolArray, IntArray

MOST_ROWS = 60
"""Rows of a hunk that are kept or cut together. Of a longer one each run of changed lines is."""
_NONE = -1
_HUNK = expression(r"(?P<marks>@@+) (?P<ranges>(?:[-+]\d+(?:,\d+)? )+)(?P=marks)")
_COUNT = expression(r"[-+]\d+(?:,(\d+))?")
_HEADS = tuple(
    map(expression, (r"commit [0-9a-f]{7,}\b|From [0-9a-f]{7,} ", r"diff |Index: ", r"--- ", r"\+\+\+ "))
)
"""How the lines begin that others stand under, outermost first."""
_ABOUT = expression(r"(?:Author|AuthorDate|Commit|CommitDate|Date|Merge|Subject|From): ")
"""What belongs to the line of a commit."""


def diff_frames(lines: Sequence[str], blank: BoolArray) -> Frames:
    """The frames of a diff. `blank`: bool [L], lines of white space alone; a diff's own empty context may be
    such."""
    above, opening = np.full(len(lines), _NONE, dtype=np.int64), np.full(len(lines), _NONE, dtype=np.int64)
    heads: list[tuple[int, int]] = []  # (rank, row), ranks rising
    row, told = 0, _NONE  # the last line of what is told about a commit
    while row < len(lines):
        line = lines[row]
        hunk = _HUNK.match(line)
        rank = next((rank for rank, head in enumerate(_HEADS) if head.match(line)), None)
        if rank is not None and hunk is None:
            while heads and heads[-1][0] >= rank:
                heads.pop()
        if heads:
            above[row] = heads[-1][1]
        if hunk is not None:
            stop = _end_of_hunk(lines, row, hunk)
            above[row + 1 : stop] = row
            _join(opening, lines, row, stop)
            row = stop
            continue
        if rank is not None:
            heads.append((rank, row))
            told = row if rank == 0 else _NONE
        elif told == row - 1 and _ABOUT.match(line):
            opening[row], told = told, row
        row += 1
    above[blank] = _NONE
    return Frames(above, opening)


def _end_of_hunk(lines: Sequence[str], first: int, hunk: re.Match[str]) -> int:
    """The row after a hunk, by the counts in its header."""
    *olds, new = (int(count or 1) for count in _COUNT.findall(hunk["ranges"]))
    width, row = len(olds), first + 1
    left = [*olds, new]
    while row < len(lines) and any(count > 0 for count in left):
        marks = lines[row][:width]
        if marks.startswith("\\"):  # "No newline at end of file"
            row += 1
            continue
        if marks.strip(" +-\r\n"):
            break
        taken = "-" in marks
        for place in range(width):
            left[place] -= marks[place : place + 1] == "-" if taken else marks[place : place + 1] != "+"
        left[-1] -= not taken
        row += 1
    return row + (row < len(lines) and lines[row].startswith("\\ "))


def _join(opening: IntArray, lines: Sequence[str], first: int, stop: int) -> None:
    """Join the rows of a hunk that are kept or cut together, each with the one before it."""
    whole = stop - first <= MOST_ROWS
    last = _NONE
    for row in range(first if whole else first + 1, stop):
        if not whole and lines[row][:1] not in ("+", "-"):
            last = _NONE
            continue
        if not lines[row].strip():
            continue
        if last != _NONE:
            opening[row] = last
        last = row
