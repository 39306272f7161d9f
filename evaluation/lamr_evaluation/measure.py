"""Measures scorers on items: means with intervals, by project, kind and language, and paired differences.

    report = evaluate(items, {**BASELINES, "lamr": PrunerScorer(pruner)}, reference="lamr")
    print(report.table())

A scorer with a threshold of its own (`Selector`) has precision, recall, F1, accuracy and kept fraction measured
on the lines that it selects, repair included. One without is measured at the fraction that the reference keeps
of the same item, or at 25 % where there's no such reference. Rankings are compared by recall at fixed kept
fractions and by area. An item that a scorer refuses is left out of every scorer's figures, so that all are means over
the same items. This module ties items, scorers and metrics together; `report` holds what comes out.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from lamr_base.errors import InvalidInputError
from lamr_base.resampling import BOOTSTRAP, Bootstrap
from lamr_postprocess import approximate_tokens
from lamr_repositories.options import OnProgress
from numpy.typing import NDArray

from lamr_evaluation.baselines import BASELINES, LineScorer
from lamr_evaluation.errors import RecordError
from lamr_evaluation.metrics import (
    Confusion,
    Curve,
    Metrics,
    Summary,
    recall_curve,
    stack,
    summarize,
)
from lamr_evaluation.problems import Problem, Refusals
from lamr_evaluation.records import Record
from lamr_evaluation.report import GRID, Difference, EvalReport, ScorerReport
from lamr_evaluation.scorers import PrunerLike, PrunerScorer, Selection, Selector

FloatArray = NDArray[np.float64]
DEFAULT_KEPT = 0.25
"""Fraction of lines at which a scorer is measured that has no threshold and no reference."""
PRUNER = "lamr"
"""Name of the pruner in `evaluate_pruner`'s report."""


def parses(text: str) -> bool:
    """Whether Python can parse a text."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


@dataclass(frozen=True)
class _Outcome:
    """One scorer on one item: the curve of its ranking and, from a `Selector`, its selection."""

    curve: Curve
    selection: Selection | None


@dataclass(frozen=True)
class _Scored:
    """One scorer on the items: its outcomes in their order, and the wall time that all took."""

    outcomes: list[_Outcome]
    seconds: float


def _score(
    name: str,
    scorer: LineScorer | Selector,
    items: Sequence[Record],
    refusals: Refusals,
    progress: OnProgress | None,
) -> dict[int, _Outcome]:
    """The scorer's outcome on each item, by its place, that neither it nor a scorer before it refuses."""
    outcomes = {}
    for place, item in enumerate(items):
        if place not in refusals:
            try:
                outcomes[place] = _outcome(scorer, item)
            except InvalidInputError as error:
                refusals.add(place, f"{name} refuses it: {error}", error)
        if progress is not None:
            progress(name, place + 1, len(items))
    return outcomes


def _outcome(scorer: LineScorer | Selector, item: Record) -> _Outcome:
    if isinstance(scorer, Selector):
        selection = scorer.select(item)
        return _Outcome(recall_curve(selection.scores, item.gold, item.counted), selection)
    return _Outcome(recall_curve(scorer(item.words, item.code), item.gold, item.counted), None)


def _kept_fractions(scored: _Scored | None, items: Sequence[Record]) -> list[float]:
    """Which fraction of each item the reference keeps; the default where it doesn't say."""
    fractions = []
    for index, item in enumerate(items):
        selection = scored.outcomes[index].selection if scored else None
        lines = item.counted.sum()
        kept = (selection.kept & item.counted).sum() / lines if selection and lines else DEFAULT_KEPT
        fractions.append(float(kept))
    return fractions


def _measure(outcomes: Sequence[_Outcome], items: Sequence[Record], fractions: Sequence[float]) -> FloatArray:
    rows: list[Metrics] = []
    for item, outcome, fraction in zip(items, outcomes, fractions, strict=True):
        curve, selection = outcome.curve, outcome.selection
        if selection is None:
            rows.append(Confusion.expected(curve, fraction, item.gold, item.counted).metrics(curve))
        else:
            whole = parses(selection.text) if parses(item.code) else None
            tokens = approximate_tokens(selection.text) / max(1, approximate_tokens(item.code))
            rows.append(Confusion.of(selection.kept, item.gold, item.counted).metrics(curve, whole, tokens))
    return stack(rows)


@dataclass(frozen=True)
class _Groups:
    """How items are grouped and resampled; each array is `[items]`."""

    files: NDArray[np.str_]
    kinds: NDArray[np.str_]
    projects: NDArray[np.str_]
    languages: NDArray[np.str_]
    bootstrap: Bootstrap

    @classmethod
    def of(cls, items: Sequence[Record], bootstrap: Bootstrap) -> _Groups:
        files = [f"{item.project}/{item.path}" if item.path else f"item {n}" for n, item in enumerate(items)]
        kinds = [item.kind or "-" for item in items]
        projects = [item.project or "-" for item in items]
        languages = [item.language or "-" for item in items]
        return cls(np.array(files), np.array(kinds), np.array(projects), np.array(languages), bootstrap)

    def overall(self, values: FloatArray) -> Summary:
        return summarize(values, self.files, self.bootstrap)

    def split(self, values: FloatArray, labels: NDArray[np.str_]) -> dict[str, Summary]:
        masks = {str(label): labels == label for label in np.unique(labels)}
        return {
            label: summarize(values[mask], self.files[mask], self.bootstrap) for label, mask in masks.items()
        }


