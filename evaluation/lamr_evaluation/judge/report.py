"""A judgement as tables, JSON, a plot and an HTML page, and how many of the lines that are needed each pruner keeps."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from lamr_postprocess.static_page import shown, shown_lines, static_page

from lamr_evaluation.judge.bench import Answered, Cost, Judgement
from lamr_evaluation.judge.figures import OWN, Figure, Interval, TaskFigures, Versus
from lamr_evaluation.judge.items import CHOICE, TASK_NAMES, Item
from lamr_evaluation.judge.pruners import NONE, ORACLE, WHOLE
from lamr_evaluation.problems import Problem
from lamr_evaluation.records import bare_lines
from lamr_evaluation.report import canvas
from lamr_evaluation.tables import align, without_nan

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class JudgeReport:
    """What a run found.

    Attributes:
        reader: the reader's name.
        tasks: the figures.
        foreseen, spent: what asking would cost at most, and did cost.
        known: how many answers were kept from earlier runs.
        cut: how many answers ended because they had no more room.
        left_out: items that aren't in any figure.
    """

    reader: str
    tasks: tuple[TaskFigures, ...]
    foreseen: Cost
    spent: Cost
    known: int
    cut: int = 0
    left_out: tuple[Problem, ...] = ()

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(without_nan(asdict(self)), indent=2, ensure_ascii=False)

    def table(self) -> str:
        """Return the report as plain text."""
        parts = [part for task in self.tasks for part in _task(task)]
        cost = f"asked {self.spent} (at most {self.foreseen} were foreseen); {self.known:,} answers were kept"
        out = f"\n{len(self.left_out)} items left out" if self.left_out else ""
        cut = f"\n{self.cut:,} answers were cut off; give more room by --thinking" if self.cut else ""
        return "\n\n".join(
            [
                f"reader: {self.reader}; 95 % intervals by paired bootstrap over files",
                *parts,
                cost + out + cut,
            ]
        )


def _task(task: TaskFigures) -> list[str]:
    head = f"{task.task}: {task.items} items, {task.files} files; the score is {task.says}"
    rows: list[tuple[str, ...]] = [
        ("", "share", "tokens", "shown", "score", "95 %", "to whole", "95 %", "pruning")
    ]
    rows += [_row(each) for each in task.figures]
    parts = [f"{head}\n{align(rows)}"]
    for name in dict.fromkeys(each.pruner for each in task.versus):
        parts.append(align(_versus_rows(name, [each for each in task.versus if each.pruner == name])))
    spreads = [each.needed for each in task.figures if each.needed]
    if spreads:
        parts.append(
            f"By the spread that was met, 1 point to the whole code shows with {max(spreads):,} items."
        )
    return parts


def _row(each: Figure) -> tuple[str, ...]:
    gap = each.to_whole
    return (
        each.pruner,
        f"1/{1 / each.share:.3g}" if 0 < each.share < 1 else f"{each.share:.0f}",
        f"{each.tokens:,.0f}",
        f"{100 * each.kept:.0f} %",
        f"{each.score.mean:.3f}",
        f"{each.score.low:.3f} to {each.score.high:.3f}",
        f"{gap.mean:+.3f}" if gap else "",
        f"{gap.low:+.3f} to {gap.high:+.3f}" if gap else "",
        _time(each.seconds),
    )


def _time(seconds: float) -> str:
    return f"{seconds:,.1f} s" if seconds >= 1 else f"{1000 * seconds:,.0f} ms"


def _versus_rows(name: str, found: list[Versus]) -> list[tuple[str, ...]]:
    """One row a rival, one column a share; a star where the interval excludes 0."""
    shares = list(dict.fromkeys(each.share for each in found))
    gaps = {(each.other, each.share): each.gap for each in found}
    rows: list[tuple[str, ...]] = [(f"{name} minus", *(f"at 1/{1 / share:.3g}" for share in shares))]
    for other in dict.fromkeys(each.other for each in found):
        rows.append((other, *(_gap(gaps[other, share]) for share in shares)))
    return rows


def _gap(gap: Interval) -> str:
    return f"{gap.mean:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]{' ' if gap.holds_zero else '*'}"


def gold_table(judgement: Judgement) -> str:
    """Return a table for each task: the mean share of an item's gold lines that is kept, by pruner and share.

    Items whose gold lines nobody knows aren't in it.
    """
    parts = []
    for task in TASK_NAMES:
        kept: dict[tuple[str, float], list[tuple[float, int]]] = defaultdict(list)
        for place, rows in judgement.shown.items():
            item = judgement.items[place]
            for row in rows if item.task == task and item.gold else ():
                share = len(set(item.gold) & set(row.kept.lines)) / len(set(item.gold))
                kept[row.pruner, row.share].append((share, row.kept.tokens))
        if kept:
            parts.append(_table(task, kept))
    return "\n\n".join(parts)


def _table(task: str, kept: dict[tuple[str, float], list[tuple[float, int]]]) -> str:
    count = len(next(iter(kept.values())))
    rows = [(f"{task}: {count} items", "share", "tokens", "of the lines that the answer needs")]
    for (name, share), found in kept.items():
        mean, tokens = np.mean(found, axis=0)
        rows.append((name, f"{share:.3g}", f"{tokens:,.0f}", f"{100 * mean:.0f} %"))
    return align(rows)


def plot_scores(report: JudgeReport, path: Path | str) -> None:
    """Draw a report into a PNG, or whatever `path` ends in.

    Raises:
        ImportError: matplotlib isn't installed; the message says how to get it.
    """
    count = len(report.tasks)
    drawn = canvas(5.2 * count, 4.4)
    for place, task in enumerate(report.tasks, 1):
        axes = drawn.add_subplot(1, count, place)
        for name in dict.fromkeys(each.pruner for each in task.figures):
            _draw(axes, name, sorted((e for e in task.figures if e.pruner == name), key=lambda e: e.tokens))
        axes.set(xlabel="tokens shown (mean)", ylabel=task.says, title=f"{task.task}: {task.items} items")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="x-small")
    drawn.suptitle(f"reader: {report.reader}")
    drawn.savefig(path, dpi=150)


def _draw(axes: Axes, name: str, points: list[Figure]) -> None:
    """Draw a pruner's line with its intervals; the whole code and none of it are levels."""
    if name in (WHOLE, NONE):
        axes.axhline(
            points[0].score.mean, linestyle="--", color="black" if name == WHOLE else "gray", label=name
        )
        return
    means = [each.score.mean for each in points]
    errors = [
        [each.score.mean - each.score.low for each in points],
        [each.score.high - each.score.mean for each in points],
    ]
    axes.errorbar(
        [each.tokens for each in points],
        means,
        yerr=errors,
        label=name,
        marker="o",
        capsize=2,
        linewidth=2.4 if name.startswith(OWN) else 1.2,
        linestyle=":" if name == ORACLE else "-",
    )


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
