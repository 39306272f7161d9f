"""When a tool's result is pruned, and when it passes untouched: one rule a row with its reason; profiles of these.

Hosts shorten results before and after a hook is asked. What they do before stands in the text itself; what they do
after is a host's `ShownLimits`. `make test-hosts` finds these by running the hosts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import get_args

from lamr_base.choices import ProfileName
from lamr_base.records import dataclass
from lamr_client import PruneResult
from lamr_postprocess import approximate_tokens, detect_language

from lamr_agents.sessions.notices import NOTHING_STATED, TruncationInfo

PRUNED, OUTLINED, SHORTENED = "pruned", "outlined", "shortened"
"""The reasons of a result that doesn't pass; one that was shortened names lines that the context holds already."""
HIDING = frozenset({PRUNED, OUTLINED})
CUTTING = HIDING | {SHORTENED}
FAILED, RANGED = "the tool reports an error", "a range was asked for"
NOT_PRUNING = "the profile prunes nothing"
PUT_ASIDE = "the host put it into a file"
FOR_A_SCRIPT = "a script of the agent's gets it"
TOO_LONG = "what is left is longer than the host shows"
IN_PARTS = frozenset({FAILED, RANGED, PUT_ASIDE, FOR_A_SCRIPT, TOO_LONG})
"""The reasons of a result that doesn't show the whole file, so that a later one isn't a second look at it."""
WHOLE = 1_000_000  # what a text uses of limits that it just fills; see `ShownLimits.used`


def utf8_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def utf16_units(text: str) -> int:
    """Characters of a text as JavaScript counts them."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@dataclass(frozen=True)
class ShownLimits:
    """How much of a text a host shows."""

    characters: float = math.inf  # the most that an answer may have to be shown whole
    lines: float = math.inf
    width: float = math.inf  # the most characters of a line of an answer
    size: Callable[[str], int] = len  # counts characters as the host does
    uncut: float = math.inf  # characters up to which a text that stays as it is is shown whole
    shown: Callable[[str], str] = str  # gives what the model gets in the place of a text, cut or not
    above: str = ""  # what the host puts above a text that stays as it is, with zeros for its numbers
    below: str = ""  # what lamr's module for the host puts below an answer

    def used(self, text: str) -> int:
        """The share of the limits that an answer uses, in parts of `WHOLE`."""
        return math.ceil(WHOLE * max(self.size(text) / self.characters, text.count("\n") / self.lines))

    def fit(self, text: str) -> bool:
        """Whether an answer is shown whole."""
        wide = self.width < math.inf and any(self.size(line) > self.width for line in text.split("\n"))
        return self.used(text) <= WHOLE and not wide

    def cut(self, text: str) -> bool:
        return self.size(text) > self.uncut

    def inside(self, before: str, after: str) -> ShownLimits:
        """The limits of a text that stands between two others in a result."""
        around = before + after
        return replace(
            self,
            characters=max(self.characters - self.size(around), 1),
            lines=max(self.lines - around.count("\n"), 1),
            uncut=self.uncut - self.size(around),
            shown=lambda text: self.shown(f"{before}{text}{after}"),
        )


NO_LIMITS = ShownLimits()


@dataclass(frozen=True)
class ToolResult:
    """A tool's result, and what the agent asked for."""

    text: str  # the code that a tool showed, without what a host puts around it
    path: str  # the file's path
    tokens: int  # tokens of what the host would show of the text
    lines: int  # the text's lines
    intended: bool = True  # whether anything is known of why
    first: int | None = None  # first and last line that were asked for, 1-based; None where the tool was free
    last: int | None = None
    again: bool = False  # whether the file was shown before in this session
    failed: bool = False  # whether the tool reports an error
    name: str = ""  # names what isn't one file, such as a command's output; empty for a file
    pointed: tuple[int, ...] = ()  # lines of the file that the session has pointed at, 1-based
    stated: TruncationInfo = NOTHING_STATED  # what the host says of the lines that it left
    whole: str = ""  # the file, where the host left out some of it and this machine has it
    uncut: str = ""  # why the host's module has it pass; empty where the policy decides
    limits: ShownLimits = NO_LIMITS  # how much the host shows

    def shown_tokens(self, text: str) -> int:
        """Tokens of what the model gets where a text stands in the result's place."""
        return approximate_tokens(self.limits.shown(text))

    @property
    def from_line(self) -> int:
        """The file's number of the first line, as far as nothing that stands before the lines says another."""
        return (self.stated.first if self.first in (None, 0, 1) else self.first) or self.first or 1

    @property
    def label(self) -> str:
        """Its name among the texts of a session."""
        return self.name or self.path


