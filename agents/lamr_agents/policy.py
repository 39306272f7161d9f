"""When a tool's result is pruned, and when it passes untouched: one rule a row with its reason; profiles of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import get_args

from lamr_base.choices import ProfileName
from lamr_client import PruneResult
from lamr_postprocess import approximate_tokens, detect_language

from lamr_agents.sessions.notices import NOTHING_STATED, TruncationInfo
from lamr_agents.shown_limits import NO_LIMITS, ShownLimits

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


@dataclass(frozen=True)
class ToolResult:
    """What an agent asked for, and what came back.

    Attributes:
        text: the code that a tool showed, without what a host puts around it.
        path: of the file.
        tokens: of what the host would show of the text.
        lines: of the text.
        intended: whether anything is known of why.
        first, last: the range that was asked for, 1-based; None where the tool was free.
        again: whether the file was shown before in this session.
        failed: whether the tool reports an error.
        name: of what lies in no file, such as a command's output; empty for a file's text.
        pointed: lines of the file that the session has pointed at, 1-based.
        stated: what the host says of the lines that it left.
        whole: the file as it is, where the host left out some of it and this machine has it; else empty.
        uncut: why the host's module has it pass; empty where the policy decides.
        limits: how much the host shows.
    """

    text: str
    path: str
    tokens: int
    lines: int
    intended: bool = True
    first: int | None = None
    last: int | None = None
    again: bool = False
    failed: bool = False
    name: str = ""
    pointed: tuple[int, ...] = ()
    stated: TruncationInfo = NOTHING_STATED
    whole: str = ""
    uncut: str = ""
    limits: ShownLimits = NO_LIMITS

    def shown_tokens(self, text: str) -> int:
        """Tokens of what the model gets where a text stands in the result's place."""
        return approximate_tokens(self.limits.shown(text))

    @property
    def from_line(self) -> int:
        """The file's number of the first line, as far as nothing that stands before the lines says another."""
        return (self.stated.first if self.first in (None, 0, 1) else self.first) or self.first or 1

    @property
    def label(self) -> str:
        """What tells it from other texts in a session."""
        return self.name or self.path


@dataclass(frozen=True)
class Policy:
    """The limits.

    Attributes:
        least_tokens, least_lines: a smaller text passes.
        longest_range: lines up to which a range points at something; a longer one that starts at the file's beginning
            is how agents without a reading tool open a file (`sed -n 1,250p`).
        least_saving: the least share of tokens that a cut must save.
        least_fitting: the least share of what is kept that must stay where the host doesn't show all of that.
        threshold: how likely a line must be that is kept; None for the model's own.
        least_relevance: a file that holds an answer less likely is shown as an outline. The default is below what
            lamr-mini 0.10 gives 98 of 100 files that hold one, and above what it gives a quarter of the others.
        most_pointed: lines of a file up to which pointing at them means something.
        before_pointed, after_pointed: the lines around one that was pointed at that are shown with it.
        prunes: whether lines are cut that the query doesn't need.
        repeats: whether lines of a file are shown again that the agent's context holds already.
    """

    least_tokens: int = 1500
    least_lines: int = 120
    longest_range: int = 150
    least_saving: float = 0.1
    least_fitting: float = 0.5
    threshold: float | None = None
    least_relevance: float = 0.15
    most_pointed: int = 12
    before_pointed: int = 3
    after_pointed: int = 8
    prunes: bool = True
    repeats: bool = True

    def passes(self, asked: ToolResult) -> str | None:
        """Why a text passes before it is judged; None where it is to be judged."""
        return asked.uncut or next((reason for reason, holds in _BEFORE.items() if holds(self, asked)), None)

    def passes_judged(self, result: PruneResult, tokens_in: int, tokens_out: int) -> str | None:
        """Why a text passes though it was judged; None where the result is to be shown.

        Args:
            result: what the pruner gave.
            tokens_in, tokens_out: tokens of what the host would show of the text, and of what it would show instead.
        """
        if result.relevance is None:
            return "relevance undecided"
        if tokens_out > (1 - self.least_saving) * tokens_in:
            return "little to cut"
        return None

    def within(self, asked: ToolResult) -> Policy:
        """The limits for a text that the host may cut itself: lines that answer are better than its two ends."""
        return replace(self, least_saving=0.0, least_fitting=0.0) if asked.limits.cut(asked.text) else self

    def kept(self, asked: ToolResult, first: int, lines: int) -> list[tuple[int, int]]:
        """First and last line, counted within a part from 1, of each range that is shown for what was pointed at.

        Args:
            asked: what was asked for.
            first: the file's number of the first line of a part of the text.
            lines: of that part.
        """
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
"""How boldly lamr cuts, from what loses nothing to what saves the most. docs/lab/selection.md tells how the thresholds
were chosen, docs/lab/agents.md what each profile comes to on recorded sessions."""
assert set(PROFILES) == set(get_args(ProfileName))
