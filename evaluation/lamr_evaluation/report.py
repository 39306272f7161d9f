"""What one evaluation gives: each scorer's figures, by kind and project, and paired differences: JSON, tables, a plot.

Plots need matplotlib, which is imported only when something is drawn."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from lamr_base.tables import align, without_nan

from lamr_evaluation.metrics import Summary
from lamr_evaluation.records import Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure

HEADINGS = ("prec", "recall", "F1", "acc", "kept", "R@10", "R@25", "R@50", "area", "parses", "tokens")
_COMPARED = ("recall", "F1", "R@10", "R@25", "R@50", "area")


def _figure(value: float, sign: bool = False) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:+.3f}" if sign else f"{value:.3f}"


def metrics_table(summaries: Mapping[str, Summary]) -> str:
    """A table with the mean of every metric, one row for each scorer."""
    rows: list[tuple[str, ...]] = [("", *HEADINGS)]
    rows += [(name, *(_figure(value) for value in astuple(s.mean))) for name, s in summaries.items()]
    return align(rows)


def interval_table(summaries: Mapping[str, Summary]) -> str:
    """A table with the intervals of the metrics that rank methods, one row for each scorer."""
    return _compared("95 % intervals", summaries, lambda _, low, high: f"{_figure(low)} to {_figure(high)}")


def split_table(title: str, groups: Mapping[str, Summary]) -> str:
    """A table with every metric of one scorer, one row for each group; empty for a single group."""
    if len(groups) < 2:
        return ""
    rows: list[tuple[str, ...]] = [(title, "items", *HEADINGS)]
    rows += [
        (label, str(groups[label].items), *(_figure(value) for value in astuple(groups[label].mean)))
        for label in sorted(groups)
    ]
    return align(rows)


def comparison_table(differences: Mapping[str, Summary]) -> str:
    """A table with the differences in the metrics that rank methods and their intervals, one row for each scorer."""
    return _compared(
        "",
        differences,
        lambda mean, low, high: f"{_figure(mean, True)} [{_figure(low, True)}, {_figure(high, True)}]",
    )


def _compared(
    title: str, summaries: Mapping[str, Summary], cell: Callable[[float, float, float], str]
) -> str:
    rows: list[tuple[str, ...]] = [(title, *_COMPARED)]
    for name, summary in summaries.items():
        cells = map(cell, astuple(summary.mean), astuple(summary.low), astuple(summary.high))
        rows.append(
            (name, *(each for each, heading in zip(cells, HEADINGS, strict=True) if heading in _COMPARED))
        )
    return align(rows)


GRID = np.linspace(0, 1, 101)  # Kept fractions of the mean recall curves


@dataclass(frozen=True)
class ScorerReport:
    """One scorer's figures."""

    name: str  # the scorer's name
    overall: Summary  # figures over all items
    by_kind: dict[str, Summary]  # figures over the items of each kind, project and language
    by_project: dict[str, Summary]
    by_language: dict[str, Summary]
    curve: tuple[float, ...]  # mean recall at the kept fractions of `GRID`
    seconds: float  # wall time of scoring all items


@dataclass(frozen=True)
class Difference:
    """Mean of the reference minus another scorer on the same items, with the interval of the paired bootstrap."""

    other: str  # the other scorer's name
    overall: Summary  # difference over all items
    by_kind: dict[str, Summary]  # difference over the items of each kind


@dataclass(frozen=True)
class EvalReport:
    """The figures of one evaluation."""

    items: int  # numbers of items measured, and of files that they are about
    files: int
    scorers: tuple[ScorerReport, ...]  # each scorer's figures, in the order in which the scorers were given
    reference: str | None  # name of the scorer that the others are compared with, or None
    differences: tuple[Difference, ...]  # the reference's figures minus each other scorer's
    left_out: tuple[Problem, ...] = ()  # items that couldn't be read or that a scorer refused

    def to_json(self) -> str:
        """The report as JSON; undefined figures are null."""
        return json.dumps(without_nan(asdict(self)), indent=2, ensure_ascii=False)

    def table(self) -> str:
        """The report for a terminal, as plain text."""
        left_out = f"; {len(self.left_out)} left out" if self.left_out else ""
        parts = [
            f"{self.items} items, {self.files} files{left_out}; 95 % intervals by bootstrap over files",
            metrics_table({scorer.name: scorer.overall for scorer in self.scorers}),
            interval_table({scorer.name: scorer.overall for scorer in self.scorers}),
        ]
        if self.differences:
            parts.append(f"{self.reference} minus:")
            parts.append(comparison_table({d.other: d.overall for d in self.differences}))
        for own in (scorer for scorer in self.scorers if scorer.name == self.reference):
            groupings = (("kind", own.by_kind), ("language", own.by_language), ("project", own.by_project))
            parts += [split_table(f"{own.name} by {title}", groups) for title, groups in groupings]
        return "\n\n".join(part for part in parts if part)


def canvas(width: float, height: float) -> MplFigure:
    """Return an empty figure."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - heavy, and needed for plots only
    except ImportError as error:
        raise ImportError("plotting needs matplotlib: pip install matplotlib") from error
    return Figure(figsize=(width, height), layout="constrained")


def plot_recall(report: EvalReport, path: Path | str) -> None:
    """Draw the mean recall curve of every scorer into a PNG (or whatever `path` ends in). Raises `ImportError`:
    matplotlib isn't installed; the message says how to get it."""
    figure = canvas(6.4, 4.8)
    axes = figure.add_subplot()
    for scorer in report.scorers:
        mean, own = scorer.overall.mean, scorer.name == report.reference
        width, order = (2.5, 3) if own else (1.2, 2)
        axes.plot(GRID, scorer.curve, label=f"{scorer.name} ({mean.area:.3f})", linewidth=width, zorder=order)
        if own:
            marker: dict[str, Any] = {
                "color": "black",
                "markersize": 5,
                "zorder": 4,
                "label": "default threshold",
            }
            axes.plot(mean.kept, mean.recall, "o", **marker)
    axes.set(xlabel="fraction of lines kept", ylabel="recall of gold lines", xlim=(0, 1), ylim=(0, 1))
    axes.set_title(f"{report.items} questions, {report.files} files (area under the curve)")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", fontsize="small")
    figure.savefig(path, dpi=150)
