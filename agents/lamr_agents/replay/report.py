"""Writes a replay as a table for a terminal, as JSON, and as an HTML page on which each read can be opened.

The interval of the net share draws whole sessions, with the logs of their sub-agents."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from html import escape
from pathlib import Path
from typing import Any

from lamr_base.errors import visible
from lamr_base.records import dataclass
from lamr_base.resampling import Interval, ratio
from lamr_base.tables import align, without_nan

from lamr_agents.replay.session import Replayed, ReplayedRead, Totals, added

_NAME = 28  # characters of a session in a table
MOST_NAMED = 5  # files that are named for each reason why they weren't counted
_HEADINGS = (
    *("session", "model", "reads", "cut", "tokens", "cut", "needed kept"),
    *("again", "bill", "saved", "read again", "net"),
)
_PAGE = Path(__file__).parents[1] / "data/replay.html"  # it runs nothing and loads nothing
_KINDS = {(True, True): "needed", (True, False): "", (False, True): "regret", (False, False): "cut"}
"""By whether a line is kept, and whether it was needed."""


@dataclass(frozen=True)
class Report:
    """Replayed sessions, and the files that were none."""

    sessions: tuple[Replayed, ...]  # in the order of their files
    passed_over: Mapping[Path, str] = field(default_factory=dict)  # why each other file wasn't counted

    @property
    def totals(self) -> Totals:
        return added(session.totals for session in self.sessions)

    @property
    def net(self) -> Interval:
        """The share of the bill that remains, over the sessions whose logs account for requests."""
        told = [session for session in self.sessions if session.accounted]
        nets, bills = ([getattr(each.totals, name) for each in told] for name in ("net", "bill"))
        return ratio(nets, bills, [session.name for session in told])

    def table(self) -> str:
        """The sessions, what they come to, and what isn't counted."""
        parts = (_session_table(self.sessions), self.summary(), self.said_of_others())
        return "\n\n".join(filter(None, parts))

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
        """Reasons why files weren't counted, with some names; empty if all were."""
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
    rows += [_row(f"{each.project}/{each.log.stem}"[-_NAME:], each.model, each.totals) for each in with_reads]
    if others:
        rows.append(_row(f"{len(others)} without a big read", "", added(each.totals for each in others)))
    rows.append(_row(f"all {len(sessions)}", "", added(each.totals for each in sessions)))
    return align(rows)


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
    about = ("project", "host", "model", "accounted", "broken")
    return {
        "log": str(session.log),
        "session": session.name,
        **{name: getattr(session, name) for name in about},
        "totals": _with_net(session.totals),
        "reads": [_read_as_dict(read) for read in session.reads],
    }


def _read_as_dict(read: ReplayedRead) -> dict[str, Any]:
    return {
        **{"path": read.path, "first": read.first, "lines": len(read.lines), "query": read.query},
        **{name: getattr(read.later, name) for name in ("edited", "quoted", "reread")},
        **{"cuts": read.cuts, "regretted": read.regretted},
        **{name: value for name, value in asdict(read.outcome).items() if name != "kept_lines"},
    }


def render_page(report: Report) -> str:
    parts = ["<h1>lamr replay</h1>\n", f"<pre>{_shown(report.table())}</pre>\n"]
    parts.append(
        "<p class=quiet>Grey lines would have been cut. Red ones were cut and needed later: the session edited or "
        "quoted them, or read them again by range. Green marks are lines that were needed and kept.</p>\n"
    )
    parts += [_session_part(session) for session in report.sessions if session.reads]
    return _PAGE.read_text(encoding="utf-8").replace("@BODY@", "".join(parts))


def _shown(text: str) -> str:
    """A text as HTML, its control characters but line ends as pictures."""
    return "\n".join(escape(visible(line, lines=True)) for line in text.split("\n"))


def _session_part(session: Replayed) -> str:
    totals = session.totals
    money = f"{totals.requests} requests · ${totals.bill:,.2f} · net {share(totals.net, totals.bill)}"
    bill = money if session.accounted else "bill unknown"
    facts = " · ".join((session.project, session.host, session.model or "model unknown", bill))
    reads = "".join(map(_read_part, session.reads))
    return f"<h2>{_shown(str(session.log))}</h2>\n<div class=quiet>{_shown(facts)}</div>\n{reads}"


def _read_part(read: ReplayedRead) -> str:
    outcome, regretted = read.outcome, len(read.regretted)
    cut = share(outcome.tokens_in - outcome.tokens_out, outcome.tokens_in) if outcome.cut else "nothing"
    regret = f" · <span class=bad>{regretted} regretted</span>" if regretted else ""
    money = f" · saved ${outcome.saved:.4f}, read again ${outcome.fetching:.4f}" if outcome.saved else ""
    return (
        f"<details><summary><b>{_shown(read.path)}</b> · {_shown(outcome.reason)} · {len(read.lines)} lines, "
        f"{cut} cut{regret}{money}</summary>\n<p class=quiet>{_shown(read.query)}</p>\n"
        f"<ol>\n{_lines(read)}</ol></details>\n"
    )


def _lines(read: ReplayedRead) -> str:
    kept, needed = {*read.outcome.kept_lines}, {*read.later.lines}
    return "".join(
        f'<li class="{_KINDS[number in kept, number in needed]}" value="{read.first + number - 1}">'
        f"<code>{_shown(line) or ' '}</code></li>\n"
        for number, line in enumerate(read.lines, 1)
    )
