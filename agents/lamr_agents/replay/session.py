"""Replays one log: each result of a tool is cut as hooks would have cut it, and counted by what came later.

*Regret* are lines that were cut and that the session later edited, quoted, or read again by range.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from lamr_base.choices import EffortName

from lamr_agents.hosts import HOSTS
from lamr_agents.policy import DEFAULT, PROFILES, Policy
from lamr_agents.replay.outcome import ReadOutcome, Totals, outcome_of, totals_of
from lamr_agents.replay.recorded import Recorded, Result
from lamr_agents.sessions import BigRead, LaterUse
from lamr_agents.sessions.notices import gaps
from lamr_agents.sessions.shown import shown_lines
from lamr_agents.skim import Prunes, skim, untouched
from lamr_agents.skimmed import Skim, hidden
from lamr_agents.thin import SMALL

OTHER_TOOL = "no read of a file"


@dataclass(frozen=True)
class ReplayedRead:
    """One big read.

    Attributes:
        path: of the file.
        lines: what it showed.
        first: the number of the first line.
        query: what it was cut for.
        later: 1-based lines that the session needed later.
        outcome: what becomes of it.
    """

    path: str
    lines: tuple[str, ...]
    first: int
    query: str
    later: LaterUse
    outcome: ReadOutcome

    @property
    def regretted(self) -> tuple[int, ...]:
        """The needed lines that are cut."""
        kept = self.outcome.kept_lines
        return tuple(sorted({*self.later.lines} - {*kept})) if self.outcome.cut else ()

    @property
    def cuts(self) -> list[tuple[int, int]]:
        """First and last line, 1-based, of each run of lines that are hidden."""
        return hidden(self.outcome.kept_lines, len(self.lines)) if self.outcome.cut else []


@dataclass(frozen=True)
class Replayed:
    """One session.

    Attributes:
        log: the file, or a conversation's folder.
        name: the session's; logs of its sub-agents share it.
        project: that it worked on.
        host: which wrote it.
        model: that answered most requests; empty where the log doesn't say.
        broken: lines of the log that can't be read.
        totals: what the cuts come to.
        reads: the big reads.
    """

    log: Path
    name: str
    project: str
    host: str
    model: str
    broken: int
    totals: Totals
    reads: tuple[ReplayedRead, ...]

    @property
    def accounted(self) -> bool:
        """Whether the log says what its requests read, so that dollars can be told."""
        return self.totals.requests > 0


def replay(session: Recorded, show: Callable[[Result], Skim]) -> Replayed:
    """Replay a session that was read.

    Args:
        session: as it was.
        show: says what is shown of each result; called for all, in their order.
    """
    outcomes = [outcome_of(result, show(result), session) for result in session.results]
    return Replayed(
        log=session.log,
        name=session.name,
        project=session.project,
        host=session.host,
        model=session.model,
        broken=session.broken,
        totals=totals_of(session, outcomes),
        reads=tuple(
            _read(result, result.big, outcome)
            for result, outcome in zip(session.results, outcomes, strict=True)
            if result.big
        ),
    )


def _read(result: Result, big: BigRead, outcome: ReadOutcome) -> ReplayedRead:
    return ReplayedRead(
        path=big.read.path,
        lines=big.shown.lines,
        first=big.shown.first or big.read.first or 1,
        query=result.intent.query,
        later=result.later,
        outcome=outcome,
    )


def shown_by_hooks(
    session: Recorded, pruner: Prunes, policy: Policy | None = None, effort: EffortName = "instant"
) -> Callable[[Result], Skim]:
    """What hooks would have shown of a session's results, for `replay`; it remembers what it showed before.

    Args:
        session: as it was.
        pruner: judges the lines.
        policy: when a read is pruned; None for the default profile's.
        effort: how much the encoder reads.
    """
    policy = policy or PROFILES[DEFAULT]
    of_others = replace(policy, prunes=False)
    hooks = (host.hook for host in HOSTS.values() if host.hook)
    tells = any(hook.tells_context for hook in hooks if hook.name == session.host)
    held: dict[str, dict[int, str]] = {}
    context = 0

    def show(result: Result) -> Skim:
        nonlocal context
        asked = result.asked
        readers = session.bill.readers(result.record)
        if readers.stop != context:  # compacted since, or the first
            held.clear()
            context = readers.stop
        if not asked.path:
            return untouched(asked, OTHER_TOOL)
        known = held.setdefault(asked.path, {}) if tells else {}
        if len(asked.text) < SMALL:
            shown = untouched(asked, "small")
        else:
            limits = of_others if result.big is None else policy
            shown = skim(pruner, asked, result.intent, limits, known=known, effort=effort)
        if shown.cut or gaps(asked.text):
            known.clear()
        else:
            known.update(enumerate(shown_lines(asked.text).lines, asked.from_line))
        return shown

    return show
