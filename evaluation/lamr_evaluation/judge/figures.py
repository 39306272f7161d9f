"""What a judgement comes to: each pruner's mean grade at each share, the paired differences, and what pruning took.

A difference is a mean over paired items. It shows with a chance of 80 % at a level of 5 % when it is 2.8 standard
errors (1.96 + 0.84, the normal distribution's quantiles) from 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from lamr_base.errors import InvalidInputError
from lamr_base.resampling import BOOTSTRAP, bootstrap_means
from numpy.typing import NDArray

from lamr_evaluation.judge.items import TASK_NAMES, Item
from lamr_evaluation.judge.pruners import ORACLE, UNPRUNED, WHOLE
from lamr_evaluation.judge.run import Answered, Judgement
from lamr_evaluation.judge.tasks import GRADES

FloatArray = NDArray[np.float64]
Cell = tuple[str, float]
"""A pruner's name and a share."""
OWN = "lamr-"
"""How the names of the pruners begin that others are compared with."""


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

    Raises:
        InvalidInputError: no item was answered.
    """
    if not judgement.answered:
        why = next(iter(judgement.left_out.values()), "there are none")
        raise InvalidInputError(f"none of {len(judgement.items)} items can be compared: {why}")
    places = {
        task: [place for place in judgement.answered if judgement.items[place].task == task]
        for task in TASK_NAMES
    }
    return tuple(_task(task, _Table(judgement, found)) for task, found in places.items() if found)


class _Table:
    """The answers of one task as arrays over items."""

    def __init__(self, judgement: Judgement, places: Sequence[int]) -> None:
        rows = [judgement.answered[place] for place in places]
        items = [judgement.items[place] for place in places]
        self.grade = next(iter(rows[0][0].grades))
        self.files = np.array([_file_of(item, place) for item, place in zip(items, places, strict=True)])
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


def _file_of(item: Item, place: int) -> str:
    return f"{item.project}/{item.path}" if item.path else f"item {place}"


def _task(task: str, table: _Table) -> TaskFigures:
    figures = tuple(_figure(cell, table) for cell in table.cells)
    return TaskFigures(
        task,
        GRADES[table.grade],
        len(table.files),
        len(np.unique(table.files)),
        figures,
        tuple(_versus(table)),
    )


def _figure(cell: Cell, table: _Table) -> Figure:
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


def _versus(table: _Table) -> Iterator[Versus]:
    """Compare each pruner of lamr's with the others at the same share."""
    for name, share in table.cells:
        for other, at in table.cells:
            rival = not other.startswith(OWN) and other not in (*UNPRUNED, ORACLE)
            if name.startswith(OWN) and rival and at == share:
                gap = table.scores((name, share)) - table.scores((other, at))
                yield Versus(name, other, share, table.interval(gap))


_ERRORS = 1.96 + 0.84
POINT = 0.01
CHANGING = 0.1
"""Of answers, the share that a pruner is taken to turn from right to wrong or back, before anything was measured."""


def items_needed(spread: float) -> int:
    """Return how many items show a difference of `POINT`, where the paired differences of items spread so much."""
    return math.ceil((_ERRORS * spread / POINT) ** 2)


def forewarning(items: int) -> str:
    """Say before a run what so many items can show, where answers are right or wrong."""
    spread = math.sqrt(CHANGING)
    shown = _ERRORS * spread / math.sqrt(items)
    return (
        f"{items:,} items show a difference of {100 * shown:.0f} points and more, if pruning "
        f"turns one answer in ten; 1 point needs {items_needed(spread):,} items"
    )
