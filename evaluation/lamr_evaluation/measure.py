"""Measures scorers on items: means with intervals, by project, kind and language, and paired differences.

    report = evaluate(items, {**BASELINES, "lamr": PrunerScorer(pruner)}, reference="lamr")

A scorer with a threshold of its own (`Selector`) is measured on the lines that it selects, repair included. One without
is measured at the fraction that the reference keeps of the same item, or at 25 % where there's no such reference. An
item that a scorer refuses is left out of every scorer's figures. A pruner is anything with the method `prune` of
`lamr_client.Pruner`, which isn't imported."""

import ast
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from lamr_base.errors import InvalidInputError
from lamr_base.resampling import BOOTSTRAP, Bootstrap
from lamr_postprocess import approximate_tokens
from lamr_repositories.options import OnProgress
from numpy.typing import NDArray

from lamr_evaluation.baselines import BASELINES, LineScorer
from lamr_evaluation.errors import RecordError
from lamr_evaluation.metrics import Confusion, Curve, Metrics, Summary, recall_curve, stack, summarize
from lamr_evaluation.records import Problem, Record, Refusals, file_of
from lamr_evaluation.report import GRID, Difference, EvalReport, ScorerReport

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Selection:
    """What a pruner keeps of one item."""

    scores: FloatArray  # float `[L]`, one for each line
    kept: BoolArray  # bool `[L]`, the lines in the pruned text, those that repair adds included
    text: str  # the pruned text


@runtime_checkable
class Selector(Protocol):
    """A scorer with a threshold of its own."""

    def select(self, item: Record) -> Selection:
        """Prune one item."""
        ...


class PrunerLike(Protocol):
    """What is measured of `lamr_client.Pruner`; results have `text`, `kept_lines` and `line_scores`."""

    @property
    def prune(self) -> Callable[..., Any]: ...


class PrunerScorer:
    """Measures a pruner: line scores for ranking, its kept lines at its default threshold."""

    def __init__(
        self, pruner: PrunerLike, options: Mapping[str, Any] | None = None, *, history: bool = False
    ) -> None:
        """Measure a pruner.

        Args:
            pruner: anything with `lamr_client.Pruner`'s `prune`.
            options: of its every call, such as its effort.
            history: whether it is told what an item's session said before; it must take `history` then."""
        self._pruner, self._options, self._history = pruner, options or {}, history

    def __call__(self, query: str, code: str) -> FloatArray:
        """Scores of the lines, float `[L]`."""
        return self.select(Record(query, code, ())).scores

    def select(self, item: Record) -> Selection:
        """Prune one item. Raises `ValueError`: the result's lines aren't those of the item."""
        options = dict(self._options)
        if self._history and item.history:
            options["history"] = item.history
        result = self._pruner.prune(item.query, item.code, task=item.task, path=item.path or None, **options)
        count = len(item.lines)
        scores = np.asarray(result.line_scores, dtype=np.float64)
        lines = np.asarray(result.kept_lines, dtype=np.intp)
        if scores.shape != (count,) or (lines.size and not 1 <= lines.min() <= lines.max() <= count):
            raise ValueError(f"{item.path or 'item'} has {count} lines, but its pruning speaks of others")
        kept = np.zeros(count, dtype=np.bool_)
        kept[lines - 1] = True
        return Selection(scores, kept, result.text)


DEFAULT_KEPT = 0.25  # Fraction of lines at which a scorer is measured that has no threshold and no reference
PRUNER = "lamr"  # Name of the pruner in `evaluate_pruner`'s report