def evaluate(  # noqa: PLR0913 - keywords with defaults
    items: Sequence[Record],
    scorers: Mapping[str, LineScorer | Selector],
    *,
    reference: str | None = None,
    bootstrap: Bootstrap = BOOTSTRAP,
    on_problem: Callable[[Problem], None] | None = None,
    progress: OnProgress | None = None,
) -> EvalReport:
    """Measure scorers on items.

    Args:
        items: at least one.
        scorers: by name; see the module for the two sorts.
        reference: which one to compare the others with.
        bootstrap: how intervals are computed.
        on_problem: called with each item that a scorer refuses, which no figure then includes. Without it, the first
            refusal ends the evaluation.
        progress: called after each item.

    Raises:
        RecordError: a scorer refuses an item, and there is no `on_problem`.
        ValueError: there are no items, or none that every scorer takes; the reference isn't among the scorers; or
            a scorer's output doesn't fit an item's lines.
    """
    if not items:
        raise ValueError("there are no items to evaluate on")
    if reference is not None and reference not in scorers:
        raise ValueError(f"no scorer is called {reference!r}; there are {', '.join(scorers)}")
    refusals = Refusals(items, on_problem)
    by_place: dict[str, dict[int, _Outcome]] = {}
    seconds: dict[str, float] = {}
    for name, scorer in scorers.items():
        started = time.perf_counter()
        by_place[name] = _score(name, scorer, items, refusals, progress)
        seconds[name] = time.perf_counter() - started
    measured = [place for place in range(len(items)) if place not in refusals]
    if not measured:
        first = refusals.all()[0]
        raise RecordError(f"none of {len(items)} items can be measured; line {first.line}: {first.reason}")
    scored = {
        name: _Scored([outcomes[place] for place in measured], seconds[name])
        for name, outcomes in by_place.items()
    }
    return _report([items[place] for place in measured], scored, reference, bootstrap, refusals.all())


def _report(
    items: Sequence[Record],
    scored: Mapping[str, _Scored],
    reference: str | None,
    bootstrap: Bootstrap,
    left_out: tuple[Problem, ...],
) -> EvalReport:
    """The figures of all scorers on the items that were measured."""
    fractions = _kept_fractions(scored.get(reference or ""), items)
    values = {name: _measure(each.outcomes, items, fractions) for name, each in scored.items()}
    groups = _Groups.of(items, bootstrap)
    reports = [
        ScorerReport(
            name,
            groups.overall(values[name]),
            groups.split(values[name], groups.kinds),
            groups.split(values[name], groups.projects),
            groups.split(values[name], groups.languages),
            tuple(np.nanmean([outcome.curve.at(GRID) for outcome in each.outcomes], axis=0).tolist()),
            each.seconds,
        )
        for name, each in scored.items()
    ]
    others = [name for name in scored if reference is not None and name != reference]
    gaps = {name: values[str(reference)] - values[name] for name in others}
    differences = [
        Difference(name, groups.overall(gap), groups.split(gap, groups.kinds)) for name, gap in gaps.items()
    ]
    files = len(np.unique(groups.files))
    return EvalReport(len(items), files, tuple(reports), reference, tuple(differences), left_out)


def evaluate_pruner(  # noqa: PLR0913 - keywords with defaults
    items: Sequence[Record],
    pruner: PrunerLike,
    *,
    options: Mapping[str, Any] | None = None,
    history: bool = False,
    baselines: Mapping[str, LineScorer | Selector] = BASELINES,
    bootstrap: Bootstrap = BOOTSTRAP,
    on_problem: Callable[[Problem], None] | None = None,
    progress: OnProgress | None = None,
) -> EvalReport:
    """Measure a pruner and the baselines, each at the pruner's kept fraction.

    Args:
        items: at least one.
        pruner: a `lamr_client.Pruner`, or anything with its `prune`.
        options, history: of its every call; see `PrunerScorer`.
        baselines: what to compare it with, by name.
        bootstrap, on_problem, progress: see `evaluate`.

    Raises:
        RecordError, ValueError: see `evaluate`.
    """
    scorers: dict[str, LineScorer | Selector] = {
        PRUNER: PrunerScorer(pruner, options, history=history),
        **baselines,
    }
    return evaluate(
        items, scorers, reference=PRUNER, bootstrap=bootstrap, on_problem=on_problem, progress=progress
    )
