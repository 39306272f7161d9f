"""Summaries of metrics as plain-text tables for a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import astuple

from lamr_base.tables import align

from lamr_evaluation.metrics import Summary

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
