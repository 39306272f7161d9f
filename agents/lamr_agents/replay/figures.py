"""The figures of a replay: what each way comes to over sessions, with intervals, by group.

Intervals draw whole sessions, with the logs of their sub-agents. All ways are counted on the same sessions, so that the
difference of two is drawn in pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lamr_evaluation.resampling import Interval, ratio

from lamr_agents.replay.outcome import Ledger, added
from lamr_agents.replay.session import Replayed


@dataclass(frozen=True)
class WayFigures:
    """What a way comes to.

    Attributes:
        name: the way's.
        sums: over all sessions.
        net: share of the whole bill that remains, with its interval.
        kept: share of the needed lines of all big reads that stay.
        ahead: `net` less that of the first way, drawn in pairs.
    """

    name: str
    sums: Ledger
    net: Interval
    kept: Interval
    ahead: Interval

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        figures = {name: asdict(getattr(self, name)) for name in ("net", "kept", "ahead")}
        return {
            **asdict(self.sums),
            "net": self.sums.net,
            "net_whole": self.sums.net_whole,
            "shares": without_nan(figures),
        }


def figures_of(sessions: Sequence[Replayed]) -> list[WayFigures]:
    """The figures of each way, in the order in which they were compared."""
    if not sessions:
        return []
    names = list(sessions[0].ledgers)
    own = [session.ours.net for session in sessions]
    bills = [session.ours.bill for session in sessions]
    clusters = [session.name for session in sessions]
    figures = []
    for name in names:
        ledgers = [session.ledgers[name] for session in sessions]
        nets = [ledger.net for ledger in ledgers]
        figures.append(
            WayFigures(
                name=name,
                sums=added(ledgers),
                net=ratio(nets, bills, clusters),
                kept=ratio([led.kept for led in ledgers], [led.needed for led in ledgers], clusters),
                ahead=ratio([net - base for net, base in zip(nets, own, strict=True)], bills, clusters),
            )
        )
    return figures


@dataclass(frozen=True)
class Group:
    """Sessions that share something.

    Attributes:
        name: what they share.
        sessions: how many logs.
        ledgers: what each way comes to.
    """

    name: str
    sessions: int
    ledgers: dict[str, Ledger]


def grouped(sessions: Iterable[Replayed], key: Callable[[Replayed], str]) -> list[Group]:
    """Sessions by what a key gives, the dearest group first."""
    groups: dict[str, list[Replayed]] = {}
    for session in sessions:
        groups.setdefault(key(session), []).append(session)
    made = [
        Group(name, len(each), {way: added(one.ledgers[way] for one in each) for way in each[0].ledgers})
        for name, each in groups.items()
    ]
    return sorted(made, key=lambda group: -next(iter(group.ledgers.values())).bill)


def without_nan(value: Any) -> Any:
    """A value that JSON can hold."""
    if isinstance(value, dict):
        return {key: without_nan(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(each) for each in value]
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124
