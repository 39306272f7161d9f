"""One HTML page of a pack, to look at: what was kept of each file and why, what was cut, and how files scored.

The frame of the page is `lamr_postprocess.static_page`'s.
"""

from collections.abc import Iterator
from html import escape

from lamr_postprocess import Cut, split_lines
from lamr_postprocess.static_page import shown, shown_lines, static_page

from lamr_repositories.result import PackedFile, PackResult

_STYLE = """pre { white-space:pre-wrap }
table { border-spacing:1.2em 0; margin-left:-1.2em } td.number { text-align:right }
li.own { border-color:var(--orange) } li.repair { border-color:var(--green) }
li.cut { color:var(--quiet) } li.cut::before { content:"⋯" }
"""


def render_page(result: PackResult) -> str:
    """Return the page of a pack: its summary, a table of its files by score, each file's lines, the files outlined."""
    best = sorted(result.files, key=lambda each: (-each.score, each.path))
    place = {each.path: number for number, each in enumerate(result.files)}
    rows = "".join(
        f'<tr><td class=number>{each.score:.2f}<td><a href="#file-{place[each.path]}">{shown(each.path)}</a>'
        f"<td class=number>{len(each.kept_lines):,} of {each.lines:,} lines<td class=number>{each.tokens:,} tokens\n"
        for each in best
    )
    outlined = "".join(f"<li><code>{shown(path)}</code></li>\n" for path in result.outlined)
    body = "".join(
        [
            f"<h1>{shown_lines(result.query)}</h1>\n<pre class=quiet>{shown_lines(result.summary())}</pre>\n",
            "<p class=quiet>Orange lines won their place by score; green ones were brought by repair.</p>\n",
            f"<table>\n{rows}</table>\n",
            *(_file(each, place[each.path]) for each in result.files),
            f"<details><summary>{len(result.outlined):,} files outlined</summary>\n<ol>\n{outlined}</ol></details>\n"
            if result.outlined
            else "",
        ]
    )
    return static_page("lamr pack", _STYLE, body)


def _file(each: PackedFile, place: int) -> str:
    lines = "".join(_rows(each))
    return (
        f'<details open id="file-{place}"><summary><b>{shown(each.path)}</b> <span class=quiet>· {each.score:.2f} · '
        f"{len(each.kept_lines):,} of {each.lines:,} lines</span></summary>\n<ol>\n{lines}</ol></details>\n"
    )


def _rows(each: PackedFile) -> Iterator[str]:
    """Yield the items of a file's list: a kept line or a cut each, as the lines of its text are."""
    found: list[int | Cut] = sorted([*each.kept_lines, *each.cuts], key=_line_of)
    texts = split_lines(each.text)
    numbered = all(texts[at].startswith(f"{row}\t") for at, row in enumerate(found) if isinstance(row, int))
    for row, line in zip(found, texts, strict=True):
        if isinstance(row, Cut):
            words = f"lines {row.start:,} to {row.end:,} pruned" if row.end > row.start else "a line pruned"
            yield f'<li class=cut value="{row.start}"><code>{words}</code></li>\n'
            continue
        text = line.removeprefix(f"{row}\t") if numbered else line
        kind = "repair" if each.reasons[row].startswith("repair") else "own"
        reason = escape(each.reasons[row])
        yield f'<li class={kind} value="{row}" title="{reason}"><code>{shown(text.rstrip()) or " "}</code></li>\n'


def _line_of(row: int | Cut) -> int:
    return row.start if isinstance(row, Cut) else row
