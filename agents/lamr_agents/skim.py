"""One result of a tool, skimmed: judged by the policy, pruned for the session's intent, every cut marked by name.

Hooks, servers and the replay of sessions all come through `skim`. It knows the policy and the pruner; it knows no host.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Protocol

import numpy as np
from lamr_client import PruneResult
from lamr_postprocess import approximate_tokens, detect_language, prune_lines
from lamr_postprocess.document import analyse
from lamr_postprocess.render import NAMED

from lamr_agents.intent import Intent
from lamr_agents.policy import OUTLINED, PRUNED, Asked, Policy


class Prunes(Protocol):
    """What `skim` asks of a pruner; `lamr_client.Pruner` is one."""

    def prune(  # noqa: PLR0913
        self,
        query: str,
        code: str,
        *,
        task: str,
        path: str,
        threshold: float | None,
        markers: str,
        on_error: Literal["passthrough"],
    ) -> PruneResult:
        """As `Pruner.prune`."""
        ...


@dataclass(frozen=True)
class Skim:
    """What an agent is shown.

    Attributes:
        text: what to show; the text as it came where it passes.
        reason: `pruned`, `outlined`, or why the text passes.
        kept_lines: 1-based numbers of the lines that are shown.
        lines: how many lines the text had.
        tokens_in, tokens_out: before and after, markers and note included, by `approximate_tokens`.
        result: what the pruner gave; None where it wasn't asked.
    """

    text: str
    reason: str
    kept_lines: tuple[int, ...]
    lines: int
    tokens_in: int
    tokens_out: int
    result: PruneResult | None = None

    @property
    def cut(self) -> bool:
        """Whether anything is hidden."""
        return self.reason in (PRUNED, OUTLINED)

    def cuts(self) -> list[tuple[int, int]]:
        """First and last line, 1-based, of each run of lines that are hidden."""
        edges = [0, *self.kept_lines, self.lines + 1]
        return [(a + 1, b - 1) for a, b in pairwise(edges) if b > a + 1]


def asked_for(  # noqa: PLR0913  # what a host knows of a call, one keyword a fact
    text: str,
    path: str,
    *,
    intent: Intent,
    first: int | None = None,
    last: int | None = None,
    again: bool = False,
    failed: bool = False,
) -> Asked:
    """What the policy judges by, with the text's size counted."""
    lines = text.count("\n") + (not text.endswith("\n"))
    return Asked(text, path, approximate_tokens(text), lines, bool(intent.query), first, last, again, failed)


def skim(pruner: Prunes, asked: Asked, intent: Intent, policy: Policy | None = None) -> Skim:
    """Skim the result of a call that read a file.

    A pruner that fails doesn't fail the call: the text passes, and the reason says why.

    Args:
        pruner: judges the lines.
        asked: the text, and what was asked for.
        intent: what the agent is after.
        policy: the limits.
    """
    policy = policy or Policy()
    reason = policy.passes(asked)
    if reason is not None:
        return _untouched(asked, reason)
    result = pruner.prune(
        intent.query,
        asked.text,
        task=intent.task,
        path=asked.path,
        threshold=policy.threshold,
        markers=NAMED,
        on_error="passthrough",
    )
    text, kept, done = result.text, result.kept_lines, PRUNED
    if result.status == "pruned" and policy.is_beside_the_point(result):
        text, kept = outline(asked.text, asked.path)
        done = OUTLINED
    text = _closed(text) + note(len(kept), asked, done)
    tokens = approximate_tokens(text)
    reason = policy.passes_judged(result, asked.tokens, tokens)
    if reason is not None:
        return _untouched(asked, reason, result)
    return Skim(text, done, kept, asked.lines, asked.tokens, tokens, result)


def outline(code: str, path: str) -> tuple[str, tuple[int, ...]]:
    """The headers of a file's definitions, as text, and the numbers of the lines that are left."""
    document = analyse(code, detect_language(code, path), naming=approximate_tokens)
    rows = () if document.definitions is None else document.definitions.rows.tolist()
    nothing = np.zeros(document.spans.shape[0])
    left = prune_lines(code, nothing, path=path, threshold=1.0, keep=[row + 1 for row in rows], markers=NAMED)
    return left.text, left.kept_lines


def note(kept: int, asked: Asked, done: str) -> str:
    """The last line of what an agent is shown: how much is hidden and how to see it."""
    first = asked.first or 1
    why = "an outline, since nothing here seems to answer: " if done == OUTLINED else ""
    return (
        f"[lamr: {why}{kept} of the lines {first}-{first + asked.lines - 1} are shown; read a range of lines to see "
        "what a marker stands for]\n"
    )


def _closed(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"


def _untouched(asked: Asked, reason: str, result: PruneResult | None = None) -> Skim:
    every = tuple(range(1, asked.lines + 1))
    return Skim(asked.text, reason, every, asked.lines, asked.tokens, asked.tokens, result)
