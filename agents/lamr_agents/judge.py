"""How the parts of a tool's text are judged: each by itself, all for the same intent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from lamr_base.choices import EffortName
from lamr_client import PruneResult
from lamr_postprocess.render import NAMED

from lamr_agents.intent import Intent
from lamr_agents.parts import TextPart
from lamr_agents.policy import Policy, ToolResult


class Prunes(Protocol):
    """What a judge asks of a pruner; `lamr_client.Pruner` is one."""

    @property
    def prune(self) -> Callable[..., PruneResult]:
        """As `Pruner.prune`, which takes a query, a `SourceFile` and options."""
        ...


@dataclass(frozen=True)
class Judge:
    """A pruner, and all that the parts of one text have in common.

    Attributes:
        pruner: judges the lines.
        intent: what the agent is after.
        policy: the limits.
        effort: how much the encoder reads.
        within: seconds for each part; None for the pruner's own.
    """

    pruner: Prunes
    intent: Intent
    policy: Policy
    effort: EffortName
    within: float | None

    def pointed(self, part: TextPart, asked: ToolResult) -> list[tuple[int, int]]:
        """The lines of a part that are shown because the session pointed at them."""
        return [] if part.first is None else self.policy.kept(asked, part.first, part.lines)

    def of(self, part: TextPart, asked: ToolResult) -> PruneResult:
        """What the pruner gives for a part.

        Raises:
            LamrError: it fails.
        """
        return self.pruner.prune(
            self.intent.query,
            part.source,
            task=self.intent.task,
            history=self.intent.history,
            threshold=self.policy.threshold,
            keep=self.pointed(part, asked),
            markers=NAMED,
            effort=self.effort,
            within=self.within,
        )
