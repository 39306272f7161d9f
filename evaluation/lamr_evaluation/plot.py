"""Draws recall against kept fraction. It needs matplotlib, which is imported only when something is drawn."""

from __future__ import annotations

from pathlib import Path

from lamr_evaluation.report import GRID, EvalReport


def plot_recall(report: EvalReport, path: Path | str) -> None:
    """Draw the mean recall curve of every scorer into a PNG (or whatever `path` ends in).

    Raises:
        ImportError: matplotlib isn't installed; the message says how to get it.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - heavy, and needed for plots only
    except ImportError as error:
        raise ImportError("plotting needs matplotlib: pip install matplotlib") from error
    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    axes = figure.add_subplot()
    for scorer in report.scorers:
        is_reference = scorer.name == report.reference
        label = f"{scorer.name} ({scorer.overall.mean.area:.3f})"
        axes.plot(
            GRID,
            scorer.curve,
            label=label,
            linewidth=2.5 if is_reference else 1.2,
            zorder=3 if is_reference else 2,
        )
        if is_reference:
            mean = scorer.overall.mean
            axes.plot(
                mean.kept, mean.recall, "o", color="black", markersize=5, zorder=4, label="default threshold"
            )
    axes.set(
        xlabel="fraction of lines kept",
        ylabel="recall of gold lines",
        xlim=(0, 1),
        ylim=(0, 1),
        title=f"{report.items} questions, {report.files} files (area under the curve)",
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", fontsize="small")
    figure.savefig(path, dpi=150)
