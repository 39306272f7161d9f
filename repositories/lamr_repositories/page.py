"""One HTML page of a pack, to look at: what was kept of each file and why, what was cut, and how files scored.

The page is self-contained; it runs no script and loads nothing, and its policy forbids both. This module knows
results and HTML; it measures nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from lamr_postprocess import Cut, split_lines
from lamr_postprocess.view import visible

from lamr_repositories.result import PackedFile, PackResult

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>lamr pack</title>
<style>
:root { color-scheme:light dark; --text:#1b1f24; --back:#ffffff; --faint:#66707b; --rule:#d9dee4; --own:#c2570c;
  --repair:#0f8a5f }
@media (prefers-color-scheme:dark) {
  :root { --text:#e4e9f0; --back:#13161b; --faint:#8f98a5; --rule:#2e343d; --own:#f0973c; --repair:#43c992 } }
body { max-width:120ch; margin:0 auto; padding:1.5em 2em 20vh; background:var(--back); color:var(--text);
  font:15px/1.5 system-ui, sans-serif }
h1 { font-size:1.3em } .faint { color:var(--faint) } code, pre { font:13px/1.5 ui-monospace, Menlo, monospace }
pre { white-space:pre-wrap } table { border-spacing:1.2em 0; margin-left:-1.2em } td.number { text-align:right }
details { border-top:1px solid var(--rule); padding:.5em 0 } summary { cursor:pointer }
ol { list-style:none; padding:0; margin:.5em 0; tab-size:4 }
li { display:grid; grid-template-columns:7ch 1fr; gap:1.5ch; border-left:4px solid transparent }
li::before { content:attr(value); text-align:right; color:var(--faint) }
li code { white-space:pre-wrap; overflow-wrap:anywhere }
li.own { border-color:var(--own) } li.repair { border-color:var(--repair) }
li.cut { color:var(--faint) } li.cut::before { content:"⋯" }
</style>
</head>
<body>
"""


def render_page(result: PackResult) -> str:
    """Return the page of a pack: its summary, a table of its files by score, each file's lines, the files outlined."""
    best = sorted(result.files, key=lambda each: (-each.score, each.path))
    place = {each.path: number for number, each in enumerate(result.files)}
    rows = "".join(
        f'<tr><td class=number>{each.score:.2f}<td><a href="#file-{place[each.path]}">{_shown(each.path)}</a>'
        f"<td class=number>{len(each.kept_lines):,} of {each.lines:,} lines<td class=number>{each.tokens:,} tokens\n"
        for each in best
    )
    outlined = "".join(f"<li><code>{_shown(path)}</code></li>\n" for path in result.outlined)
    return "".join(
        [
            _HEAD,
            f"<h1>{_lines(result.query)}</h1>\n<pre class=faint>{_lines(result.summary())}</pre>\n",
            "<p class=faint>Orange lines won their place by score; green ones were brought by repair.</p>\n",
            f"<table>\n{rows}</table>\n",
            *(_file(each, place[each.path]) for each in result.files),
            f"<details><summary>{len(result.outlined):,} files outlined</summary>\n<ol>\n{outlined}</ol></details>\n"
            if result.outlined
            else "",
            "</body>\n</html>\n",
        ]
    )


def _file(each: PackedFile, place: int) -> str:
    lines = "".join(_rows(each))
    return (
        f'<details open id="file-{place}"><summary><b>{_shown(each.path)}</b> <span class=faint>· {each.score:.2f} · '
        f"{len(each.kept_lines):,} of {each.lines:,} lines</span></summary>\n<ol>\n{lines}</ol></details>\n"
    )


def _rows(each: PackedFile) -> Iterator[str]:
    """Yield the items of a file's list: a kept line or a cut each, as the lines of its text are."""
    found: list[int | Cut] = sorted([*each.kept_lines, *each.cuts], key=_line_of)
    shown = split_lines(each.text)
    numbered = all(shown[at].startswith(f"{row}\t") for at, row in enumerate(found) if isinstance(row, int))
    for row, line in zip(found, shown, strict=True):
        if isinstance(row, Cut):
            words = f"lines {row.start:,} to {row.end:,} pruned" if row.end > row.start else "a line pruned"
            yield f'<li class=cut value="{row.start}"><code>{words}</code></li>\n'
            continue
        text = line.removeprefix(f"{row}\t") if numbered else line
        kind = "repair" if each.reasons[row].startswith("repair") else "own"
        reason = escape(each.reasons[row])
        yield f'<li class={kind} value="{row}" title="{reason}"><code>{_shown(text.rstrip()) or " "}</code></li>\n'


def _line_of(row: int | Cut) -> int:
    return row.start if isinstance(row, Cut) else row


def _shown(text: str) -> str:
    return escape(visible(text))


def _lines(text: str) -> str:
    """Return a text of several lines with its control characters shown."""
    return "\n".join(map(_shown, text.split("\n")))
