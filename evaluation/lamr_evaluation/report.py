"""Evaluates scorers on items: means with intervals, by project and kind, and paired differences.

    report = evaluate(items, {**BASELINES, "lamr": PrunerScorer(pruner)}, reference="lamr")
    print(report.table())

A scorer with a threshold of its own (`Selector`) has precision, recall, F1, accuracy and kept fraction measured
on the lines that it selects, repair included. One without is measured at the fraction that the reference keeps
of the same item, or at 25 % where there's no such reference. Rankings are compared by recall at fixed kept
fractions and by area. This module ties items, scorers and metrics together; how to print is `tables`.
"""

from __future__ import annotations

import ast
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamr_evaluation.baselines import BASELINES, LineScorer
from lamr_evaluation.metrics import (
    BOOTSTRAP,
    Bootstrap,
    Confusion,
    Curve,
    Metrics,
    Summary,
    recall_curve,
    stack,
    summarize,
)
from lamr_evaluation.records import Record
from lamr_evaluation.scorers import PrunerLike, PrunerScorer, Selection, Selector
from lamr_evaluation.tables import comparison_table, group_table, interval_table, metrics_table, split_table

FloatArray = NDArray[np.float64]
GRID = np.linspace(0, 1, 101)
"""Kept fractions of the mean recall curves."""
DEFAULT_KEPT = 0.25
PRUNER = "lamr"
"""Name of the pruner in `evaluate_pruner`'s report."""

Progress = Callable[[str, int, int], None]
"""Called with a scorer's name, items done and items in all."""


@dataclass(frozen=True)
class ScorerReport:
    """One scorer's figures.

    Attributes:
        name: of the scorer.
        overall: over all items.
        by_kind, by_project: over the items of each.
        curve: mean recall at the kept fractions of `GRID`.
        seconds: wall time of scoring all items.
    """

    name: str
    overall: Summary
    by_kind: dict[str, Summary]
    by_project: dict[str, Summary]
    curve: tuple[float, ...]
    seconds: float


@dataclass(frozen=True)
class Difference:
    """Mean of the reference minus another scorer on the same items, with the interval of the paired bootstrap."""

    other: str
    overall: Summary
    by_kind: dict[str, Summary]


@dataclass(frozen=True)
class EvalReport:
    """Everything that one evaluation found.

    Attributes:
        items, files: how many.
        scorers: in the order given.
        reference: name of the scorer that the others are compared with, if any.
        differences: reference minus each other scorer.
    """

    items: int
    files: int
    scorers: tuple[ScorerReport, ...]
    reference: str | None
    differences: tuple[Difference, ...]

    def to_json(self) -> str:
        """The report as JSON; undefined figures are null."""
        return json.dumps(_nulls(asdict(self)), indent=2, ensure_ascii=False)

    def table(self) -> str:
        """The report for a terminal, as plain text."""
        parts = [
            f"{self.items} items, {self.files} files; 95 % intervals by bootstrap over files",
            metrics_table({scorer.name: scorer.overall for scorer in self.scorers}),
            interval_table({scorer.name: scorer.overall for scorer in self.scorers}),
        ]
        if self.differences:
            parts.append(f"{self.reference} minus:")
            parts.append(comparison_table({d.other: d.overall for d in self.differences}))
        parts.append(group_table("kind", {scorer.name: scorer.by_kind for scorer in self.scorers}))
        parts.append(group_table("project", {scorer.name: scorer.by_project for scorer in self.scorers}))
        for scorer in self.scorers:
            if scorer.name == self.reference:
                parts.append(split_table(f"{scorer.name} by kind", scorer.by_kind))
                parts.append(split_table(f"{scorer.name} by project", scorer.by_project))
        return "\n\n".join(part for part in parts if part)


