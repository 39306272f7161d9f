"""One HTML page of a replay: each read can be opened, with what was cut in grey and what was regretted in red.

The frame of the page is `lamr_postprocess.static_page`'s. This module measures nothing.
"""

from __future__ import annotations

from lamr_postprocess.static_page import shown, shown_lines, static_page

from lamr_agents.replay.report import Report, share
from lamr_agents.replay.session import Replayed, ReplayedRead

_STYLE = """summary b { font-weight:600 } .bad { color:var(--red) }
.cut code { color:var(--cut) } .cut { border-color:var(--line) }
.needed { border-color:var(--green) }
.regret { border-color:var(--red) } .regret code { color:var(--red); font-weight:600 }
"""


def render_page(report: Report) -> str:
    """The page of a report."""
    parts = ["<h1>lamr replay</h1>\n", f"<pre>{shown_lines(report.table())}</pre>\n"]
    parts.append(
        "<p class=quiet>Grey lines would have been cut. Red ones were cut and needed later: the session edited or "
        "quoted them, or read them again by range. Green marks are lines that were needed and kept.</p>\n"
    )
    parts += [_session(session) for session in report.sessions if session.reads]
    return static_page("lamr replay", _STYLE, "".join(parts))


def _session(session: Replayed) -> str:
    totals = session.totals
    money = f"{totals.requests} requests · ${totals.bill:,.2f} · net {share(totals.net, totals.bill)}"
    facts = " · ".join(
        (
            session.project,
            session.host,
            session.model or "model unknown",
            money if session.accounted else "bill unknown",
        )
    )
    reads = "".join(map(_read, session.reads))
    return f"<h2>{shown(str(session.log))}</h2>\n<div class=quiet>{shown(facts)}</div>\n{reads}"


def _read(read: ReplayedRead) -> str:
    outcome, regretted = read.outcome, len(read.regretted)
    cut = share(outcome.tokens_in - outcome.tokens_out, outcome.tokens_in) if outcome.cut else "nothing"
    regret = f" · <span class=bad>{regretted} regretted</span>" if regretted else ""
    money = f" · saved ${outcome.saved:.4f}, read again ${outcome.fetching:.4f}" if outcome.saved else ""
    return (
        f"<details><summary><b>{shown(read.path)}</b> · {shown(outcome.reason)} · {len(read.lines)} lines, "
        f"{cut} cut{regret}{money}</summary>\n<p class=quiet>{shown(read.query)}</p>\n"
        f"<ol>\n{_lines(read)}</ol></details>\n"
    )


def _lines(read: ReplayedRead) -> str:
    kept, needed = {*read.outcome.kept_lines}, {*read.later.lines}
    rows = []
    for number, line in enumerate(read.lines, 1):
        kind = _KINDS[number in kept, number in needed]
        rows.append(
            f'<li class="{kind}" value="{read.first + number - 1}"><code>{shown(line) or " "}</code></li>\n'
        )
    return "".join(rows)


_KINDS = {(True, True): "needed", (True, False): "", (False, True): "regret", (False, False): "cut"}
"""By whether a line is kept, and whether it was needed."""
