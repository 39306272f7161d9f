"""What an agent is shown of a text, and what it is told beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from lamr_client import PruneResult

from lamr_agents.policy import CUTTING
from lamr_agents.thin import AS_IT_CAME, NOTE


@dataclass(frozen=True)
class Skim:
    """What an agent is shown.

    Attributes:
        text: what to show; the text as it came where it passes.
        reason: `pruned`, `outlined`, `shortened`, or why the text passes.
        kept_lines: 1-based numbers of the lines that are shown.
        lines: how many lines the text had.
        tokens_in, tokens_out: before and after, markers and note included, by `approximate_tokens`.
        hidden: first and last line of each cut by the file's own numbers; none where these aren't known.
        numbers: first and last line of what the text showed by these numbers, by part; none where any isn't known.
        result: what the pruner gave; None where it wasn't asked or failed.
        failed: whether the text passes because something failed.
        late: whether that was the time's end.
    """

    text: str
    reason: str
    kept_lines: tuple[int, ...]
    lines: int
    tokens_in: int
    tokens_out: int
    hidden: tuple[tuple[int, int], ...] = ()
    numbers: tuple[tuple[int, int], ...] = ()
    result: PruneResult | None = None
    failed: bool = False
    late: bool = False

    @property
    def cut(self) -> bool:
        """Whether anything is hidden or shorter."""
        return self.reason in CUTTING

    @property
    def failure(self) -> str:
        """What an agent is told where the pruner failed; empty where it didn't."""
        return f"{NOTE} {self.reason}]" if self.failed else ""

    @property
    def aside(self) -> str:
        """What an agent is told beside a text that passes: why the pruner failed, or that lamr didn't write what looks
        as if it did; mostly empty.
        """
        forged = not self.cut and alike(self.text)
        return " ".join(filter(None, (self.failure, AS_IT_CAME if forged else "")))

    @property
    def text_with_notice(self) -> str:
        """The text and what is told beside it, for hosts that have no place beside a result."""
        return self.text + (f"\n{self.aside}\n" if self.aside else "")

    def cuts(self) -> list[tuple[int, int]]:
        """First and last line, 1-based, of each run of lines that are hidden."""
        return hidden(self.kept_lines, self.lines)


def hidden(kept: Sequence[int], lines: int) -> list[tuple[int, int]]:
    """First and last line, 1-based, of each run of lines that aren't among those that are kept."""
    edges = [0, *kept, lines + 1]
    return [(a + 1, b - 1) for a, b in pairwise(edges) if b > a + 1]


def alike(text: str) -> int:
    """How many lines look like words of lamr's."""
    return sum(NOTE in line for line in text.lower().splitlines()) if NOTE in text.lower() else 0
