"""One HTML page of a replay: each read can be opened, with what was cut in grey and what was regretted in red.

The page is self-contained; it runs no script and loads nothing, and its policy forbids both. This module knows
HTML and measures nothing.
"""

from __future__ import annotations

from html import escape

from lamr_postprocess.view import visible

from lamr_agents.replay.report import Report, share, total
from lamr_agents.replay.session import Replayed, ReplayedRead

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>lamr replay</title>
<style>
:root { color-scheme:light dark; --ink:#1c2128; --paper:#fff; --quiet:#68717d; --line:#dde2e8; --cut:#8c959f;
  --regret:#cf222e; --needed:#0f8a5f }
@media (prefers-color-scheme: dark) { :root { --ink:#e3e8ef; --paper:#12151a; --quiet:#8d96a3; --line:#2d333c;
  --cut:#6b7480; --regret:#ff7b72; --needed:#43c992 } }
body { margin:0 auto; max-width:110ch; padding:20px 24px 30vh; color:var(--ink); background:var(--paper);
  font:14px/1.5 system-ui,"Segoe UI",sans-serif }
h1 { font-size:19px } h2 { font-size:15px; margin:28px 0 6px }
p, .facts { color:var(--quiet) } pre { font:13px/1.5 ui-monospace,Menlo,Consolas,monospace; overflow-x:auto }
details { border-top:1px solid var(--line); padding:6px 0 } summary { cursor:pointer }
summary b { font-weight:600 } .bad { color:var(--regret) }
ol { list-style:none; padding:0; tab-size:4; font:12.5px/1.5 ui-monospace,Menlo,Consolas,monospace }
li { display:grid; grid-template-columns:6ch minmax(0,1fr); gap:1.5ch; border-left:4px solid transparent }
li::before { content:attr(value); text-align:right; color:var(--quiet) }
code { white-space:pre-wrap; overflow-wrap:anywhere; font:inherit }
.cut code { color:var(--cut) } .cut { border-color:var(--line) }
.needed { border-color:var(--needed) }
.regret { border-color:var(--regret) } .regret code { color:var(--regret); font-weight:600 }
</style>
</head>
<body>
"""


def render_page(report: Report) -> str:
    """The page of a report."""
    parts = [_HEAD, "<h1>lamr replay</h1>\n", f"<pre>{escape(visible_lines(report.table()))}</pre>\n"]
    parts.append(
        "<p>Grey lines would have been cut. Red ones were cut and needed later: the session edited or quoted them, or "
        "read them again by range. Green marks are lines that were needed and kept.</p>\n"
    )
    parts += [_session(session) for session in report.sessions]
    return "".join([*parts, "</body>\n</html>\n"])


def visible_lines(text: str) -> str:
    """The text with control characters shown, line ends apart."""
    return "\n".join(map(visible, text.split("\n")))


def _session(session: Replayed) -> str:
    sums = total([session])
    facts = (
        f"{session.host} · {session.model or 'model unknown'} · {session.requests} requests · ${session.bill:,.2f}"
        f"{'' if session.accounted else ' (estimated)'} · net {share(sums.net, sums.bill)}"
    )
    reads = "".join(map(_read, session.reads))
    return f"<h2>{_shown(str(session.log))}</h2>\n<div class=facts>{_shown(facts)}</div>\n{reads}"


def _read(read: ReplayedRead) -> str:
    skim, regretted = read.skim, len(read.regretted)
    cut = share(skim.tokens_in - skim.tokens_out, skim.tokens_in) if skim.cut else "nothing"
    regret = f" · <span class=bad>{regretted} regretted</span>" if regretted else ""
    money = f" · saved ${read.saved:.4f}, fetching again ${read.fetching:.4f}" if skim.cut else ""
    return (
        f"<details><summary><b>{_shown(read.path)}</b> · {_shown(skim.reason)} · {len(read.lines)} lines, "
        f"{cut} cut{regret}{money}</summary>\n<p>{_shown(read.query)}</p>\n<ol>\n{_lines(read)}</ol></details>\n"
    )


def _lines(read: ReplayedRead) -> str:
    kept, needed = {*read.skim.kept_lines}, {*read.later.lines}
    rows = []
    for number, line in enumerate(read.lines, 1):
        kind = _KINDS[number in kept, number in needed]
        rows.append(
            f'<li class="{kind}" value="{read.first + number - 1}"><code>{_shown(line) or " "}</code></li>\n'
        )
    return "".join(rows)


_KINDS = {(True, True): "needed", (True, False): "", (False, True): "regret", (False, False): "cut"}
"""By whether a line is kept, and whether it was needed."""


def _shown(text: str) -> str:
    return escape(visible(text))
