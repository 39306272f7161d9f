"""Writes a replay as tables for a terminal and as JSON. `figures` computes what it says."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lamr_evaluation.resampling import Interval
from lamr_evaluation.tables import align

from lamr_agents.replay.figures import Group, WayFigures, figures_of, grouped
from lamr_agents.replay.outcome import Ledger, added
from lamr_agents.replay.session import Replayed

_NAME = 28  # characters of a session in a table
MOST_NAMED = 5
"""Files that are named for each reason why they weren't counted."""
GROUPS: Mapping[str, Callable[[Replayed], str]] = {
    "host": lambda session: session.host,
    "project": lambda session: session.project,
}
"""What sessions can be grouped by."""


@dataclass(frozen=True)
class Report:
    """Replayed sessions, and the files that were none.

    Attributes:
        sessions: in the order of their files.
        passed_over: why each other file wasn't counted.
    """

    sessions: tuple[Replayed, ...]
    passed_over: Mapping[Path, str] = field(default_factory=dict)

    def table(self) -> str:
        """Tables for a terminal: the sessions, the ways to cut, and groups."""
        parts = [
            _session_table(self.sessions),
            _way_table(figures_of(self.sessions)),
            *(_group_table(name, grouped(self.sessions, key)) for name, key in GROUPS.items()),
        ]
        estimated = sum(not session.accounted for session in self.sessions)
        if estimated:
            parts.append(
                f"{estimated} of {len(self.sessions)} bills are estimated, without the hosts' own prompts: their logs "
                "keep no accounts, so that shares of these are too high."
            )
        parts.append(self.said_of_others())
        return "\n\n".join(filter(None, parts))

    def said_of_others(self) -> str:
        """Why files weren't counted, and some of their names; nothing where all were."""
        said = []
        for reason, count in Counter(self.passed_over.values()).most_common():
            paths = [path for path, why in self.passed_over.items() if why == reason]
            said.append(f"{count} not counted, {reason}: {_named(paths)}")
        if broken := [session for session in self.sessions if session.broken]:
            lines = sum(session.broken for session in broken)
            said.append(f"{lines} lines not counted, no JSON: of {_named([each.log for each in broken])}")
        return "\n".join(said)

    def to_json(self) -> str:
        """Everything but the texts, as one JSON object."""
        value = {
            "total": _total(self.sessions),
            "ways": {way.name: way.as_dict() for way in figures_of(self.sessions)},
            "groups": {
                name: {group.name: _by_way(group.ledgers) for group in grouped(self.sessions, key)}
                for name, key in GROUPS.items()
            },
            "sessions": [_as_dict(session) for session in self.sessions],
            "passed_over": {str(path): why for path, why in self.passed_over.items()},
        }
        return json.dumps(value, ensure_ascii=False, indent=1)


def _named(paths: Sequence[Path]) -> str:
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return ", ".join(map(str, paths[:MOST_NAMED])) + more


def share(part: float, whole: float) -> str:
    """A percentage; a dash where there is nothing to have a share of."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _between(interval: Interval) -> str:
    if interval.low != interval.low:  # NaN
        return "-"
    return f"{100 * interval.low:.1f} to {100 * interval.high:.1f}"


_HEADINGS = (
    "session",
    "model",
    "reads",
    "cut",
    "tokens",
    "cut",
    "needed kept",
    "again",
    "bill",
    "saved",
    "net",
)


def _session_table(sessions: Sequence[Replayed]) -> str:
    with_reads = [session for session in sessions if session.ours.reads]
    others = [session for session in sessions if not session.ours.reads]
    rows: list[Sequence[str]] = [_HEADINGS]
    rows += [_row(_short(session), session.model, session.ours) for session in with_reads]
    if others:
        rows.append(_row(f"{len(others)} without a big read", "", added(each.ours for each in others)))
    rows.append(_row(f"all {len(sessions)}", "", added(each.ours for each in sessions)))
    return align(rows)


def _short(session: Replayed) -> str:
    return f"{session.project}/{session.log.stem}"[-_NAME:]


def _row(name: str, model: str, sums: Ledger) -> tuple[str, ...]:
    return (
        name,
        model[-20:],
        str(sums.reads),
        str(sums.cut),
        f"{sums.read_tokens:,}",
        share(sums.tokens_cut, sums.read_tokens),
        share(sums.kept, sums.needed),
        str(sums.again),
        f"${sums.bill:,.2f}",
        share(sums.saved, sums.bill),
        share(sums.net, sums.bill),
    )


_WAY_HEADINGS = ("way to cut", "tokens cut", "needed kept", "of cut reads", "again")
_MONEY_HEADINGS = (
    "saved",
    "read again",
    "time",
    "net",
    "95 %",
    "net, whole again",
    "waiting",
)


def _way_table(figures: Sequence[WayFigures]) -> str:
    if not figures or not figures[0].sums.reads:
        return ""
    rows: list[Sequence[str]] = [(*_WAY_HEADINGS, *_MONEY_HEADINGS)]
    for way in figures:
        sums = way.sums
        rows.append(
            (
                way.name,
                share(sums.tokens_cut, sums.read_tokens),
                share(sums.kept, sums.needed),
                share(sums.kept_cut, sums.needed_cut),
                f"{sums.again} in {sums.reads_again}",
                share(sums.saved, sums.bill),
                share(sums.fetching, sums.bill),
                share(sums.pruning + sums.control, sums.bill),
                share(sums.net, sums.bill),
                _between(way.net),
                share(sums.net_whole, sums.bill),
                f"{sums.seconds:,.0f} s",
            )
        )
    return align(rows)


def _group_table(name: str, groups: Sequence[Group]) -> str:
    """Net by group and way; empty for a single group."""
    if len(groups) < 2:
        return ""
    ways = list(groups[0].ledgers)
    rows: list[Sequence[str]] = [(f"net by {name}", "sessions", "bill", *ways)]
    for group in groups:
        bill = next(iter(group.ledgers.values())).bill
        nets = (share(group.ledgers[way].net, group.ledgers[way].bill) for way in ways)
        rows.append((group.name, str(group.sessions), f"${bill:,.2f}", *nets))
    return align(rows)


def _total(sessions: Sequence[Replayed]) -> dict[str, Any]:
    sums = added(session.ours for session in sessions)
    return {"sessions": len(sessions), **asdict(sums), "net": sums.net}


def _by_way(ledgers: Mapping[str, Ledger]) -> dict[str, Any]:
    return {name: {**asdict(ledger), "net": ledger.net} for name, ledger in ledgers.items()}


def _as_dict(session: Replayed) -> dict[str, Any]:
    return {
        "log": str(session.log),
        "session": session.name,
        "project": session.project,
        "host": session.host,
        "model": session.model,
        "accounted": session.accounted,
        "broken": session.broken,
        "ways": _by_way(session.ledgers),
        "reads": [
            {
                "path": read.path,
                "first": read.first,
                "lines": len(read.lines),
                "query": read.query,
                "edited": read.later.edited,
                "quoted": read.later.quoted,
                "reread": read.later.reread,
                "cuts": read.cuts,
                "regretted": read.regretted,
                "ways": {name: _without_lines(asdict(done)) for name, done in read.ways.items()},
            }
            for read in session.reads
        ],
    }


def _without_lines(outcome: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in outcome.items() if name != "kept_lines"}