def parses(text: str) -> bool:
    """Whether Python can parse a text."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


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
            a scorer's output doesn't fit an item's lines."""
    if not items:
        raise ValueError("there are no items to evaluate on")
    if reference is not None and reference not in scorers:
        raise ValueError(f"no scorer is called {reference!r}; there are {', '.join(scorers)}")
    refusals = Refusals(items, on_problem)
    by_place: dict[str, dict[int, _Outcome]] = {name: {} for name in scorers}
    seconds: dict[str, float] = {}
    for name, scorer in scorers.items():
        started = time.perf_counter()
        for place, item in enumerate(items):
            if place not in refusals:
                try:
                    by_place[name][place] = _outcome(scorer, item)
                except InvalidInputError as error:
                    refusals.add(place, f"{name} refuses it: {error}", error)
            if progress is not None:
                progress(name, place + 1, len(items))
        seconds[name] = time.perf_counter() - started
    measured = [place for place in range(len(items)) if place not in refusals]
    if not measured:
        raise RecordError(f"none of {len(items)} items can be measured; {refusals.first()}")
    outcomes = {name: [found[place] for place in measured] for name, found in by_place.items()}
    return _report(
        [items[place] for place in measured], outcomes, seconds, reference, bootstrap, refusals.all()
    )


_Outcome = tuple[Curve, Selection | None]
"""One scorer on one item: the curve of its ranking and, from a `Selector`, its selection."""


def _outcome(scorer: LineScorer | Selector, item: Record) -> _Outcome:
    if isinstance(scorer, Selector):
        selection = scorer.select(item)
        return recall_curve(selection.scores, item.gold, item.counted), selection
    return recall_curve(scorer(item.words, item.code), item.gold, item.counted), None


def _metrics(item: Record, outcome: _Outcome, fraction: float) -> Metrics:
    curve, selection = outcome
    if selection is None:
        return Confusion.expected(curve, fraction, item.gold, item.counted).metrics(curve)
    whole = parses(selection.text) if parses(item.code) else None
    tokens = approximate_tokens(selection.text) / max(1, approximate_tokens(item.code))
    return Confusion.of(selection.kept, item.gold, item.counted).metrics(curve, whole, tokens)


def _report(  # noqa: PLR0913, PLR0917 - private
    items: Sequence[Record],
    outcomes: Mapping[str, Sequence[_Outcome]],
    seconds: Mapping[str, float],
    reference: str | None,
    bootstrap: Bootstrap,
    left_out: tuple[Problem, ...],
) -> EvalReport:
    fractions = []  # which fraction of each item the reference keeps
    for place, item in enumerate(items):
        selection = outcomes[reference][place][1] if reference is not None else None
        lines = item.counted.sum()
        kept = (selection.kept & item.counted).sum() / lines if selection and lines else DEFAULT_KEPT
        fractions.append(float(kept))
    values = {
        name: stack([_metrics(*row) for row in zip(items, found, fractions, strict=True)])
        for name, found in outcomes.items()
    }
    files = np.array([file_of(item, place) for place, item in enumerate(items)])

    def overall(figures: FloatArray) -> Summary:
        return summarize(figures, files, bootstrap)

    def split(figures: FloatArray, what: str) -> dict[str, Summary]:
        labels = np.array([getattr(item, what) or "-" for item in items])
        masks = {str(label): labels == label for label in np.unique(labels)}
        return {label: summarize(figures[mask], files[mask], bootstrap) for label, mask in masks.items()}

    reports = [
        ScorerReport(
            name,
            overall(values[name]),
            split(values[name], "kind"),
            split(values[name], "project"),
            split(values[name], "language"),
            tuple(np.nanmean([curve.at(GRID) for curve, _ in found], axis=0).tolist()),
            seconds[name],
        )
        for name, found in outcomes.items()
    ]
    others = [name for name in outcomes if reference is not None and name != reference]
    gaps = {name: values[str(reference)] - values[name] for name in others}
    differences = tuple(Difference(name, overall(gap), split(gap, "kind")) for name, gap in gaps.items())
    return EvalReport(len(items), len(np.unique(files)), tuple(reports), reference, differences, left_out)


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
    """Measure a pruner and the baselines, each at the pruner's kept fraction. `options` and `history` belong to each
    call of the pruner (see `PrunerScorer`); see `evaluate` for all else."""
    scorers = {PRUNER: PrunerScorer(pruner, options, history=history), **baselines}
    return evaluate(
        items, scorers, reference=PRUNER, bootstrap=bootstrap, on_problem=on_problem, progress=progress
    )
