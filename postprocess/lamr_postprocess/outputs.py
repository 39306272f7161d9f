"""What belongs together in the output of commands: tracebacks, failed tests, messages of compilers and linters.

The lines of one are kept whole or cut whole, because half of a traceback says nothing, and messages of one file stand
under the line that names it (`KINDS` is the table). Lines may begin with what logs and containers put before
them. The module knows forms of output; it knows no scores."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from lamr_base.expressions import expression
from lamr_base.records import dataclass

from lamr_postprocess.frames import Frames
from lamr_postprocess.lines import BoolArray, split_lines


@dataclass(frozen=True)
class Kind:
    """A kind of block. All columns are regular expressions of how a line begins."""

    begins: str  # its first line
    goes_on: str = ""  # the lines after it; blank ones may stand between them
    ends: str = ""  # one line more that belongs to it after those, and begins a message that may take several
    until: str = ""  # in place of `goes_on`, the line that ends it; all before that belong to it
    under: str = ""  # the line before it that it stands under
    headed: bool = False  # whether the line before the first belongs to it, too
    rows_more: int = 0  # how many lines after the first belong to it, whatever they are
    fails: bool = True  # whether it says that something failed


_FILE = r"(?:[A-Za-z]:)?[^\s:()][^:()\r\n]{0,300}?"
_AT = rf"{_FILE}(?::\d+(?::\d+(?:-\d+)?)?:|\(\d+(?:,\d+)*\) ?:| ?:\d+:\d+ -)"
"""A place in a file as compilers and linters write it: `a.c:3:5:`, `C:\\a.cs(3,5):`, `a.ts:3:5 -`."""
_SNIPPET = rf"[ \t]+\S|\d+ +\S|{_AT} ?note:"
_RUSTC = r"[ \t]+\S|\d+ +\||\.\.\.[ \t]*$"
_CONTEXT = r"In file included|[ \t]+from |\S.*: (?:In|At) [a-z]"
_ANYTHING = r"\S"
_TITLE = r"_{3,} .*\S _{3,}[ \t]*$"
_CALLS = r"[ \t]+(?:at|from) \S|[ \t]*#\d+ "
_CALLED = (
    rf"{_CALLS}|[ \t]+\.\.\. \d+|[ \t]*(?:Caused by|Suppressed|\[cause\]): |[ \t]*-+> |[ \t]*-+ End of|"
    r"[ \t]+thrown in|\}"
)

KINDS = (
    # What was called when something failed.
    Kind(
        # Python; a cause and another traceback may follow
        r"[ \t|+-]*(?:Exception Group )?Traceback \(most recent call last\):",
        r"[ \t|+]+\S|Traceback \(most recent|During handling of the above|The above exception was the",
        ends=_ANYTHING,
        under=_ANYTHING,
    ),
    Kind(  # pytest, before it has collected any test
        r"ImportError while loading conftest",
        rf"[ \t]+\S|{_FILE}:\d+: in |E(?: |$)",
    ),
    Kind(
        r"panic: |fatal error: |goroutine \d+ \[",
        r"[ \t]|goroutine \d|\S+\(.*\)\s*$|created by |\[signal |exit status ",
    ),
    Kind(
        r"thread '[^']*' (?:\(\d+\) )?panicked at",
        r"[ \t]|note: |stack backtrace:|(?:left|right): ",
        rows_more=1,
    ),
    Kind(
        r"==\d+== ?[A-Z]",
        r"[ \t]|==\d+==|READ of|WRITE of|freed by|previously|allocated by|SUMMARY: |0x[0-9a-f]+ is",
    ),
    Kind(
        rf"{_CALLS}|[ \t]*---> [\w.]", _CALLED, under=_ANYTHING, headed=True
    ),  # JVM, JavaScript, .NET, Ruby, PHP, gdb
    # Failed tests, each up to what begins next.
    Kind(_TITLE, until=rf"{_TITLE}|={{3,}}"),  # pytest
    Kind(r"(?:FAIL|ERROR): \w+ \(", until=r"={10,}|Ran \d+ tests?"),  # unittest
    Kind(r"[ \t]*--- FAIL: ", r"[ \t]+(?!--- |=== )\S"),  # go test
    Kind(r"---- \S+ stdout ----", until=r"---- \S+ stdout ----|failures:|test result:"),  # cargo test
    Kind(r"[ \t]*● .*\S", until=r"[ \t]*● |(?:Test Suites|Tests|Snapshots): |(?:PASS|FAIL) "),  # jest
    Kind(r"[ \t]*FAIL  \S", until=r"⎯{4,}|[ \t]*FAIL  |[ \t]*Test Files "),  # vitest
    Kind(r"[ \t]+\d+\) \S", until=r"[ \t]+\d+\) \S|Finished in|\S"),  # mocha, RSpec
    Kind(r"\d+\) [\w\\]+::\w+", until=r"\d+\) [\w\\]+::\w+|--[ \t]*$|FAILURES!|Tests: "),  # PHPUnit
    Kind(r"\S.*:\d+: Failure[ \t]*$", until=r"\[ "),  # GoogleTest
    Kind(r"not ok \d+", r"[ \t]+\S"),  # TAP
    Kind(
        r"(?:FAILED|ERROR) \S+(?:::| - |\.py[ \t]*$)|FAIL\t|\[  FAILED  \] |\[ERROR\] |make(?:\[\d+\])?: \*\*\* |"
        r"npm (?:ERR!|error) "
    ),
    # Messages of compilers and linters.
    Kind(rf"{_AT} ?(?:(?:fatal |internal )?(?:compiler )?error|ERROR)\b", _SNIPPET, under=_CONTEXT),
    Kind(rf"{_AT} ?(?:warning|note|info|hint|remark|style)\b", _SNIPPET, under=_CONTEXT, fails=False),
    Kind(rf"(?:vet: )?{_FILE}\.go:\d+:\d+: ", r"\t"),
    Kind(r"error(?:\[\w+\])?: |CMake Error|ERROR in ", _RUSTC),  # rustc, CMake, webpack
    Kind(r"(?:warning|note|help)(?:\[\w+\])?: ", _RUSTC, fails=False),
)

HEADED = r"[ \t]+\d+:\d+[ \t]+(?:error|warning)[ \t]"
"""A message under the line that names its file, as eslint and stylelint write it."""


MOST_ROWS = 200
"""Rows of a block that are kept or cut together; those that follow in a longer one are cut like other lines."""
_NONE = -1
_MOST_BLANK = 2  # blank lines in a row within a block that goes on by how its lines begin
_MOST_MESSAGE = 20  # lines of what an exception says, where no record of a log ends it
_LONGEST = 1000  # characters of a line that are looked at

_CONTROL = expression(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
# What syslog, journald, `docker compose`, `kubectl` and CI put before each line.
_STAMP = r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?[ \t]"
_RECORD = expression(
    rf"{_STAMP}|\[?\d\d:\d\d:\d\d|\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b"
    r"|(?:trace|debug|info|warn(?:ing)?): "
)
"""How a record of a log begins, behind what stands before each line."""
_SCRIPT = r"(?:test|build|lint|check|type-?check|unit|e2e|dev|start)[\w:-]*"  # of turbo, lerna, npm-run-all
_BEFORE = expression(
    rf"(?:{_STAMP})?(?:std(?:out|err) [FP] )?(?:#\d+ (?:\d+\.\d+ )?)?"
    rf"(?:(?=[\d.-]*[A-Za-z_])[\w.-]+ +\|(?: |$))?(?:[@\w/.-]+:{_SCRIPT}: )?"
    rf"(?:[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d \S+ [\w./@-]+(?:\[\d+\])?: )?(?:{_STAMP})?"
)


@dataclass(frozen=True)
class Block:
    """Rows that belong together."""

    rows: tuple[int, ...]  # those that aren't blank, at most `MOST_ROWS`
    fails: bool  # whether they say that something failed
    under: int = _NONE  # the row that they stand under; negative for none


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
    return list(_read(tuple(lines))[1])


def output_frames(lines: Sequence[str], blank: BoolArray) -> Frames:
    """What the L lines of a command's output need: the rest of their block, and what it stands under. `blank`: bool
    [L], lines of white space alone."""
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


def bare_lines(lines: Sequence[str]) -> list[str]:
    """Lines without their ends, colours, and what logs put before them; empty where they are blank."""
    return list(_read(tuple(lines))[0])


@lru_cache(maxsize=1)  # of one text, several ask
def _read(lines: tuple[str, ...]) -> tuple[list[str], list[Block]]:
    texts = [_text(line) for line in lines]
    return texts, list(_blocks(lines, texts))


def _text(line: str) -> str:
    text = line[:_LONGEST].rstrip("\r\n")
    text = _CONTROL.sub("", text) if "\x1b" in text else text
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
        stop = _end(lines, texts, row, rules)
        first = row - (rules.kind.headed and before == row - 1 >= 0)
        above = first - 1 if first > free else _NONE
        is_under = above >= 0 and texts[above] and rules.under is not None and rules.under.match(texts[above])
        rows = [each for each in range(first, min(stop, first + MOST_ROWS)) if lines[each].strip()]
        yield Block(tuple(rows), rules.kind.fails, above if is_under else _NONE)
        row = free = stop
        before = _NONE


def _goes_on(lines: Sequence[str], texts: Sequence[str], row: int) -> bool:
    """Whether a row goes on with the message of the row before: it begins no record and no block."""
    before, own = (lines[at][: lines[at].find(texts[at])] for at in (row - 1, row))
    return own == before and not _RECORD.match(texts[row]) and not _table()[0].match(texts[row])


def _end(lines: Sequence[str], texts: Sequence[str], first: int, rules: _Rules) -> int:
    """The row after the block that begins at one."""
    last, ended, blank = first, 0, 0
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
            begins_message = ended == 0 and rules.ends is not None and rules.ends.match(text)
            if blank or not (begins_message or (0 < ended < _MOST_MESSAGE and _goes_on(lines, texts, row))):
                break
            ended += 1
        else:
            ended = 0
        blank = 0
        if text:
            last = row
    return last + 1
