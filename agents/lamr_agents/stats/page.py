"""One HTML page of what happened: a curve of dollars over days, bars of tokens that were cut, and the tables.

The frame of the page is `lamr_postprocess.static_page`'s. This module measures nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from lamr_postprocess.static_page import shown, shown_lines, static_page

from lamr_agents.stats.report import Stats, Sums, sums_of

_STYLE = """.figures { display:flex; flex-wrap:wrap; gap:12px 36px; margin:18px 0 } .figures b { display:block;
  font-size:24px; font-weight:600; font-variant-numeric:tabular-nums } svg { width:100%; height:auto; margin:8px 0 }
svg text { fill:var(--quiet); font-size:11px } .axis { stroke:var(--line); stroke-width:1 }
.saved, .net { fill:none; stroke-width:2 } .saved { stroke:var(--cut) } .net { stroke:var(--green) }
.dot { fill:var(--green) } .bar { fill:var(--line) } .key-net { color:var(--green) } .key-saved { color:var(--cut) }
"""
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 900, 260, 64, 16, 16, 28
_MOST_LABELS = 8


def render_page(stats: Stats) -> str:
    """The page of what happened."""
    sums = sums_of(stats.sessions)
    parts = ["<h1>lamr agents stats</h1>\n", _figures(sums), _curve(stats.groups("day"))]
    if both := stats.compared_table():
        parts += [
            "<h2>Sessions with cuts, and sessions left alone</h2>\n",
            f"<pre>{shown_lines(both)}</pre>\n",
        ]
    parts += ["<h2>By day, host and project</h2>\n", f"<pre>{shown_lines(stats.group_tables())}</pre>\n"]
    parts += [f"<p class=quiet>{shown(remark)}</p>\n" for remark in stats.remarks()]
    return static_page("lamr agents stats", _STYLE, "".join(parts))


def _figures(sums: Sums) -> str:
    share = f" ({100 * sums.net / sums.bill:.1f} % of ${sums.bill:,.2f})" if sums.bill else ""
    looks = f"{sums.by_range + sums.by_whole} of {sums.looked}"
    figures = {
        f"saved net{share}": f"${sums.net:,.2f}" if sums.known else "-",
        f"tokens cut, in {sums.cuts:,} of {sums.results:,} results": f"{sums.tokens_cut:,}",
        f"cuts that agents came back for, {sums.by_range} by a range": looks,
        f"that agents waited, in {sums.sessions:,} sessions": f"{sums.seconds:,.0f} s",
    }
    cells = "".join(f"<div><b>{shown(value)}</b>{shown(name)}</div>\n" for name, value in figures.items())
    return f"<div class=figures>\n{cells}</div>\n"


def _curve(days: dict[str, Sums]) -> str:
    """Dollars saved and net, added up over the days, above bars of the tokens that were cut; empty without any."""
    names, sums = list(days), list(days.values())
    if not any(each.known for each in sums):
        return ""
    saved = list(accumulate(each.saved for each in sums))
    net = list(accumulate(each.net for each in sums))
    low, high = min(0.0, *saved, *net), max(1e-9, *saved, *net)
    most = max(1, *(each.tokens_cut for each in sums))

    def x(place: int) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (place + 0.5) / len(names)

    def y(dollars: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - dollars) / (high - low)

    floor, room = _HEIGHT - _BOTTOM, (_HEIGHT - _TOP - _BOTTOM) / 3
    width = min(40.0, (_WIDTH - _LEFT - _RIGHT) / len(names) * 0.6)
    bars = "".join(
        f'<rect class=bar x="{x(n) - width / 2:.1f}" y="{floor - room * each.tokens_cut / most:.1f}" '
        f'width="{width:.1f}" height="{room * each.tokens_cut / most:.1f}"><title>{shown(names[n])}: '
        f"{each.tokens_cut:,} tokens cut</title></rect>\n"
        for n, each in enumerate(sums)
    )
    lines = "".join(
        f'<polyline class={kind} points="{" ".join(f"{x(n):.1f},{y(v):.1f}" for n, v in enumerate(values))}"/>\n'
        for kind, values in (("saved", saved), ("net", net))
    )
    dots = "".join(
        f'<circle class=dot cx="{x(n):.1f}" cy="{y(v):.1f}" r="3"><title>{shown(names[n])}: ${v:,.2f} net</title>'
        "</circle>\n"
        for n, v in enumerate(net)
    )
    ticks = "".join(_tick(y(dollars), dollars) for dollars in _ticks(low, high))
    step = -(-len(names) // _MOST_LABELS)
    labels = "".join(
        f'<text x="{x(n):.1f}" y="{_HEIGHT - 8}" text-anchor="middle">{shown(names[n])}</text>\n'
        for n in range(0, len(names), step)
    )
    return (
        "<h2>Dollars over the days</h2>\n<div class=quiet>Added up: <span class=key-net>net</span>, and "
        "<span class=key-saved>saved before what was read again and lamr's own time</span>. Bars: tokens cut.</div>\n"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="dollars saved over days">\n'
        f"{ticks}{bars}{lines}{dots}{labels}</svg>\n"
    )


def _ticks(low: float, high: float) -> Sequence[float]:
    return [0.0, high / 2, high] if low >= 0 else [low, 0.0, high]


def _tick(y: float, dollars: float) -> str:
    return (
        f'<line class=axis x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">${dollars:,.2f}</text>\n'
    )