@dataclass(frozen=True)
class Policy:
    """The limits."""

    least_tokens: int = 1500  # a text with fewer tokens or lines passes
    least_lines: int = 120
    longest_range: int = 150
    """Lines up to which a range points at something; agents without a reading tool open files by a longer one."""
    least_saving: float = 0.1  # the least share of tokens that a cut must save
    least_fitting: float = 0.5  # the least share of kept lines that the host must show
    threshold: float | None = None  # how likely a line must be that is kept; None for the model's own
    least_relevance: float = 0.15
    """A file that holds an answer less likely is shown as an outline. lamr-mini 0.10 gives more to 98 of 100 files that
    hold one, and less to a quarter of the others."""
    most_pointed: int = 12  # lines of a file up to which pointing at them means something
    before_pointed: int = 3  # lines that are shown before and after one that was pointed at
    after_pointed: int = 8
    prunes: bool = True  # whether lines are cut that the query doesn't need
    repeats: bool = True  # whether lines of a file are shown again that the agent's context holds already

    def passes(self, asked: ToolResult) -> str | None:
        """The reason to pass a text unpruned; None if it is to be pruned."""
        return asked.uncut or next((reason for reason, holds in _BEFORE.items() if holds(self, asked)), None)

    def passes_judged(self, result: PruneResult, tokens_in: int, tokens_out: int) -> str | None:
        """The reason to pass a text though it was pruned; None to show the pruned text."""
        if result.relevance is None:
            return "relevance undecided"
        if tokens_out > (1 - self.least_saving) * tokens_in:
            return "little to cut"
        return None

    def within(self, asked: ToolResult) -> Policy:
        """The limits for a text that the host may cut itself: lines that answer are better than its two ends."""
        return replace(self, least_saving=0.0, least_fitting=0.0) if asked.limits.cut(asked.text) else self

    def kept(self, asked: ToolResult, first: int, lines: int) -> list[tuple[int, int]]:
        """First and last line, counted within a part from 1, of each range that is shown for what was pointed at."""
        pointed = [number for number in asked.pointed if first <= number < first + lines]
        if asked.name or len(pointed) > self.most_pointed:
            return []
        return [
            (max(1, number - first + 1 - self.before_pointed), number - first + 1 + self.after_pointed)
            for number in pointed
        ]

    def ranges(self, asked: ToolResult) -> list[tuple[int, int]]:
        """First and last line of what was asked for; none where that is the whole file."""
        first = max(asked.first or 1, 1)
        return [(first, first + asked.lines - 1)] if _is_a_range(self, asked) else []

    def is_beside_the_point(self, result: PruneResult) -> bool:
        """Whether a file doesn't seem to hold what is looked for."""
        return result.relevance is not None and result.relevance < self.least_relevance


def _is_a_range(policy: Policy, asked: ToolResult) -> bool:
    if asked.first is None and asked.last is None:
        return False
    whole_beginning = asked.first in (None, 0, 1) and asked.lines > policy.longest_range
    return not whole_beginning


_BEFORE: dict[str, Callable[[Policy, ToolResult], bool]] = {
    FAILED: lambda _, asked: asked.failed,
    NOT_PRUNING: lambda policy, _: not policy.prunes,
    "binary": lambda _, asked: "\0" in asked.text,
    RANGED: _is_a_range,
    "not code": lambda _, asked: not detect_language("", asked.path).is_code,
    "small": lambda policy, asked: asked.tokens < policy.least_tokens or asked.lines < policy.least_lines,
    "shown before": lambda _, asked: asked.again,
    "nothing is known of why": lambda _, asked: not asked.intended,
}
"""In the order in which they are told; the first that holds is the reason."""


DEFAULT: ProfileName = "careful"
PROFILES: Mapping[ProfileName, Policy] = {
    "lossless": Policy(prunes=False, repeats=False),
    "careful": Policy(threshold=0.18, least_relevance=0.0, repeats=False),
    "balanced": Policy(threshold=0.25, least_relevance=0.0, repeats=False),
    "eager": Policy(repeats=False),
}
"""Profiles, from one that loses nothing to the one that saves the most. docs/lab/selection.md tells how the thresholds
were chosen, docs/lab/agents.md what each profile comes to on recorded sessions."""
assert set(PROFILES) == set(get_args(ProfileName))
