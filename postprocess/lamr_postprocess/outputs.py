"""What belongs together in the output of commands: tracebacks, failed tests, messages of compilers and linters.

The lines of one are kept whole or cut whole, because half of a traceback says nothing, and messages of one file stand
under the line that names it (`output_kinds` is the table). Lines may begin with what logs and containers put before
them. The module knows forms of output; it knows no scores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from lamr_postprocess.frames import Frames
from lamr_postprocess.lines import BoolArray, split_lines
from lamr_postprocess.output_kinds import HEADED, KINDS, Kind

MOST_ROWS = 200
"""Rows of a block that are kept or cut together; those that follow in a longer one are cut like other lines."""
_NONE = -1
_MOST_BLANK = 2  # blank lines in a row within a block that goes on by how its lines begin
_LONGEST = 1000  # characters of a line that are looked at

# What syslog, journald, `docker compose`, `kubectl` and CI put before each line.
_STAMP = r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?[ \t]"
_BEFORE = re.compile(
    rf"(?:{_STAMP})?(?:std(?:out|err) [FP] )?(?:[\w.-]+ +\|(?: |$))?"
    rf"(?:[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d \S+ [\w./@-]+(?:\[\d+\])?: )?(?:{_STAMP})?"
)


@dataclass(frozen=True)
class Block:
    """Rows that belong together.

    Attributes:
        rows: those that aren't blank, at most `MOST_ROWS`.
        fails: whether they say that something failed.
        under: the row that they stand under; negative for none.
    """

    rows: tuple[int, ...]
    fails: bool
    under: int = _NONE


@dataclass(frozen=True)
class _Rules:
    """A kind's expressions, compiled."""

    kind: Kind
    goes_on: re.Pattern[str] | None
    ends: re.Pattern[str] | None
    until: re.Pattern[str] | None
    under: re.Pattern[str] | None

    @classmethod
    def of(cls, kind: Kind) -> _Rules:
        columns = (kind.goes_on, kind.ends, kind.until, kind.under)
        return cls(kind, *(re.compile(each) if each else None for each in columns))


@lru_cache(maxsize=1)
def _table() -> tuple[re.Pattern[str], tuple[_Rules, ...]]:
    """What finds how any block begins, with a group for each kind, and the kinds' rules."""
    begins = re.compile("|".join(f"(?P<k{place}>{kind.begins})" for place, kind in enumerate(KINDS)))
    return begins, tuple(map(_Rules.of, KINDS))


def output_blocks(lines: Sequence[str]) -> list[Block]:
    """The blocks of a text's lines, in their order; no line is in two of them."""
    texts = [_text(line) for line in lines]
    return list(_blocks(lines, texts))


def output_frames(lines: Sequence[str], blank: BoolArray) -> Frames:
    """What the L lines of a command's output need: the rest of their block, and what it stands under.

    Args:
        lines: the L lines.
        blank: bool [L], lines of white space alone.
    """
    above, opening = np.full(len(lines), _NONE, dtype=np.int64), np.full(len(lines), _NONE, dtype=np.int64)
    for block in output_blocks(lines):
        above[block.rows[0]] = block.under
        opening[list(block.rows[1:])] = block.rows[:-1]
    heading, headed = _NONE, re.compile(HEADED)
    for row in np.flatnonzero(~blank).tolist():
        if headed.match(lines[row]):
            above[row] = heading
        elif not lines[row][0].isspace():
            heading = row
    return Frames(above, opening)


def failing_lines(lines: Sequence[str]) -> list[tuple[int, ...]]:
    """The rows of each block that says that something failed."""
    return [block.rows for block in output_blocks(lines) if block.fails]


def without_blocks(text: str) -> str:
    """A text without the lines of its blocks: code that a traceback or a failed test shows says nothing of the rest."""
    lines = split_lines(text)
    gone = {row for block in output_blocks(lines) for row in block.rows}
    return "".join(line for row, line in enumerate(lines) if row not in gone) if gone else text


def _text(line: str) -> str:
    """A line without its end and what stands before it; empty where it is blank."""
    text = line[:_LONGEST].rstrip("\r\n")
    found = _BEFORE.match(text)
    text = text[found.end() :] if found else text
    return text if text.strip() else ""


def _blocks(lines: Sequence[str], texts: Sequence[str]) -> Iterator[Block]:
    begins, table = _table()
    row = free = 0  # the rows from `free` on belong to no block yet
    before = _NONE  # the last of them with ink
    while row < len(texts):
        found = begins.match(texts[row]) if texts[row] else None
        if found is None or found.lastgroup is None:
            before = row if texts[row] else before
            row += 1
            continue
        rules = table[int(found.lastgroup[1:])]
        stop = _end(texts, row, rules)
        first = row - (rules.kind.headed and before == row - 1 >= 0)
        above = first - 1 if first > free else _NONE
        is_under = above >= 0 and texts[above] and rules.under is not None and rules.under.match(texts[above])
        rows = [each for each in range(first, min(stop, first + MOST_ROWS)) if lines[each].strip()]
        yield Block(tuple(rows), rules.kind.fails, above if is_under else _NONE)
        row = free = stop
        before = _NONE


def _end(texts: Sequence[str], first: int, rules: _Rules) -> int:
    """The row after the block that begins at one."""
    last, ended, blank = first, False, 0
    for row in range(first + 1, len(texts)):
        text = texts[row]
        if rules.until is not None:
            if rules.until.match(text) or row - first >= MOST_ROWS:
                break
        elif not text:
            blank += 1
            if blank > _MOST_BLANK:
                break
            continue
        elif row - first > rules.kind.rows_more and not (rules.goes_on and rules.goes_on.match(text)):
            if ended or rules.ends is None or not rules.ends.match(text) or blank:
                break
            ended = True
        else:
            ended = False
        blank = 0
        if text:
            last = row
    return last + 1
