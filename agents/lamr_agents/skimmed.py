"""The text that an agent is shown for a result, and all messages of lamr about it.

An agent acts on whatever stands in its context. So these words say what to do with the file, and nothing of lamr. The
words for a call that fails before this package is imported are `thin`'s."""

import re
from collections.abc import Sequence
from itertools import pairwise

from lamr_base.expressions import expression
from lamr_base.records import dataclass
from lamr_client import PruneResult

from lamr_agents.policy import CUTTING
from lamr_agents.thin import AS_IT_CAME, NOTE

BY_RANGE = "read a range of lines to see what a marker stands for"
BY_NAME = f"{BY_RANGE}, or search the file for a name in it where it has no numbers"
BY_COMMAND = "`{command}{between}{key}:{first}-{last}` prints the lines {first}-{last}"
AN_OUTLINE = "an outline, since nothing here seems to answer: "
IN_HASTE = "judged in haste ({why}): "
HOSTS_NUMBERS = (
    f"{NOTE} the host numbers the lines that are left; the markers carry the file's own numbers]\n"
)
KNOWN_LINES = (
    f"{NOTE} lines {{first}}-{{last}} are as you read lines {{as_first}}-{{as_last}} of {{path}} above]"
)
_NAMES_LINES = expression(rf"^{re.escape(NOTE)} lines \d+-\d+ are as you read lines ", re.MULTILINE)
FILE_ENDS = f"{NOTE} the file has {{lines}} lines]\n"
MORE_LINES = f"{NOTE} {{lines}} lines at a time; expand shows others]\n"
MORE_MATCHES = f"{NOTE} there are more matches; narrow the search]\n"
_SHOWN = "{kept} of the lines {lines} are shown"
_SHOWN_WITHOUT_NUMBERS = "{kept} of {lines} lines are shown"
_ITS_OWN = f"; {{alike}} of these have `{NOTE}` in them, which is the text's own"
_UNSEEN = "; {unseen} of these have invisible characters"


@dataclass(frozen=True)
class Skim:
    """The text that an agent is shown."""

    text: str  # what to show; the text as it came where it passes
    reason: str  # `pruned`, `outlined`, `shortened`, or why the text passes
    kept_lines: tuple[int, ...]  # 1-based numbers of the lines that are shown
    lines: int  # how many lines the text had
    tokens_in: int  # before and after, markers and note included, by `approximate_tokens`
    tokens_out: int
    hidden: tuple[tuple[int, int], ...] = ()  # first and last line of each cut in the file, if known
    numbers: tuple[tuple[int, int], ...] = ()  # each part's first and last line in the file, if known
    result: PruneResult | None = None  # what the pruner gave; None where it wasn't asked or failed
    failed: bool = False  # whether the text passes because something failed
    late: bool = False  # whether that was the time's end

    @property
    def cut(self) -> bool:
        return self.reason in CUTTING

    @property
    def failure(self) -> str:
        """The message about a failure of the pruner; empty if it didn't fail."""
        return f"{NOTE} {self.reason}]" if self.failed else ""

    @property
    def aside(self) -> str:
        """The message beside a text that passes: why the pruner failed, or that lamr didn't write what looks
        as if it did; mostly empty."""
        forged = not self.cut and alike(self.text)
        return " ".join(filter(None, (self.failure, AS_IT_CAME if forged else "")))

    @property
    def text_with_notice(self) -> str:
        """The text and what is told beside it, for hosts that have no place beside a result."""
        return self.text + (f"\n{self.aside}\n" if self.aside else "")

    def cuts(self) -> list[tuple[int, int]]:
        return hidden(self.kept_lines, self.lines)


def hidden(kept: Sequence[int], lines: int) -> list[tuple[int, int]]:
    """First and last line, 1-based, of each run of lines that aren't among those that are kept."""
    edges = [0, *kept, lines + 1]
    return [(a + 1, b - 1) for a, b in pairwise(edges) if b > a + 1]


def alike(text: str) -> int:
    """The number of lines that look like lamr's messages."""
    return sum(NOTE in line for line in text.lower().splitlines()) if NOTE in text.lower() else 0


def note(  # noqa: PLR0913  # keyword-only but for the parts
    kept: int,
    lines: int,
    undo: str,
    *,
    numbers: Sequence[tuple[int, int]] = (),
    why: str = "",
    alike: int = 0,
    unseen: int = 0,
) -> str:
    """The last line of what an agent is shown: how much is hidden and how to see it.

    `numbers` are the first and last number of the text's lines in their file, by part, where these are known; `alike`
    lines of the text look like words of lamr's, and `unseen` have invisible characters."""
    ranges = ", ".join(f"{first}-{last}" for first, last in numbers)
    words = _SHOWN if ranges else _SHOWN_WITHOUT_NUMBERS
    own = _ITS_OWN.format(alike=alike) if alike else ""
    own += _UNSEEN.format(unseen=unseen) if unseen else ""
    return f"{NOTE} {why}{words.format(kept=kept, lines=ranges or lines)}{own}; {undo}]\n"


def names_lines(text: str) -> bool:
    """Whether a result names lines instead of showing them again."""
    return _NAMES_LINES.search(text) is not None


def known_note(*, ended: bool) -> str:
    """The last line of a read that names lines it doesn't show; `ended` where the text ends with a line's end."""
    end = "" if ended else "; its last line has no end"
    return f"{NOTE} lines that your context holds are named; read them again to have them shown{end}]\n"
