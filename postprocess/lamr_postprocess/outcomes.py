"""Lines of a tool's output that say how it ended: summaries, failures, exit codes.

They are kept before anything is ranked, since no question about a run is answered by its passing lines alone.
`data/outcomes.toml` is the table of tools. One that no row knows is told by words of failure, and by its
end."""

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from lamr_base.expressions import expression
from lamr_base.lazy import toml_parser
from lamr_base.records import dataclass

from lamr_postprocess.clock import in_time
from lamr_postprocess.outputs import Block, bare_lines, output_blocks

LAST_LINES = 3
"""Lines with ink at the end of an output that are kept."""


_ENDED_BADLY = r"\b[Ee]xit(?:ed|s)?(?: with)?(?: (?:code|status|value))?[ :=]{1,3}(?!0\b)-?\d{1,10}\b"
_INSIDE = expression(
    rf"{_ENDED_BADLY}|non-zero (?:exit|code)|core dumped|[Cc]ommand not found|did not run successfully|Dubious, test"
    r"|treated as errors|too many warnings"
    r"|\b(?:FAILED|ERROR|FAIL)(?: +\[ *\d+%\]|[!.)]*| \|)$|\.\.\. (?:FAILED|FAIL|ERROR)\b|\(FAILED - \d|\[FAIL\]"
    r"|\*\*\*(?:Failed|Timeout|Exception|Not Run)|<<< (?:FAILURE|ERROR)|FAILURE \[|:\d+: Failure$| s = [FE]$"
    r"|\"Action\":\"fail\"|\berror TS\d|\[-W(?:error|deferred)|undefined reference|ERR_PNPM|ELIFECYCLE"
    r"|(?<![\d.])[1-9]\d{0,8} (?:of the )?(?:\w{1,20} )?failed\b|[\u2717\u2718] \S"
    r"|:\d+: (?:trailing whitespace|leftover conflict|space before tab|new blank line)"
)
"""What says that something failed, anywhere in a line."""
_MAYBE = expression(
    r"FAIL|[Ff]ail|ERR|[Ee]rror|[Ee]xit|\*\*\*|ELIFE| s = |non-zero|dumped|Dubious|not found|not run"
    r"|\[-W|treated as|too many|undefined ref|[\u2717\u2718]|whitespace|leftover|before tab|blank line"
)
"""What a line holds that `_INSIDE` can match: quicker, since most lines hold none."""
_COLUMNS = ("summary", "failure", "doubtful", "again")
_REPORTS = expression(r"[\u2713\u2714\u221a] \S|ok \d|PASS\b|\S.* PASSED\b|NAME +.*(?:READY|STATUS)|--> \S")
"""How lines begin that show that a text is a tool's report."""
_FAILING = expression(
    r"(?<![\d.])[1-9]\d* (?:\w+ )?(?:fail|error)|FAIL|(?:fail|failures?|errors?):? [1-9]|of errors",
    re.IGNORECASE,
)
"""What totals hold that count failures."""
_COUNTING = expression(
    r"\d (?:\w+ )?(?:pass|fail|test|error|ok)|(?:pass|tests|failures)[:=]? ?\d|SUCC|\bOK\b|Result",
    re.IGNORECASE,
)
"""What totals hold that count anything but time."""
_GOES_ON = expression(r"(?:error|warning):(?: \[[-\w]+\])?$")
"""How a message ends that says what is wrong in the next line."""
_RAISED = expression(r"(?:\w+\.)*[A-Z]\w*(?::|$)")
"""An exception's name, with which the message of a traceback begins."""


@dataclass(frozen=True)
class OutcomeRows:
    """The rows of an output that say how it ended."""

    # rows that count what passed and failed, and the last one, which may tell an exit code; those that count failures
    # first, those that tell times last, and of each the last first
    totals: tuple[int, ...] = ()
    failures: tuple[int, ...] = ()  # the head of each failure, ascending
    end: tuple[int, ...] = ()  # the last rows, ascending, whatever they are

    @property
    def order(self) -> tuple[int, ...]:
        """All rows, in the order of their importance."""
        return tuple(dict.fromkeys((*self.totals, *self.failures, *self.end)))


@lru_cache(maxsize=1)
def tools() -> dict[str, dict[str, list[str]]]:
    """The columns of each tool; see the head of the table."""
    toml = toml_parser()
    text = (Path(__file__).parent / "data" / "outcomes.toml").read_text(encoding="utf-8")
    for name, part in toml.loads(text)["parts"].items():
        text = text.replace(f"<{name}>", part)
    table: dict[str, dict[str, list[str]]] = toml.loads(text)
    del table["parts"]
    return table


@lru_cache(maxsize=1)
def _begins() -> re.Pattern[str]:
    columns = {
        name: "|".join(each for tool in tools().values() for each in tool.get(name, ())) for name in _COLUMNS
    }
    return re.compile("|".join(f"(?P<{name}>{column})" for name, column in columns.items()))


def outcome_of(lines: Sequence[str]) -> OutcomeRows:
    """What the lines of a tool's output say of how it ended; nothing of a text that is no such output."""
    texts = [line.strip() for line in bare_lines(lines)]
    found, begins = {name: set[int]() for name in _COLUMNS}, _begins()
    for row, text in enumerate(in_time(texts)):
        match = begins.match(text) if text else None
        if match is not None:
            found[next(name for name in found if match[name] is not None)].add(row)
        elif text and _MAYBE.search(text) and _INSIDE.search(text):
            found["failure"].add(row)
    summary, failures = found["summary"], found["failure"]
    failures.update(() if failures else found["again"])
    failures |= {row + 1 for row in failures if _GOES_ON.search(texts[row]) and row + 1 < len(texts)}
    known = failures | found["again"]
    failures.update(row for block in output_blocks(lines) for row in _heads(block, known, lines))
    if summary or failures or (found["doubtful"] and any(map(_REPORTS.match, texts))):
        failures |= found["doubtful"]
    if not summary and not failures:
        return OutcomeRows()
    inked = [row for row, text in enumerate(texts) if text]
    failing = sorted((row for row in summary if _FAILING.search(texts[row])), reverse=True)
    others = sorted(summary.difference(failing), key=lambda row: (not _COUNTING.search(texts[row]), -row))
    totals = dict.fromkeys((*failing, *inked[-1:], *others))
    return OutcomeRows(tuple(totals), tuple(sorted(failures)), tuple(inked[-LAST_LINES:]))


def _heads(block: Block, known: set[int], lines: Sequence[str]) -> list[int]:
    """The rows of a block that say what failed: of a traceback the exception, which ends it, of others the first."""
    if not block.fails or any(row in known for row in block.rows):
        return []
    raised = [row for row in block.rows[1:] if _RAISED.match(lines[row])]
    return [block.rows[0], *raised[-1:]]
