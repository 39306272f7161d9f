"""One HTML page of a judgement: for each item what every pruner showed, what the reader answered, and its grades.

The frame of the page is `lamr_postprocess.static_page`'s.
"""

from __future__ import annotations

from collections.abc import Iterator

from lamr_postprocess.static_page import shown, shown_lines, static_page

from lamr_evaluation.judge.bench import Answered, Judgement
from lamr_evaluation.judge.items import CHOICE, Item
from lamr_evaluation.judge.report import JudgeReport
from lamr_evaluation.records import bare_lines

MOST_CHARACTERS = 32 << 20
"""Of a page; the items after so many are shown without their code."""
_STYLE = """pre { white-space:pre-wrap } details details { margin-left:1.5em }
table { border-spacing:1.2em 0; margin-left:-1.2em } td.number { text-align:right }
li.kept { border-color:var(--orange) } li.cut { color:var(--cut) }
.wrong { color:var(--red) } .right { color:var(--green) }
"""


def render_page(report: JudgeReport, judgement: Judgement) -> str:
    """Return the page: the tables, and each item with a part for every pruner."""
    body = [f"<h1>{shown(report.reader)}</h1>\n<pre>{shown_lines(report.table())}</pre>\n"]
    size = 0
    for place, rows in sorted(judgement.answered.items()):
        body.append(_item(judgement.items[place], rows, code=size < MOST_CHARACTERS))
        size += len(body[-1])
    if size >= MOST_CHARACTERS:
        body.insert(1, "<p class=quiet>The page shows the code of its first items only.</p>\n")
    return static_page("lamr judge", _STYLE, "".join(body))


def _item(item: Item, rows: list[Answered], code: bool) -> str:
    name = " · ".join(filter(None, (item.task, item.project, item.path, item.made)))
    parts = "".join(_shown(item, row, code) for row in rows)
    return (
        f"<details><summary><b>{shown(item.query.strip().splitlines()[-1])}</b> <span class=quiet>{shown(name)}</span>"
        f"</summary>\n<pre>{shown_lines(item.query)}</pre>\n{_truth(item)}{parts}</details>\n"
    )


def _truth(item: Item) -> str:
    if item.choices:
        listed = "".join(
            f'<li class="{"kept" if each == item.answer else ""}"><code>{shown(each)}</code></li>\n'
            for each in item.choices
        )
        return f"<ol>{listed}</ol>\n"
    gold = f"<p class=quiet>lines {', '.join(map(str, item.gold))}</p>\n" if item.gold else ""
    return f"<pre>{shown_lines(item.answer)}</pre>\n{gold}"


def _shown(item: Item, row: Answered, code: bool) -> str:
    score = next(iter(row.grades.values()))
    grades = ", ".join(f"{name} {value:.2f}" for name, value in row.grades.items())
    kept = set(row.shown.kept.lines)
    lines = "".join(_rows(bare_lines(item.code), kept)) if code else ""
    return (
        f'<details><summary><span class="{"right" if score >= 0.5 else "wrong"}">{grades}</span> '
        f"<b>{shown(row.shown.pruner)}</b> <span class=quiet>· {row.shown.share:.3g} · {row.shown.kept.tokens:,} tokens"
        f"</span></summary>\n<pre>{shown_lines(_answer(item, row))}</pre>\n<ol>\n{lines}</ol></details>\n"
    )


def _answer(item: Item, row: Answered) -> str:
    if row.reply.text:
        return row.reply.text
    ends = item.choices if item.task == CHOICE else ()
    weighed = [f"{each.log_prob:9.2f} nats, {each.tokens} tokens" for each in row.reply.likelihoods]
    return "\n".join(f"{each}  {ends[n] if n < len(ends) else ''}".rstrip() for n, each in enumerate(weighed))


def _rows(lines: list[str], kept: set[int]) -> Iterator[str]:
    """Yield the items of a file's list: kept lines, and runs of others as one row."""
    cut: list[int] = []
    for number, line in enumerate([*lines, None], 1):
        if line is not None and number not in kept:
            cut.append(number)
            continue
        if cut:
            words = f"lines {cut[0]:,} to {cut[-1]:,} pruned"
            yield f'<li class=cut value="{cut[0]}"><code>{words}</code></li>\n'
            cut = []
        if line is not None:
            yield f'<li class=kept value="{number}"><code>{shown(line) or " "}</code></li>\n'
