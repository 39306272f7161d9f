"""What happened in each session: the hooks' decisions, and what they came to by the host's own transcript.

The record of the hooks knows tokens and times. How many requests read a cut text afterwards, and what a token costs,
the transcript says; where it is gone, dollars aren't known.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from lamr_agents.errors import NoSessionError, SettingsError
from lamr_agents.hosts import HOSTS
from lamr_agents.local.sessions import Session, session_of
from lamr_agents.local.store import Decision, Store
from lamr_agents.policy import CUTTING
from lamr_agents.replay.prices import Prices
from lamr_agents.replay.recorded import Recorded, record_of

MOST_BYTES = 512 << 20
"""Of a transcript that is read."""
_BEFORE_NAMES = ("-", "_")
"""What stands between the time and the session's name in a file's name, where a time stands there."""
_AGENTS, _AGENT = "subagents", "agent-{}.jsonl"
"""Where Claude Code keeps the transcripts of sub-agents: in a folder below one of the session's name, or beside the
session's own; and how it names them."""


def read_transcripts(
    session: Session, agents: Collection[str], prices: Prices
) -> tuple[Recorded, dict[str, Recorded]] | None:
    """A session's own transcript, and those of its sub-agents by their names; None where its own can't be read.

    Args:
        session: as the hooks saw it.
        agents: the names of sub-agents that are known; others are found where the host keeps them.
        prices: of tokens.

    Raises:
        PriceError: the table has no row for a model.
    """
    own = Path(session.transcript) if session.transcript else _found(session)
    recorded = own and _read(own, prices)
    if not own or not recorded:
        return None
    below = own.with_suffix("") / _AGENTS
    places = {file.stem.removeprefix("agent-"): file for file in sorted(below.glob(_AGENT.format("*")))}
    for name in agents:
        if name and PurePath(name).name == name:  # one that leads elsewhere is none of the host's
            places.setdefault(name, own.parent / _AGENT.format(name))
    read = {name: _read(place, prices) for name, place in places.items()}
    return recorded, {name: transcript for name, transcript in read.items() if transcript}


def _found(session: Session) -> Path | None:
    """The transcript in the host's folder that is called like a session; None where there is none."""
    host = HOSTS.get(session.host)
    if host is None or host.folder is None or not host.logs or not session.name:
        return None
    try:
        files = host.folder.path().glob(host.logs)
        ends = tuple(f"{before}{session.name}" for before in _BEFORE_NAMES)
        return next((file for file in files if file.stem == session.name or file.stem.endswith(ends)), None)
    except (OSError, SettingsError):
        return None


def _read(path: Path, prices: Prices) -> Recorded | None:
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return None
        recorded = record_of(path, prices)
    except (OSError, ValueError, NoSessionError):
        return None
    return recorded if any(recorded.moments) else None  # else nothing tells what came after a cut


@dataclass(frozen=True)
class Money:
    """Dollars of a session, by list prices.

    Attributes:
        bill: what it cost, its sub-agents' requests included.
        saved: what the cut tokens would have cost.
        fetching: what reading again cost, each time with a request of its own.
        requests: how many there were.
        tokens: that these read and wrote.
        accounted: whether the transcript accounts for them; otherwise all of this is estimated.
    """

    bill: float
    saved: float
    fetching: float
    requests: int
    tokens: int
    accounted: bool


@dataclass(frozen=True)
class Happened:
    """A session.

    Attributes:
        session: as the hooks saw it.
        decisions: about its results, the oldest first.
        money: None where the transcript is gone, or can't be read.
        pruning: dollars for the time that the pruner took.
    """

    session: Session
    decisions: Sequence[Decision]
    money: Money | None
    pruning: float

    @property
    def project(self) -> str:
        """The last part of the folder that it worked in; empty where the host doesn't say."""
        return PurePath(self.session.folder.replace("\\", "/")).name

    @property
    def cuts(self) -> list[Decision]:
        """The results that were cut."""
        return [decision for decision in self.decisions if decision.reason in CUTTING]

    @property
    def seconds(self) -> float:
        """That its agents waited for lamr."""
        return sum(decision.seconds for decision in self.decisions)

    @property
    def net(self) -> float | None:
        """Dollars that remain of what was saved; None where they aren't known."""
        return None if self.money is None else self.money.saved - self.money.fetching - self.pruning


def happened(
    store: Store,
    prices: Prices,
    since: float = 0.0,
    progress: Callable[[int, int], None] | None = None,
) -> list[Happened]:
    """The sessions of a record, the oldest first.

    Args:
        store: the record.
        prices: of tokens, and of the pruner's time.
        since: sessions whose latest call is older are left out; in seconds since 1970.
        progress: is told how many sessions are counted, and of how many, after each.

    Raises:
        StoreError: the record can't be read.
        PriceError: the table has no row for a model.
    """
    by_session: dict[str, list[Decision]] = {}
    for decision in store.decisions():
        by_session.setdefault(session_of(decision.session), []).append(decision)
    wanted = [each for each in _all(store.all_sessions(), by_session) if each.last >= since]
    found = []
    for session in wanted:
        decisions = by_session.get(session.name, [])
        pruning = sum(decision.seconds for decision in decisions) / 3600 * prices.hour
        found.append(Happened(session, decisions, _money(session, decisions, prices), pruning))
        if progress:
            progress(len(found), len(wanted))
    return found


def _all(known: Iterable[Session], by_session: Mapping[str, Sequence[Decision]]) -> list[Session]:
    """The sessions that are known, and those of which only decisions are: records of earlier versions."""
    sessions = {session.name: session for session in known}
    for name, decisions in by_session.items():
        first, last = decisions[0], decisions[-1]
        sessions.setdefault(name, Session(name, first.host, "", "", first.at, last.at, None))
    return sorted(sessions.values(), key=lambda session: session.first)


def _money(session: Session, decisions: Sequence[Decision], prices: Prices) -> Money | None:
    transcripts = read_transcripts(session, set(map(_agent, decisions)), prices)
    if transcripts is None:
        return None
    own, agents = transcripts
    bills = [own.bill, *(transcript.bill for transcript in agents.values())]
    requests = [request for bill in bills for request in bill.requests]
    saved = fetching = 0.0
    for place, decision in enumerate(decisions):
        transcript = agents.get(_agent(decision), own)
        cut = decision.tokens_in - decision.tokens_out
        if decision.reason in CUTTING:
            saved += transcript.bill.of_text(cut, _record_at(transcript, decision.at))
            fetching += sum(_looks(decision, decisions[place + 1 :], transcript))
    return Money(
        bill=sum(bill.total for bill in bills),
        saved=saved,
        fetching=fetching,
        requests=len(requests),
        tokens=sum(request.context + request.output for request in requests),
        accounted=all(bill.accounted for bill in bills),
    )


def _looks(cut: Decision, later: Iterable[Decision], transcript: Recorded) -> Iterator[float]:
    """Dollars for each time that the agent came back for what a cut had hidden."""
    looks = cut.ranges + cut.wholes
    same = (each for each in later if (each.session, each.path) == (cut.session, cut.path))
    for _, look in zip(range(looks), same, strict=False):
        yield transcript.bill.of_fetching(round(cut.tokens_again / looks), _record_at(transcript, look.at))


def _agent(decision: Decision) -> str:
    return decision.session.partition("/")[2]


def _record_at(transcript: Recorded, moment: float) -> int:
    """The last record that was written before a moment; -1 where there is none."""
    return bisect.bisect_right(transcript.moments, moment) - 1
