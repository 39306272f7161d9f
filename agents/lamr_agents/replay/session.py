"""Replays one log: each result of a tool is cut as hooks would have cut it, and counted by what came later.

*Regret* are lines that were cut and that the session later edited, quoted, or read again by range. Costs are counted as
they would arise: where a later event needs lines that were cut and that nothing has shown since, the agent makes one
more request just before it, which fetches the cuts that hold all lines that one request needs. From then on these are
in the context, too. Nothing is fetched after the context was compacted, since the text would be gone
anyway."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from pathlib import Path

from lamr_base.choices import EffortName
from lamr_base.records import dataclass

from lamr_agents.hosts import HOSTS
from lamr_agents.policy import DEFAULT, PROFILES, Policy
from lamr_agents.replay.recorded import Recorded, Result
from lamr_agents.sessions import LaterUse
from lamr_agents.sessions.notices import gaps
from lamr_agents.sessions.shown import shown_lines
from lamr_agents.skim import Prunes, skim, untouched
from lamr_agents.skimmed import Skim, hidden
from lamr_agents.thin import SMALL

OTHER_TOOL = "no read of a file"
_NEEDS = ("edited", "quoted")


@dataclass(frozen=True)
class ReadOutcome:
    """The outcome of a cut for one result."""

    reason: str  # `pruned`, `outlined`, or why the result passes
    cut: bool  # whether anything is hidden or shorter
    tokens_in: int  # before and after, markers and notes included
    tokens_out: int
    kept_lines: tuple[int, ...]  # 1-based numbers of the lines that are shown
    needed: int  # lines of a big read that the session needed later
    kept: int  # how many of these are shown
    again: int  # requests more, in which the agent fetches what was cut
    saved: float  # dollars that the cut saves
    fetching: float  # dollars for fetching again
    seconds: float  # the pruner's time


def outcome_of(result: Result, shown: Skim, session: Recorded) -> ReadOutcome:
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
            holding = (range(first, last + 1) for first, last in cuts)
            held = {number for cut in holding if not missing.isdisjoint(cut) for number in cut}
            lines[asking] = lines.get(asking, 0) + len(held - seen)
            seen |= held | missing
    a_line = shown.tokens_in / max(1, shown.lines)
    records = [request.record for request in session.bill.requests]
    return [(round(count * a_line), records[asking] - 1) for asking, count in lines.items()]


def _request_of(session: Recorded, place: int) -> int:
    """The place of the request that led to an event; -1 where none did.

    Most hosts account for a request where its answer begins; Codex does so where it ends."""
    heard = (event.record for event in reversed(session.events[:place]) if event.kind in ("result", "user"))
    before, at = next(heard, -1), session.events[place].record
    records = [request.record for request in session.bill.requests]
    since = [n for n, record in enumerate(records) if before < record <= at]
    return since[-1] if since else next((n for n, record in enumerate(records) if record > at), -1)


@dataclass(frozen=True)
class Totals:
    """Sums over results; dollars and `again` are 0 for a session whose log doesn't account for its requests."""

    bill: float = 0.0  # dollars for the session as it was
    requests: int = 0  # how many
    reads: int = 0  # big reads
    read_tokens: int = 0  # theirs
    cut: int = 0  # results of which something is cut
    tokens_cut: int = 0  # tokens removed, markers and notes counted
    needed: int = 0  # lines of all big reads that were needed later
    kept: int = 0  # how many of these are shown
    again: int = 0  # requests more
    saved: float = 0.0  # dollars; see `ReadOutcome`
    fetching: float = 0.0
    seconds: float = 0.0  # time that agents waited for the pruner

    @property
    def net(self) -> float:
        return self.saved - self.fetching


def totals_of(session: Recorded, outcomes: Sequence[ReadOutcome]) -> Totals:
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
    totals = list(totals)
    return Totals(**{each.name: sum(getattr(one, each.name) for one in totals) for each in fields(Totals)})


@dataclass(frozen=True)
class ReplayedRead:
    """One big read."""

    path: str  # the file's path
    lines: tuple[str, ...]  # what it showed
    first: int  # the number of the first line
    query: str  # what it was cut for
    later: LaterUse  # 1-based lines that the session needed later
    outcome: ReadOutcome  # what becomes of it

    @property
    def regretted(self) -> tuple[int, ...]:
        kept = self.outcome.kept_lines
        return tuple(sorted({*self.later.lines} - {*kept})) if self.outcome.cut else ()

    @property
    def cuts(self) -> list[tuple[int, int]]:
        return hidden(self.outcome.kept_lines, len(self.lines)) if self.outcome.cut else []


@dataclass(frozen=True)
class Replayed:
    """One session."""

    log: Path  # the file, or a conversation's folder
    name: str  # the session's; logs of its sub-agents share it
    project: str  # the project's name
    host: str  # the host that wrote the log
    model: str  # the model of most requests; empty where the log doesn't say
    broken: int  # lines of the log that can't be read
    totals: Totals  # what the cuts come to
    reads: tuple[ReplayedRead, ...]  # the big reads

    @property
    def accounted(self) -> bool:
        """Whether the log says what its requests read, so that dollars can be told."""
        return self.totals.requests > 0


def replay(session: Recorded, show: Callable[[Result], Skim]) -> Replayed:
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
            ReplayedRead(
                path=result.big.read.path,
                lines=result.big.shown.lines,
                first=result.big.shown.first or result.big.read.first or 1,
                query=result.intent.query,
                later=result.later,
                outcome=outcome,
            )
            for result, outcome in zip(session.results, outcomes, strict=True)
            if result.big
        ),
    )


def shown_by_hooks(
    session: Recorded, pruner: Prunes, policy: Policy | None = None, effort: EffortName = "instant"
) -> Callable[[Result], Skim]:
    """Shows results as hooks would have, for `replay`; it remembers what it showed before."""
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
