"""How blocks in the output of commands begin and go on: tracebacks, failed tests, messages. `outputs` reads this."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A kind of block. All columns are regular expressions of how a line begins.

    Attributes:
        begins: its first line.
        goes_on: the lines after it; blank ones may stand between them.
        ends: one line more that belongs to it after those, and begins a message that may take several.
        until: in place of `goes_on`, the line that ends it; all before that belong to it.
        under: the line before it that it stands under.
        headed: whether the line before the first belongs to it, too.
        rows_more: how many lines after the first belong to it, whatever they are.
        fails: whether it says that something failed.
    """

    begins: str
    goes_on: str = ""
    ends: str = ""
    until: str = ""
    under: str = ""
    headed: bool = False
    rows_more: int = 0
    fails: bool = True


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
