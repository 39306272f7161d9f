"""A judgement's figures, and the tables, JSON and plot that show them.

A difference is a mean over paired items. It shows with a chance of 80 % at a level of 5 % when it is 2.8 standard
errors (1.96 + 0.84, the normal distribution's quantiles) from 0."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from lamr_base.errors import InvalidInputError
from lamr_base.resampling import BOOTSTRAP, bootstrap_means
from lamr_base.tables import align, without_nan
from numpy.typing import NDArray

from lamr_evaluation.judge.items import TASK_NAMES
from lamr_evaluation.judge.pruners import NONE, ORACLE, UNPRUNED, WHOLE
from lamr_evaluation.judge.run import Answered, Cost, Judgement
from lamr_evaluation.judge.tasks import GRADES
from lamr_evaluation.records import Problem, file_of
from lamr_evaluation.report import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]
Cell = tuple[str, float]  # A pruner's name and a share
OWN = "lamr-"  # How the names of the pruners begin that others are compared with


@dataclass(frozen=True)
class MeanInterval:
    """A mean and its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def holds_zero(self) -> bool:
        """Whether chance explains it."""
        return self.low <= 0 <= self.high


@dataclass(frozen=True)
class Figure:
    """One pruner at one share of the tokens."""

    pruner: str
    share: float
    items: int
    grades: Mapping[str, float]  # means of all grades, by name
    score: MeanInterval  # the mean of the one that is compared
    to_whole: MeanInterval | None  # the score minus that of the whole code, item by item
    tokens: float  # the mean number of tokens shown, and their mean share of the code
    kept: float
    seconds: float  # the median time of pruning an item


@dataclass(frozen=True)
class Versus:
    """One of lamr's pruners minus another pruner, at the same share."""

    pruner: str
    other: str
    share: float
    gap: MeanInterval


@dataclass(frozen=True)
class TaskFigures:
    """The figures of one task."""

    task: str
    says: str  # what its score is
    items: int  # how many it was measured on
    files: int
    figures: tuple[Figure, ...]  # of each pruner and share
    versus: tuple[Versus, ...]  # lamr's differences to the others


def figures_of(judgement: Judgement) -> tuple[TaskFigures, ...]:
    """Return the figures of each task that has items. Intervals resample files: items about one share its difficulty.
    Raises `InvalidInputError`: no item was answered."""
    if not judgement.answered:
        why = next(iter(judgement.left_out.values()), "there are none")
        raise InvalidInputError(f"none of {len(judgement.items)} items can be compared: {why}")
    places = {
        task: [place for place in judgement.answered if judgement.items[place].task == task]
        for task in TASK_NAMES
    }
    return tuple(_task_figures(task, _Answers(judgement, found)) for task, found in places.items() if found)


class _Answers:
    """The answers of one task as arrays over items."""

    def __init__(self, judgement: Judgement, places: Sequence[int]) -> None:
        rows = [judgement.answered[place] for place in places]
        items = [judgement.items[place] for place in places]
        self.grade = next(iter(rows[0][0].grades))
        self.files = np.array([file_of(item, place) for item, place in zip(items, places, strict=True)])
        self.cells: dict[Cell, list[Answered | None]] = {}
        for number, answered in enumerate(rows):
            for each in answered:
                cell = (each.shown.pruner, each.shown.share)
                self.cells.setdefault(cell, [None] * len(rows))[number] = each

    def scores(self, cell: Cell) -> FloatArray:
        """Return the grade of each item that is compared, float64 `[items]`; NaN where a pruner doesn't apply."""
        return np.array([each.grades[self.grade] if each else np.nan for each in self.cells[cell]])

    def interval(self, values: FloatArray) -> MeanInterval:
        """Return the mean of values over items, float64 `[items]`, and its interval."""
        mean, low, high = bootstrap_means(values[:, None], self.files, BOOTSTRAP)
        return MeanInterval(float(mean[0]), float(low[0]), float(high[0]))


