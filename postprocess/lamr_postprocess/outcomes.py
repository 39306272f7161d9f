"""Lines of a tool's output that say how it ended: summaries, failures, exit codes.

They are kept before anything is ranked, since no question about a run is answered by its passing lines alone. `TOOLS`
is the table. A tool that no row knows is told by words of failure, and by its end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from lamr_postprocess.outputs import Block, bare_lines, output_blocks

LAST_LINES = 3
"""Lines with ink at the end of an output that are kept."""


@dataclass(frozen=True)
class Tool:
    """How a tool says how it ended. The columns are regular expressions of how a line goes on behind its indentation.

    Attributes:
        name: of the tool, or of several that report alike.
        summary: lines that count what passed and failed, or say how the whole ended.
        failure: lines that each say that one thing failed.
        doubtful: lines that do so in a report, and that other texts have as well; they count where another line shows
            that the text is a report.
        again: lines that say so once more, or name nothing; they count where no line of `failure` does.
    """

    name: str
    summary: tuple[str, ...] = ()
    failure: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    again: tuple[str, ...] = ()


_COUNTED = r"(?:passed|failed|failures?|errors?|skipped|xfailed|xpassed|deselected|warnings?)"
_AT = r"(?:[A-Za-z]:)?[^\s:()|]+(?::\d+(?::\d+(?:-\d+)?)?:|\(\d+(?:,\d+)*\) ?:|:\d+:\d+ -)"
"""A place as compilers and linters write it."""
_LETTERS = r"[.sxX]*[FE][.sxXFE]*"
_WAITS = r"(?:CrashLoopBackOff|\w*ImagePull\w*|Error|OOMKilled|Pending|Evicted|Unknown|Terminating|CreateContainer\w*)"

TOOLS = (
    Tool(
        "pytest",
        (
            rf"=+ .*\d+ {_COUNTED}\b.* in [\d.]+",
            rf"\d+ {_COUNTED}(?:, \d+ [a-z]+)* in [\d.]+s",
            r"=* ?no tests ran in ",
            r"!+ .*!{3}",
        ),
        (
            r"(?:FAILED|ERROR) \S+(?:::| - |\.py\b)",
            r"\[gw\d+\] \[ *\d+%\] (?:FAILED|ERROR) ",
            r"INTERNALERROR>",
        ),
        (r"(?=[.sxX]*[FE])(?=[FE]*[.sxX])[.sxXFE]+$",),
        (rf"(?:\S+\.py )?{_LETTERS} +\[ *\d+%\]$", rf"\S+\.py {_LETTERS}$", r"_{3,} .*\S _{3,}$"),
    ),
    Tool(
        "unittest",
        (r"Ran \d+ tests? in ", r"OK(?: \(.*\))?$", r"FAILED \(", r"NO TESTS RAN"),
        (r"(?:FAIL|ERROR): \w",),
    ),
    Tool(
        "jest, vitest, ava, node:test",
        (
            r"(?:Test Files|Test Suites|Tests|Snapshots|Suites|Errors|Time|Duration):? +\d",
            r"(?:# |\u2139 )(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) \d",
            r"\d+ (?:tests?|uncaught exceptions?|unhandled rejections?|hooks?) (?:passed|failed|skipped|todo)",
        ),
        (r"FAIL +\S", r"[\u25cf\u2717\u2718\u2716\u2715\u00d7\u274c] .*\S", r"\u276f .*\| \d+ failed"),
    ),
    Tool(
        "mocha, jasmine",
        (r"\d+ (?:passing|failing|pending)\b", r"\d+ specs?, \d+ failures?", r"Incomplete: "),
        (),
        (r"\d+\) .*\S",),
    ),
    Tool(
        "TAP, bats",
        (r"1\.\.\d+$", r"Bail out!", r"\d+ tests?, \d+ failures?"),
        (r"not ok\b",),
    ),
    Tool(
        "prove",
        (
            r"Files=\d+, Tests=\d",
            r"Result: \w",
            r"All tests successful",
            r"Failed \d+/\d+ (?:test programs|subtests)",
            r"Parse errors:",
        ),
        (
            r"# +Failed test",
            r"\S+ +\(Wstat: ",
            r"Failed tests?: ",
            r"# Looks like you ",
        ),
    ),
    Tool(
        "go test",
        (r"(?:FAIL|PASS|ok)$", r"DONE \d+ tests"),
        (r"--- FAIL: ", r"FAIL\t", r"panic: "),
    ),
    Tool(
        "cargo, rustc",
        (
            r"test result: ",
            r"Finished ",
            r"Summary \[",
            r"error: (?:could not compile|aborting due to|test failed)",
            r"(?:warning|error): .* generated \d+ warnings?",
        ),
        (
            r"error(?:\[\w+\])?: ",
            r"FAIL \[",
        ),
        (),
        (r"---- \S+ stdout ----", r"thread '[^']*' (?:\(\d+\) )?panicked at "),
    ),
    Tool(
        "ctest, GoogleTest",
        (
            r"\d+% tests passed",
            r"Total Test time",
            r"The following tests ",
            r"Errors while running CTest",
            r"No tests were found",
            r"\[=+\] .* ran\b",
            r"\[  PASSED  \] ",
            r"\d+ FAILED TESTS?",
        ),
        (
            r"\d+/\d+ Test +#\d+: .*\*\*\*",
            r"\d+ - [^()]* \([A-Z][\w ]+\)$",
            r"\[  FAILED  \] ",
        ),
    ),
    Tool(
        "gradle",
        (
            r"BUILD (?:SUCCESSFUL|FAILED)",
            r"\d+ tests? completed",
            r"\d+ actionable tasks?",
            r"FAILURE: Build ",
        ),
        (
            r"\* What went wrong:",
            r"Execution failed for ",
            r"A problem occurred",
        ),
    ),
    Tool(
        "maven, JUnit",
        (
            r"(?:\[\w+\] )?BUILD (?:SUCCESS|FAILURE)",
            r"(?:\[\w+\] )?Tests run: \d+,[^<]*$",
            r"(?:\[\w+\] )?Total time: ",
            r"OK \(\d+ tests?\)",
            r"FAILURES!!!",
        ),
        (r"\[ERROR\] .*\S",),
    ),
    Tool(
        "dotnet",
        (
            r"(?:Passed|Failed)! +- ",
            r"Total tests: ",
            r"(?:Passed|Failed|Skipped|Total): +\d",
            r"Test Run \w+\.",
            r"Build (?:succeeded|FAILED)",
            r"\d+ (?:Warning|Error)\(s\)",
            r"Time Elapsed ",
        ),
        (r"Failed \S+ \[", r"\[FAIL\]"),
    ),
    Tool(
        "rspec, minitest",
        (r"\d+ examples?, \d+ failures?", r"\d+ (?:runs|tests), \d+ assertions", r"Finished in "),
        (
            r"\S+#test_\w+ \[[^\]]*\]:$",
            r"(?:\d+\) )?(?:Failure|Error):",
            r"An error occurred ",
        ),
        (),
        (r"rspec \S+:\d+",),
    ),
    Tool(
        "PHPUnit",
        (
            r"Tests: \d+, Assertions: ",
            r"OK(?:, but| \(\d+ tests?)",
            r"(?:FAILURES|ERRORS|WARNINGS)!",
            r"There (?:was|were) \d+ ",
        ),
        (r"\d+\) \S+::",),
    ),
    Tool(
        "behave, robot",
        (
            r"\d+ (?:features?|scenarios?|steps?|rules?) passed, ",
            r"\d+ tests?, \d+ passed, \d+ failed",
            r"Took \d+min",
        ),
        (
            r"(?:Failing|Errored) scenarios:",
            r"\S+\.feature:\d+ +\S",
            r"(?:Assertion|ASSERT) F",
        ),
    ),
    Tool("tsc", (r"Found \d+ errors?",), ()),
    Tool(
        "eslint, stylelint",
        (r"\u2716 \d+ problems?", r"\d+ problems? \(", r"\d+ errors? and \d+ warnings? "),
        (r"\d+:\d+ +(?:error|\u2716) ",),
    ),
    Tool(
        "linters of Python",
        (
            r"All checks passed",
            r"Success: no issues",
            r"Found \d+ ",
            r"\d+ errors?, \d+ warnings?",
            r"Your code has been rated",
            r"(?:All done|Oh no)!",
            r"\d+ files? (?:would be |already |left |re)",
        ),
        (
            rf"{_AT} [A-Z]+\d+\b",
            r"[Ww]ould reformat",
            r"error: cannot format ",
        ),
        (r"[A-Z]{1,4}\d{3,4} (?:\[\*\] )?\S",),
    ),
    Tool(
        "compilers",
        (
            r"\d+ (?:warnings?|errors?)(?: and \d+ errors?)?(?: generated\.?)?$",
            r"compilation terminated",
            r"cc1\w*: (?:all|some) warnings",
        ),
        (
            rf"{_AT} ?(?:(?:fatal |internal )?(?:compiler )?error|ERROR|FATAL)\b",
            r"[^\s:]+: (?:fatal )?error: ",
            r"ld(?:\.\w+)?: ",
        ),
    ),
    Tool(
        "shellcheck, valgrind",
        (r"==\d+== (?:ERROR|HEAP|LEAK) SUMMARY",),
        (r"In \S+ line \d+:", r"==\d+== +(?:at|by) 0x"),
    ),
    Tool(
        "terraform",
        (r"Plan: \d", r"Apply complete", r"No changes\.", r"Destroy complete", r"Success! "),
        (r"[\u2502\u2577\u2575|] *(?:Error: |on \S+ line \d+)", r"Error: ", r"on \S+ line \d+, in "),
    ),
    Tool(
        "docker, kubectl",
        (r"Successfully (?:built|tagged) ", r"\[\+\] .*(?: FINISHED|\d+/\d+)"),
        (
            r"ERROR(?: \[|: failed)",
            r"failed to solve",
            r"Error from server",
            r"Warning +[A-Z]\w+ ",
        ),
        (
            r"\S+ +(?!(?P<ready>\d+)/(?P=ready) )\d+/\d+ +\S",
            rf"\S+ +(?:\d+/\d+ +)?(?:\w+:)?{_WAITS} ",
        ),
    ),
    Tool(
        "make, ninja, CMake",
        (
            r"make(?:\[\d+\])?: (?:Nothing to be done|.* is up to date)",
            r"ninja: ",
            r"-- Configuring (?:done|incomplete)",
            r"-- Build files",
        ),
        (r"g?make(?:\[\d+\])?: \*\*\* ", r"FAILED: ", r"CMake Error"),
    ),
    Tool(
        "npm, yarn, pnpm, pip",
        (
            r"added \d+ packages",
            r"up to date",
            r"(?:found )?\d+ vulnerabilities",
            r"Successfully \w+ ",
            r"Done in ",
        ),
        (
            r"npm (?:ERR!|error) .*\S",
            r"error (?:Command failed|\S+@)",
            r"ERROR: ",
        ),
    ),
    Tool(
        "git",
        (r"Automatic merge failed", r"\d+ files? changed", r"Already up to date", r"nothing to commit"),
        (
            r"(?:fatal|error): ",
            r"CONFLICT \(",
            r"! \[(?:remote )?rejected\]",
            r"both (?:modified|added|deleted): ",
        ),
    ),
    Tool("GitHub Actions", (), (r"##\[error\]", r"::error", r"Error: Process completed with exit code ")),
    Tool(
        "other tools",
        (r"exit (?:code|status)[ :=]+\d+$", r"For more information:"),
        (
            r"(?:[\w.-]+: )?\[?(?:ERROR|FATAL|CRITICAL|PANIC|FAIL(?:ED|URE)?|error|fatal|Error|Fatal)\]?[ :!]",
            r"(?:Segmentation fault|Aborted|Bus error|Traceback \(most recent)",
            r"(?:Killed|Terminated)$",
        ),
    ),
)
"""Rows in no order: only the column counts of what a line matches."""
_ENDED_BADLY = r"\b[Ee]xit(?:ed|s)?(?: with)?(?: (?:code|status|value))?[ :=]{1,3}(?!0\b)-?\d{1,10}\b"
_INSIDE = re.compile(
    rf"{_ENDED_BADLY}|non-zero (?:exit|code)|core dumped|[Cc]ommand not found|did not run successfully|Dubious, test"
    r"|\b(?:FAILED|ERROR|FAIL)(?: +\[ *\d+%\]|[!.)]*| \|)$|\.\.\. (?:FAILED|FAIL|ERROR)\b|\(FAILED - \d|\[FAIL\]"
    r"|\*\*\*(?:Failed|Timeout|Exception|Not Run)|<<< (?:FAILURE|ERROR)|FAILURE \[|:\d+: Failure$| s = [FE]$"
    r"|\"Action\":\"fail\"|\berror TS\d|\[-W(?:error|deferred)|undefined reference|ERR_PNPM|ELIFECYCLE"
    r"|(?<![\d.])[1-9]\d{0,8} (?:of the )?(?:\w{1,20} )?failed\b|[\u2717\u2718] \S"
    r"|:\d+: (?:trailing whitespace|leftover conflict|space before tab|new blank line)"
)
"""What says that something failed, anywhere in a line."""
_MAYBE = re.compile(
    r"FAIL|[Ff]ail|ERR|[Ee]rror|[Ee]xit|\*\*\*|ELIFE| s = |non-zero|dumped|Dubious|not found|not run"
    r"|undefined ref|[\u2717\u2718]|whitespace|leftover|before tab|blank line"
)
"""What a line holds that `_INSIDE` can match: quicker, since most lines hold none."""
_COLUMNS = ("summary", "failure", "doubtful", "again")
_REPORTS = re.compile(r"[\u2713\u2714\u221a] \S|ok \d|PASS\b|\S.* PASSED\b|NAME +.*(?:READY|STATUS)|--> \S")
"""How lines begin that show that a text is a tool's report."""
_FAILING = re.compile(
    r"(?<![\d.])[1-9]\d* (?:\w+ )?(?:fail|error)|FAIL|(?:fail|failures?|errors?): [1-9]", re.IGNORECASE
)
"""What a total holds that counts failures."""
_RAISED = re.compile(r"(?:\w+\.)*[A-Z]\w*(?::|$)")
"""An exception's name, with which the message of a traceback begins."""