def _nulls(value: Any) -> Any:
    """JSON has no NaN: an undefined figure becomes null."""
    if isinstance(value, dict):
        return {key: _nulls(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_nulls(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def parses(text: str) -> bool:
    """Whether Python can parse a text."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


@dataclass(frozen=True)
class _Scored:
    """One scorer on all items: curves and, from a `Selector`, selections."""

    curves: list[Curve]
    selections: list[Selection | None]
    seconds: float


def _score(
    name: str, scorer: LineScorer | Selector, items: Sequence[Record], progress: Progress | None
) -> _Scored:
    started = time.perf_counter()
    curves: list[Curve] = []
    selections: list[Selection | None] = []
    for done, item in enumerate(items, 1):
        if isinstance(scorer, Selector):
            selection = scorer.select(item)
            scores = selection.scores
        else:
            selection, scores = None, scorer(item.query, item.code)
        curves.append(recall_curve(scores, item.gold, item.counted))
        selections.append(selection)
        if progress is not None:
            progress(name, done, len(items))
    return _Scored(curves, selections, time.perf_counter() - started)


def _kept_fractions(scored: _Scored | None, items: Sequence[Record]) -> list[float]:
    """What the reference keeps of each item; the default where it doesn't say."""
    fractions = []
    for index, item in enumerate(items):
        selection = scored.selections[index] if scored else None
        lines = item.counted.sum()
        chosen = (selection.kept & item.counted).sum() / lines if selection and lines else DEFAULT_KEPT
        fractions.append(float(chosen))
    return fractions


def _measure(scored: _Scored, items: Sequence[Record], fractions: Sequence[float]) -> FloatArray:
    rows: list[Metrics] = []
    for item, curve, selection, fraction in zip(
        items, scored.curves, scored.selections, fractions, strict=True
    ):
        if selection is None:
            rows.append(Confusion.expected(curve, fraction, item.gold, item.counted).metrics(curve))
        else:
            whole = parses(selection.text) if parses(item.code) else None
            rows.append(Confusion.of(selection.kept, item.gold, item.counted).metrics(curve, whole))
    return stack(rows)


@dataclass(frozen=True)
class _Groups:
    """How items are grouped and resampled; each `[items]`."""

    files: NDArray[np.str_]
    kinds: NDArray[np.str_]
    projects: NDArray[np.str_]
    bootstrap: Bootstrap

    @classmethod
    def of(cls, items: Sequence[Record], bootstrap: Bootstrap) -> _Groups:
        files = [f"{item.project}/{item.path}" if item.path else f"item {n}" for n, item in enumerate(items)]
        kinds = [item.kind or "-" for item in items]
        projects = [item.project or "-" for item in items]
        return cls(np.array(files), np.array(kinds), np.array(projects), bootstrap)

    def overall(self, values: FloatArray) -> Summary:
        return summarize(values, self.files, self.bootstrap)

    def split(self, values: FloatArray, labels: NDArray[np.str_]) -> dict[str, Summary]:
        masks = {str(label): labels == label for label in np.unique(labels)}
        return {
            label: summarize(values[mask], self.files[mask], self.bootstrap) for label, mask in masks.items()
        }


def evaluate(
    items: Sequence[Record],
    scorers: Mapping[str, LineScorer | Selector],
    *,
    reference: str | None = None,
    bootstrap: Bootstrap = BOOTSTRAP,
    progress: Progress | None = None,
) -> EvalReport:
    """Measure scorers on items.

    Args:
        items: at least one.
        scorers: by name; see the module for the two sorts.
        reference: which one to compare the others with.
        bootstrap: how intervals are found.
        progress: called after each item.

    Raises:
        ValueError: there are no items, the reference isn't among the scorers, or a scorer's output doesn't fit
            an item's lines.
    """
    if not items:
        raise ValueError("there are no items to evaluate on")
    if reference is not None and reference not in scorers:
        raise ValueError(f"no scorer is called {reference!r}; there are {', '.join(scorers)}")
    scored = {name: _score(name, scorer, items, progress) for name, scorer in scorers.items()}
    fractions = _kept_fractions(scored.get(reference or ""), items)
    values = {name: _measure(each, items, fractions) for name, each in scored.items()}
    groups = _Groups.of(items, bootstrap)
    reports = [
        ScorerReport(
            name,
            groups.overall(values[name]),
            groups.split(values[name], groups.kinds),
            groups.split(values[name], groups.projects),
            tuple(np.nanmean([curve.at(GRID) for curve in each.curves], axis=0).tolist()),
            each.seconds,
        )
        for name, each in scored.items()
    ]
    others = [name for name in scorers if reference is not None and name != reference]
    gaps = {name: values[str(reference)] - values[name] for name in others}
    differences = [
        Difference(name, groups.overall(gap), groups.split(gap, groups.kinds)) for name, gap in gaps.items()
    ]
    return EvalReport(len(items), len(np.unique(groups.files)), tuple(reports), reference, tuple(differences))


def evaluate_pruner(
    items: Sequence[Record],
    pruner: PrunerLike,
    *,
    baselines: Mapping[str, LineScorer | Selector] = BASELINES,
    bootstrap: Bootstrap = BOOTSTRAP,
    progress: Progress | None = None,
) -> EvalReport:
    """Measure a pruner and the baselines, each at the pruner's kept fraction.

    Args:
        items: at least one.
        pruner: a `lamr_client.Pruner`, or anything with its `prune`.
        baselines, bootstrap, progress: see `evaluate`.
    """
    scorers: dict[str, LineScorer | Selector] = {PRUNER: PrunerScorer(pruner), **baselines}
    return evaluate(items, scorers, reference=PRUNER, bootstrap=bootstrap, progress=progress)
