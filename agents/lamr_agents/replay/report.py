"""Writes a replay as a table for a terminal and as JSON.

The interval of the net share draws whole sessions, with the logs of their sub-agents.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lamr_base.resampling import Interval, ratio
from lamr_base.tables import align, without_nan

from lamr_agents.replay.outcome import Totals, added
from lamr_agents.replay.session import Replayed

_NAME = 28  # characters of a session in a table
MOST_NAMED = 5
"""Files that are named for each reason why they weren't counted."""
_HEADINGS = (
    *("session", "model", "reads", "cut", "tokens", "cut", "needed kept"),
    *("again", "bill", "saved", "read again", "net"),
)


@dataclass(frozen=True)
class Report:
    """Replayed sessions, and the files that were none.

    Attributes:
        sessions: in the order of their files.
        passed_over: why each other file wasn't counted.
    """

    sessions: tuple[Replayed, ...]
    passed_over: Mapping[Path, str] = field(default_factory=dict)

    @property
    def totals(self) -> Totals:
        """What the cuts of all sessions come to."""
        return added(session.totals for session in self.sessions)

    @property
    def net(self) -> Interval:
        """The share of the bill that remains, over the sessions whose logs account for requests."""
        told = [session for session in self.sessions if session.accounted]
        nets, bills = ([getattr(each.totals, name) for each in told] for name in ("net", "bill"))
        return ratio(nets, bills, [session.name for session in told])

    def table(self) -> str:
        """The sessions, what they come to, and what isn't counted."""
        return "\n\n".join(
            filter(None, [_session_table(self.sessions), self.summary(), self.said_of_others()])
        )

    def summary(self) -> str:
        """The net share with its interval, the agents' waiting, and for how many sessions dollars can't be told."""
        net, said = self.net, list[str]()
        if not math.isnan(net.value):
            interval = "" if math.isnan(net.low) else f" (95 %: {100 * net.low:.1f} to {100 * net.high:.1f})"
            said.append(f"net {100 * net.value:.1f} % of the bill{interval}")
        said.append(f"{self.totals.seconds:,.0f} s waiting for the pruner")
        unknown = sum(not session.accounted for session in self.sessions)
        if unknown:
            said.append(
                f"{unknown} of {len(self.sessions)} logs don't say what their requests read: what is cut and kept of "
                "them is counted, but the net can't be told"
            )
        return "\n".join(said)

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
        total = {"sessions": len(self.sessions), **_with_net(self.totals), "net_share": asdict(self.net)}
        value = {
            "total": total,
            "sessions": [_as_dict(session) for session in self.sessions],
            "passed_over": {str(path): why for path, why in self.passed_over.items()},
        }
        return json.dumps(without_nan(value), ensure_ascii=False, indent=1)


def _named(paths: Sequence[Path]) -> str:
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return ", ".join(map(str, paths[:MOST_NAMED])) + more


def share(part: float, whole: float) -> str:
    """A percentage; a dash where there is nothing to have a share of."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _session_table(sessions: Sequence[Replayed]) -> str:
    with_reads = [session for session in sessions if session.totals.reads]
    others = [session for session in sessions if not session.totals.reads]
    rows: list[Sequence[str]] = [_HEADINGS]
    rows += [_row(_short(session), session.model, session.totals) for session in with_reads]
    if others:
        rows.append(_row(f"{len(others)} without a big read", "", added(each.totals for each in others)))
    rows.append(_row(f"all {len(sessions)}", "", added(each.totals for each in sessions)))
    return align(rows)


def _short(session: Replayed) -> str:
    return f"{session.project}/{session.log.stem}"[-_NAME:]


def _row(name: str, model: str, totals: Totals) -> tuple[str, ...]:
    return (
        name,
        model[-20:],
        str(totals.reads),
        str(totals.cut),
        f"{totals.read_tokens:,}",
        share(totals.tokens_cut, totals.read_tokens),
        share(totals.kept, totals.needed),
        str(totals.again) if totals.requests else "-",
        f"${totals.bill:,.2f}" if totals.requests else "-",
        *(share(part, totals.bill) for part in (totals.saved, totals.fetching, totals.net)),
    )


def _with_net(totals: Totals) -> dict[str, Any]:
    return {**asdict(totals), "net": totals.net}


def _as_dict(session: Replayed) -> dict[str, Any]:
    return {
        "log": str(session.log),
        "session": session.name,
        "project": session.project,
        "host": session.host,
        "model": session.model,
        "accounted": session.accounted,
        "broken": session.broken,
        "totals": _with_net(session.totals),
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
                **{name: value for name, value in asdict(read.outcome).items() if name != "kept_lines"},
            }
            for read in session.reads
        ],
    }