@dataclass(frozen=True)
class Outcome:
    """The rows of an output that say how it ended.

    Attributes:
        summary: totals; those that count failures first, and of others the last first.
        end: the output's last rows, ascending, whatever else they are.
        failures: the head of each failure, ascending.
    """

    summary: tuple[int, ...] = ()
    end: tuple[int, ...] = ()
    failures: tuple[int, ...] = ()

    @property
    def order(self) -> tuple[int, ...]:
        """All rows, in the order of their importance."""
        return tuple(dict.fromkeys((*self.summary, *self.end[-1:], *self.failures, *self.end)))


@lru_cache(maxsize=1)
def _begins() -> re.Pattern[str]:
    columns = {name: "|".join(each for tool in TOOLS for each in getattr(tool, name)) for name in _COLUMNS}
    return re.compile("|".join(f"(?P<{name}>{column})" for name, column in columns.items()))


def outcome_of(lines: Sequence[str]) -> Outcome:
    """What the lines of a tool's output say of how it ended; nothing of a text that is no such output."""
    texts = [line.strip() for line in bare_lines(lines)]
    found, begins = {name: set[int]() for name in _COLUMNS}, _begins()
    for row, text in enumerate(texts):
        match = begins.match(text) if text else None
        if match is not None:
            found[next(name for name in found if match[name] is not None)].add(row)
        elif text and _MAYBE.search(text) and _INSIDE.search(text):
            found["failure"].add(row)
    summary, failures = found["summary"], found["failure"]
    failures.update(() if failures else found["again"])
    known = failures | found["again"]
    failures.update(row for block in output_blocks(lines) for row in _heads(block, known, lines))
    if summary or failures or (found["doubtful"] and any(map(_REPORTS.match, texts))):
        failures |= found["doubtful"]
    if not summary and not failures:
        return Outcome()
    inked = [row for row, text in enumerate(texts) if text]
    totals = sorted(summary, key=lambda row: (not _FAILING.search(texts[row]), -row))
    return Outcome(tuple(totals), tuple(inked[-LAST_LINES:]), tuple(sorted(failures)))


def _heads(block: Block, known: set[int], lines: Sequence[str]) -> list[int]:
    """The rows of a block that say what failed: of a traceback the exception, which ends it, of others the first."""
    if not block.fails or any(row in known for row in block.rows):
        return []
    raised = [row for row in block.rows[1:] if _RAISED.match(lines[row])]
    return [block.rows[0], *raised[-1:]]
