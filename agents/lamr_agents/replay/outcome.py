"""What a cut comes to: of one result, and of a whole session as sums that can be added.

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
class ReadOutcome:
    """What becomes of one result.

    Attributes:
        reason: `pruned`, `outlined`, or why the result passes.
        cut: whether anything is hidden or shorter.
        tokens_in, tokens_out: before and after, markers and notes included.
        kept_lines: 1-based numbers of the lines that are shown.
        needed, kept: lines that the session needed later, and how many of them are shown; 0 of what is no big read.
        again: requests more, in which the agent fetches what was cut.
        saved: dollars that the cut saves.
        fetching: dollars for fetching again.
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
    seconds: float


def outcome_of(result: Result, shown: Skim, session: Recorded) -> ReadOutcome:
    """Count what is shown of a result."""
    cut = shown.tokens_out != shown.tokens_in or shown.cut
    needed = result.later.lines
    fetches = _fetches(result, shown, session) if cut else []
    bill = session.bill
    return ReadOutcome(
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
class Totals:
    """Sums over results; dollars and `again` are 0 for a session whose log doesn't account for its requests.

    Attributes:
        bill: dollars for the session as it was.
        requests: how many.
        reads: big reads; `read_tokens` are theirs.
        cut: results of which something is cut; `tokens_cut` are the tokens that went, markers and notes counted.
        needed, kept: lines of all big reads that were needed later, and how many are shown.
        again: requests more.
        saved, fetching: as in `ReadOutcome`.
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
    again: int = 0
    saved: float = 0.0
    fetching: float = 0.0
    seconds: float = 0.0

    @property
    def net(self) -> float:
        """Dollars that remain of what is saved."""
        return self.saved - self.fetching


def totals_of(session: Recorded, outcomes: Sequence[ReadOutcome]) -> Totals:
    """Add a session's outcomes up, one a result, in the order of its results."""
    reads = [done for done, result in zip(outcomes, session.results, strict=True) if result.big]
    cut = [done for done in outcomes if done.cut]
    return Totals(
        bill=session.bill.total,
        requests=len(session.bill.requests),
        reads=len(reads),
        read_tokens=sum(done.tokens_in for done in reads),
        cut=len(cut),
        tokens_cut=sum(done.tokens_in - done.tokens_out for done in cut),
        needed=sum(done.needed for done in reads),
        kept=sum(done.kept for done in reads),
        again=sum(done.again for done in cut),
        saved=sum(done.saved for done in cut),
        fetching=sum(done.fetching for done in cut),
        seconds=sum(done.seconds for done in outcomes),
    )


def added(totals: Iterable[Totals]) -> Totals:
    """The sum of totals."""
    totals = list(totals)
    return Totals(**{each.name: sum(getattr(one, each.name) for one in totals) for each in fields(Totals)})
