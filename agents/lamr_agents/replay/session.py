"""Replays one log: each result of a tool is cut in several ways, and each way is counted by what came later.

*Regret* are lines that were cut and that the session later edited, quoted, or read again by range. This module joins
readers of logs, ways to cut and the bill; it adds nothing up over sessions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lamr_sessions import BigRead, LaterUse

from lamr_agents.replay.outcome import Ledger, Outcome, ledger_of, outcome_of
from lamr_agents.replay.recorded import Recorded, Result
from lamr_agents.replay.ways import Way
from lamr_agents.skimmed import hidden


@dataclass(frozen=True)
class ReplayedRead:
    """One big read.

    Attributes:
        path: of the file.
        lines: what it showed.
        first: the number of the first line.
        query: what it was cut for.
        later: 1-based lines that the session needed later.
        ways: what each way makes of it; the first is the one that tables are about.
    """

    path: str
    lines: tuple[str, ...]
    first: int
    query: str
    later: LaterUse
    ways: Mapping[str, Outcome]

    @property
    def ours(self) -> Outcome:
        """What the first way makes of it."""
        return next(iter(self.ways.values()))

    @property
    def regretted(self) -> tuple[int, ...]:
        """The needed lines that the first way cuts."""
        return tuple(sorted({*self.later.lines} - {*self.ours.kept_lines})) if self.ours.cut else ()

    @property
    def cuts(self) -> list[tuple[int, int]]:
        """First and last line, 1-based, of each run of lines that the first way hides."""
        return hidden(self.ours.kept_lines, len(self.lines)) if self.ours.cut else []


@dataclass(frozen=True)
class Replayed:
    """One session.

    Attributes:
        log: the file, or a conversation's folder.
        name: the session's; logs of its sub-agents share it.
        project: that it worked on.
        host: which wrote it.
        model: that answered most requests; empty where the log doesn't say.
        accounted: whether the log accounts for its tokens; otherwise the bill is estimated.
        broken: lines of the log that can't be read.
        ledgers: what each way comes to.
        reads: the big reads.
    """

    log: Path
    name: str
    project: str
    host: str
    model: str
    accounted: bool
    broken: int
    ledgers: Mapping[str, Ledger]
    reads: tuple[ReplayedRead, ...]

    @property
    def ours(self) -> Ledger:
        """What the first way comes to."""
        return next(iter(self.ledgers.values()))


def replay(session: Recorded, ways: Sequence[Way], hour: float) -> Replayed:
    """Replay a session that was read; `hour` are dollars for an hour of pruning."""
    outcomes: dict[str, list[Outcome]] = {}
    for way in ways:
        judge = way.begin(session)
        outcomes[way.name] = [outcome_of(result, judge(result), session) for result in session.results]
    return Replayed(
        log=session.log,
        name=session.name,
        project=session.project,
        host=session.host,
        model=session.model,
        accounted=session.bill.accounted,
        broken=session.broken,
        ledgers={name: ledger_of(session, done, hour) for name, done in outcomes.items()},
        reads=tuple(
            _read(result, result.big, {name: done[at] for name, done in outcomes.items()})
            for at, result in enumerate(session.results)
            if result.big
        ),
    )


def _read(result: Result, big: BigRead, ways: Mapping[str, Outcome]) -> ReplayedRead:
    return ReplayedRead(
        path=big.read.path,
        lines=big.shown.lines,
        first=big.shown.first or big.read.first or 1,
        query=result.intent.query,
        later=result.later,
        ways=ways,
    )