def _task_figures(task: str, table: _Answers) -> TaskFigures:
    figures = tuple(_figure(cell, table) for cell in table.cells)
    counts = len(table.files), len(np.unique(table.files))
    return TaskFigures(task, GRADES[table.grade], *counts, figures, tuple(_versus(table)))


def _figure(cell: Cell, table: _Answers) -> Figure:
    rows = [each for each in table.cells[cell] if each is not None]
    scores = table.scores(cell)
    whole = (WHOLE, 1.0)
    gaps = scores - table.scores(whole) if whole in table.cells and cell != whole else None
    names = rows[0].grades
    shown = [each.shown for each in rows]
    return Figure(
        *cell,
        items=len(rows),
        grades={name: float(np.mean([each.grades[name] for each in rows])) for name in names},
        score=table.interval(scores),
        to_whole=None if gaps is None else table.interval(gaps),
        tokens=float(np.mean([each.kept.tokens for each in shown])),
        kept=float(np.mean([each.kept.tokens / max(each.whole, 1) for each in shown])),
        seconds=float(np.median([each.kept.seconds for each in shown])),
    )


def _versus(table: _Answers) -> Iterator[Versus]:
    for name, share in table.cells:
        for other, at in table.cells:
            rival = not other.startswith(OWN) and other not in (*UNPRUNED, ORACLE)
            if name.startswith(OWN) and rival and at == share:
                gap = table.scores((name, share)) - table.scores((other, at))
                yield Versus(name, other, share, table.interval(gap))


def forewarning(items: int) -> str:
    """Say before a run what so many items can show, where pruning turns one right or wrong answer in ten."""
    errors = (1.96 + 0.84) * math.sqrt(0.1)
    return (
        f"{items:,} items show a difference of {100 * errors / math.sqrt(items):.0f} points and more, if pruning "
        f"turns one answer in ten; 1 point needs {math.ceil((errors / 0.01) ** 2):,} items"
    )


@dataclass(frozen=True)
class JudgeReport:
    """What a run found."""

    reader: str  # the reader's name
    tasks: tuple[TaskFigures, ...]  # the figures
    foreseen: Cost  # what asking would cost at most, and did cost
    spent: Cost
    known: int  # how many answers were kept from earlier runs
    cut: int = 0  # how many answers ended because they had no more room
    left_out: tuple[Problem, ...] = ()  # items that aren't in any figure

    def to_json(self) -> str:
        return json.dumps(without_nan(asdict(self)), indent=2, ensure_ascii=False)

    def table(self) -> str:
        parts = [part for task in self.tasks for part in _task(task)]
        cost = f"asked {self.spent} (at most {self.foreseen} were foreseen); {self.known:,} answers were kept"
        out = f"\n{len(self.left_out)} items left out" if self.left_out else ""
        cut = (
            f"\n{self.cut:,} answers were cut off; let the reader answer without thinking" if self.cut else ""
        )
        head = f"reader: {self.reader}; 95 % intervals by paired bootstrap over files"
        return "\n\n".join([head, *parts, cost + out + cut])


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
        f"{each.seconds:,.1f} s" if each.seconds >= 1 else f"{1000 * each.seconds:,.0f} ms",
    )


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
    """Return a table for each task: the mean share of an item's gold lines that is kept, by pruner and share. Items
    whose gold lines nobody knows aren't in it."""
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
    """Draw a report into a PNG, or whatever `path` ends in. Raises `ImportError`: matplotlib isn't installed; the
    message says how to get it."""
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
    means, tokens = [each.score.mean for each in points], [each.tokens for each in points]
    below = [each.score.mean - each.score.low for each in points]
    above = [each.score.high - each.score.mean for each in points]
    style: dict[str, Any] = {
        "linewidth": 2.4 if name.startswith(OWN) else 1.2,
        "linestyle": ":" if name == ORACLE else "-",
    }
    axes.errorbar(tokens, means, yerr=[below, above], label=name, marker="o", capsize=2, **style)
