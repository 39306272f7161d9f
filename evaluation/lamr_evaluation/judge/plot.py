"""Draws the score over the tokens that were shown, a panel a task. It needs matplotlib, imported only here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lamr_evaluation.judge.figures import OWN, Figure
from lamr_evaluation.judge.pruners import NONE, ORACLE, WHOLE
from lamr_evaluation.judge.report import JudgeReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_scores(report: JudgeReport, path: Path | str) -> None:
    """Draw a report into a PNG, or whatever `path` ends in.

    Raises:
        ImportError: matplotlib isn't installed; the message says how to get it.
    """
    try:
        from matplotlib.figure import Figure as Canvas  # noqa: PLC0415 - heavy, and needed for plots only
    except ImportError as error:
        raise ImportError("plotting needs matplotlib: pip install matplotlib") from error
    count = len(report.tasks)
    canvas = Canvas(figsize=(5.2 * count, 4.4), layout="constrained")
    for place, task in enumerate(report.tasks, 1):
        axes = canvas.add_subplot(1, count, place)
        for name in dict.fromkeys(each.pruner for each in task.figures):
            _draw(axes, name, sorted((e for e in task.figures if e.pruner == name), key=lambda e: e.tokens))
        axes.set(xlabel="tokens shown (mean)", ylabel=task.says, title=f"{task.task}: {task.items} items")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="x-small")
    canvas.suptitle(f"reader: {report.reader}")
    canvas.savefig(path, dpi=150)


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
