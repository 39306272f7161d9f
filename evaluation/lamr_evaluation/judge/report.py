"""A judgement as tables, JSON and a plot, and how many of the lines that are needed each pruner keeps."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from lamr_base.tables import align, without_nan

from lamr_evaluation.judge.figures import OWN, Figure, MeanInterval, TaskFigures, Versus
from lamr_evaluation.judge.items import TASK_NAMES
from lamr_evaluation.judge.pruners import NONE, ORACLE, WHOLE
from lamr_evaluation.judge.run import Cost, Judgement
from lamr_evaluation.problems import Problem
from lamr_evaluation.report import canvas

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
        cut = (
            f"\n{self.cut:,} answers were cut off; turn off the thinking of a reader that thinks before it answers"
            if self.cut
            else ""
        )
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


def _gap(gap: MeanInterval) -> str:
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
