"""What a way to cut comes to: of one result, and of a whole session as sums that can be added.

Costs are counted as they would arise. When a later event needs lines that were cut and that nothing has shown since,
the agent makes one more request just before it, which fetches the cuts that hold them, at once for all that one request
needs. From then on these lines are in the context, too. Nothing is fetched for what comes after the context was
compacted, since the text would be gone anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from lamr_agents.replay.recorded import Recorded, Result
from lamr_agents.skimmed import Skim, hidden

_NEEDS = ("edited", "quoted")


@dataclass(frozen=True)
class Outcome:
    """What a way makes of one result.

    Attributes:
        reason: `pruned`, `outlined`, or why the result passes.
        cut: whether anything is hidden or shorter.
        tokens_in, tokens_out: before and after, markers and notes included.
        kept_lines: 1-based numbers of the lines that are shown.
        needed, kept: lines that the session needed later, and how many of them are shown; 0 of what is no big read.
        again: requests more, in which the agent fetches what was cut.
        saved: dollars that the cut saves.
        fetching: dollars for fetching again.
        whole: dollars for that, if the agent fetched the whole text at its first need.
        seconds: that the pruner took.
    """

    reason: str
    cut: bool
    tokens_in: int
    tokens_out: int
    kept_lines: tuple[int, ...]
    needed: int
    kept: int
    again: int
    saved: float
    fetching: float
    whole: float
    seconds: float


def outcome_of(result: Result, shown: Skim, session: Recorded) -> Outcome:
    """Count what is shown of a result."""
    cut = shown.tokens_out != shown.tokens_in or shown.cut
    needed = result.later.lines
    fetches = _fetches(result, shown, session) if cut else []
    bill = session.bill
    return Outcome(
        reason=shown.reason,
        cut=cut,
        tokens_in=shown.tokens_in,
        tokens_out=shown.tokens_out,
        kept_lines=shown.kept_lines,
        needed=len(needed),
        kept=len({*needed} & {*shown.kept_lines}) if cut else len(needed),
        again=len(fetches),
        saved=bill.of_text(shown.tokens_in - shown.tokens_out, result.record) if cut else 0.0,
        fetching=sum(bill.of_fetching(tokens, record) for tokens, record in fetches),
        whole=bill.of_fetching(shown.tokens_in, fetches[0][1]) if fetches else 0.0,
        seconds=shown.result.timings.total if shown.result else 0.0,
    )


def _fetches(result: Result, shown: Skim, session: Recorded) -> list[tuple[int, int]]:
    """The tokens of each fetch, and the record after which it happens; what one request needs is fetched at once."""
    seen, cuts = {*shown.kept_lines}, hidden(shown.kept_lines, shown.lines)
    readers = session.bill.readers(result.record)
    lines: dict[int, int] = {}
    for use in result.uses:
        missing = {*use.lines} - seen
        if use.kind not in _NEEDS:
            seen |= missing
        elif missing:
            asking = _request_of(session, use.place)
            if asking not in readers:
                break
            held = {n for first, last in cuts if _meet(missing, first, last) for n in range(first, last + 1)}
            lines[asking] = lines.get(asking, 0) + len(held - seen)
            seen |= held | missing
    a_line = shown.tokens_in / max(1, shown.lines)
    records = [request.record for request in session.bill.requests]
    return [(round(count * a_line), records[asking] - 1) for asking, count in lines.items()]


def _meet(numbers: set[int], first: int, last: int) -> bool:
    return any(first <= number <= last for number in numbers)


def _request_of(session: Recorded, place: int) -> int:
    """The place of the request that led to an event; -1 where none did.

    Most hosts account for a request where its answer begins; Codex does so where it ends.
    """
    heard = (event.record for event in reversed(session.events[:place]) if event.kind in ("result", "user"))
    before, at = next(heard, -1), session.events[place].record
    records = [request.record for request in session.bill.requests]
    since = [n for n, record in enumerate(records) if before < record <= at]
    return since[-1] if since else next((n for n, record in enumerate(records) if record > at), -1)


@dataclass(frozen=True)
class Ledger:
    """Sums over results.

    Attributes:
        bill: dollars for the session as it was.
        requests: how many.
        reads: big reads; `read_tokens` are theirs.
        cut: results of which something is cut; `tokens_cut` are the tokens that went, markers and notes counted.
        needed, kept: lines of all big reads that were needed later, and how many are shown.
        needed_cut, kept_cut: the same of the reads that are cut.
        again: requests more, of `reads_again` reads.
        saved, fetching, whole: as in `Outcome`.
        pruning: dollars for the time that the pruner took.
        control: dollars for the questions that the agent wrote for the pruner's sake; only of a way that asks one.
        seconds: that agents waited for the pruner.
    """

    bill: float = 0.0
    requests: int = 0
    reads: int = 0
    read_tokens: int = 0
    cut: int = 0
    tokens_cut: int = 0
    needed: int = 0
    kept: int = 0
    needed_cut: int = 0
    kept_cut: int = 0
    again: int = 0
    reads_again: int = 0
    saved: float = 0.0
    fetching: float = 0.0
    whole: float = 0.0
    pruning: float = 0.0
    control: float = 0.0
    seconds: float = 0.0

    @property
    def net(self) -> float:
        """Dollars that remain of what is saved."""
        return self.saved - self.fetching - self.pruning - self.control

    @property
    def net_whole(self) -> float:
        """The same, if agents fetched whole files again."""
        return self.net + self.fetching - self.whole


def ledger_of(session: Recorded, outcomes: Sequence[Outcome], hour: float) -> Ledger:
    """Add a session's outcomes up, one a result.

    Args:
        session: as it was.
        outcomes: in the order of its results.
        hour: dollars for an hour of pruning.
    """
    reads = [done for done, result in zip(outcomes, session.results, strict=True) if result.big]
    cut = [done for done in outcomes if done.cut]
    seconds = sum(done.seconds for done in outcomes)
    cut_reads = [done for done in reads if done.cut]
    asks_a_pruner = seconds > 0
    return Ledger(
        bill=session.bill.total,
        requests=len(session.bill.requests),
        reads=len(reads),
        read_tokens=sum(done.tokens_in for done in reads),
        cut=len(cut),
        tokens_cut=sum(done.tokens_in - done.tokens_out for done in cut),
        needed=sum(done.needed for done in reads),
        kept=sum(done.kept for done in reads),
        needed_cut=sum(done.needed for done in cut_reads),
        kept_cut=sum(done.kept for done in cut_reads),
        again=sum(done.again for done in cut),
        reads_again=sum(done.again > 0 for done in cut),
        saved=sum(done.saved for done in cut),
        fetching=sum(done.fetching for done in cut),
        whole=sum(done.whole for done in cut),
        pruning=seconds / 3600 * hour,
        control=session.control if asks_a_pruner else 0.0,
        seconds=seconds,
    )


def added(ledgers: Iterable[Ledger]) -> Ledger:
    """The sum of ledgers."""
    ledgers = list(ledgers)
    return Ledger(**{each.name: sum(getattr(one, each.name) for one in ledgers) for each in fields(Ledger)})
