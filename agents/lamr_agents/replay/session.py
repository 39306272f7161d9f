"""Replays one log: each big read is skimmed as a host would have had it skimmed, and compared with what came later.

*Regret* are lines that were cut and that the session later edited, quoted, or read again by range. This module joins
readers of logs, the policy, the pruner and the bill; it adds nothing up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lamr_sessions import (
    FORMATS,
    BigRead,
    Event,
    LaterUse,
    big_reads,
    later_use,
    read_events,
    read_log,
    read_requests,
    recognize,
)
from lamr_sessions.tools import question_of, same_file

from lamr_agents.intent import Known, intent_of
from lamr_agents.policy import Policy
from lamr_agents.replay.bill import Bill, made_up_requests
from lamr_agents.replay.prices import Prices
from lamr_agents.replay.yardsticks import YARDSTICKS
from lamr_agents.skim import Prunes, Skim, asked_for, skim


@dataclass(frozen=True)
class Kept:
    """What a way to cut kept of a read.

    Attributes:
        needed: how many of the lines that were needed later.
        fetched_again: whether a line that was edited or quoted without being read again first was cut, so that the
            agent would have had to fetch it.
    """

    needed: int
    fetched_again: bool


@dataclass(frozen=True)
class ReplayedRead:
    """One big read.

    Attributes:
        path: of the file.
        lines: what it showed.
        first: the number of the first line.
        query: what it was skimmed for.
        skim: what would have been shown.
        later: 1-based lines that the session needed later.
        kept: of these, what lamr kept.
        yardsticks: what other ways to cut it to the same size kept, by name; empty where nothing was cut.
        saved: dollars that the cut saved.
        fetching: dollars for fetching again.
        seconds: how long the skim took.
    """

    path: str
    lines: tuple[str, ...]
    first: int
    query: str
    skim: Skim
    later: LaterUse
    kept: Kept
    yardsticks: dict[str, Kept]
    saved: float
    fetching: float
    seconds: float

    @property
    def regretted(self) -> tuple[int, ...]:
        """The needed lines that were cut."""
        return tuple(sorted({*self.later.lines} - {*self.skim.kept_lines}))


@dataclass(frozen=True)
class Replayed:
    """One session.

    Attributes:
        log: the file.
        host: which wrote it.
        model: that answered most requests; empty where the log doesn't say.
        requests: how many.
        bill: dollars for the whole session.
        accounted: whether the log accounts for its tokens; otherwise the bill is estimated.
        pruning: dollars for the time that the pruner took.
        reads: the big reads.
    """

    log: Path
    host: str
    model: str
    requests: int
    bill: float
    accounted: bool
    pruning: float
    reads: tuple[ReplayedRead, ...]


def replay_log(
    log: Path,
    pruner: Prunes,
    prices: Prices,
    policy: Policy | None = None,
    progress: Callable[[int], None] | None = None,
) -> Replayed | None:
    """Replay a log; None where no known host wrote it or it holds no request.

    Args:
        log: the file, or the folder of a conversation.
        pruner: judges the lines.
        prices: of tokens, and of the pruner's time.
        policy: when a read is pruned.
        progress: called with the number of reads done, after each.

    Raises:
        OSError: it can't be read.
    """
    text = read_log(log)
    form = recognize(text, FORMATS)
    if form is None:
        return None
    try:
        events = read_events(text, form)
    except ValueError:
        return None
    requests = read_requests(text, form)
    accounted = bool(requests)
    requests = requests or made_up_requests(events)
    if not requests:
        return None
    names = [request.model for request in requests]
    model = max(set(names), key=names.count)
    bill = Bill(requests, prices.of(model), accounted)
    reads = []
    for read, again in _with_repeats(events):
        reads.append(_replay_read(read, again, events, pruner, bill, policy or Policy()))
        if progress:
            progress(len(reads))
    seconds = sum(read.seconds for read in reads)
    pruning = seconds / 3600 * prices.hour
    return Replayed(log, form.name, model, len(requests), bill.total, accounted, pruning, tuple(reads))


def _with_repeats(events: Sequence[Event]) -> Iterator[tuple[BigRead, bool]]:
    """The big reads, each with whether an earlier one showed the same file."""
    seen: list[str] = []
    for read in big_reads(events):
        yield read, any(same_file(read.read.path, path) for path in seen)
        seen.append(read.read.path)


def _replay_read(  # noqa: PLR0913, PLR0917  # what one read hangs together with
    read: BigRead, again: bool, events: Sequence[Event], pruner: Prunes, bill: Bill, policy: Policy
) -> ReplayedRead:
    lines, record = read.shown.lines, events[read.place].record
    intent = intent_of(
        Known(
            question_of(read.call.arguments),
            read.intent,
            read.description,
            read.searched,
            read.task,
            read.pointed,
            read.history,
        )
    )
    asked = asked_for("\n".join(lines) + "\n", read.read, intent=intent, again=again)
    begin = time.perf_counter()
    skimmed = skim(pruner, asked, intent, policy)
    seconds = time.perf_counter() - begin
    later = later_use(read, events)
    kept = _kept(skimmed.kept_lines, later)
    others: dict[str, Kept] = {}
    fetching = 0.0
    if skimmed.cut:
        query = f"{intent.query}\n{intent.task}"
        others = {
            name: _kept(yardstick(query, lines, skimmed.tokens_out), later)
            for name, yardstick in YARDSTICKS.items()
        }
    if kept.fetched_again:
        fetching = bill.of_fetching(_tokens_of_cuts(skimmed, later), record)
    saved = bill.of_text(skimmed.tokens_in - skimmed.tokens_out, record)
    return ReplayedRead(
        path=read.read.path,
        lines=lines,
        first=read.shown.first or read.read.first or 1,
        query=intent.query,
        skim=skimmed,
        later=later,
        kept=kept,
        yardsticks=others,
        saved=saved,
        fetching=fetching,
        seconds=seconds,
    )


def _must_be_fetched(later: LaterUse) -> set[int]:
    """Lines that the session needed and didn't read again: the others are fetched in the session as it was."""
    return {*later.edited, *later.quoted} - {*later.reread}


def _kept(kept: Sequence[int], later: LaterUse) -> Kept:
    left = {*kept}
    return Kept(len(left & {*later.lines}), bool(_must_be_fetched(later) - left))


def _tokens_of_cuts(skimmed: Skim, later: LaterUse) -> int:
    """Tokens of the cuts that hold lines that must be fetched: the ranges that an agent reads on seeing the markers."""
    wanted = _must_be_fetched(later)
    held = sum(last - first + 1 for first, last in skimmed.cuts() if wanted & {*range(first, last + 1)})
    return round(held * skimmed.tokens_in / max(1, skimmed.lines))
