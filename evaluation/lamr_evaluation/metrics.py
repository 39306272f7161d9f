"""Line-level quality of one selection or ranking, and means with bootstrap intervals over many.

Only lines that hold more than white space count. A ranking keeps its best lines first; every figure is the exact
expectation over the order of lines with equal scores. An item without gold lines has no recall or area (NaN), and means
leave it out; keeping nothing has precision 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields

import numpy as np
from lamr_base.resampling import Bootstrap, bootstrap_means
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

BUDGETS = (0.10, 0.25, 0.50)  # Fractions of kept lines at which recall is reported


@dataclass(frozen=True)
class Metrics:
    """One value for each metric: those of one item, their means, or the bounds of an interval. NaN where undefined."""

    precision: float  # quality of the selection at the operating point
    recall: float
    f1: float
    accuracy: float
    kept: float  # fraction of the lines that the selection keeps
    recall_10: float  # recall when that percentage of the lines is kept, best first
    recall_25: float
    recall_50: float
    area: float  # area under recall against kept fraction; at most 1 - (gold fraction) / 2
    parses: float  # whether the pruned text parses where the original does
    tokens: float  # the pruned text's tokens, markers included, as a share of the original's


METRICS = tuple(field.name for field in fields(Metrics))


@dataclass(frozen=True)
class Curve:
    """Recall against kept fraction, linear between its points."""

    kept: FloatArray  # float `[S+1]`, ascending from 0 to 1
    recall: FloatArray  # float `[S+1]`, from 0 to 1; all NaN without gold lines

    def at(self, kept: float | Sequence[float] | FloatArray) -> FloatArray:
        """Expected recall at kept fractions; float of their shape."""
        return np.asarray(np.interp(kept, self.kept, self.recall), dtype=np.float64)

    @property
    def area(self) -> float:
        return float(np.sum(np.diff(self.kept) * (self.recall[1:] + self.recall[:-1]) / 2))


def recall_curve(scores: ArrayLike, gold: BoolArray, counted: BoolArray) -> Curve:
    """Recall when lines are kept from the best score down.

    Args:
        scores: float `[L]`, one for each line.
        gold: bool `[L]`, which lines are gold.
        counted: bool `[L]`, which lines count.

    Raises:
        ValueError: the lengths differ, or a score is NaN."""
    values = np.asarray(scores, dtype=np.float64)
    if values.shape != gold.shape or gold.shape != counted.shape:
        raise ValueError(f"{values.size} scores for {gold.size} lines")
    if np.isnan(values).any():
        raise ValueError(f"the score of line {int(np.flatnonzero(np.isnan(values))[0]) + 1} is NaN")
    values, hits = values[counted], gold[counted]
    order = np.argsort(-values, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(values[order])), values.size - 1)  # of each group of ties
    total = hits.sum()
    if not total:
        return Curve(np.array([0.0, 1.0]), np.array([np.nan, np.nan]))
    kept = np.concatenate(([0.0], (ends + 1) / values.size))
    recall = np.concatenate(([0.0], np.cumsum(hits[order])[ends] / total))
    return Curve(kept, recall)


@dataclass(frozen=True)
class Confusion:
    """Counts of one selection, in lines; an expected count may be fractional."""

    hits: float  # gold lines that are kept
    kept: float  # lines that are kept
    gold: float
    lines: float  # all lines that count

    @classmethod
    def of(cls, kept: BoolArray, gold: BoolArray, counted: BoolArray) -> Confusion:
        """Counts of a selection; each argument is bool `[L]`."""
        hits, chosen = (kept & gold & counted).sum(), (kept & counted).sum()
        return cls(float(hits), float(chosen), float((gold & counted).sum()), float(counted.sum()))

    @classmethod
    def expected(cls, curve: Curve, fraction: float, gold: BoolArray, counted: BoolArray) -> Confusion:
        """Expected counts when a ranking keeps `fraction` of the lines; `gold` and `counted` are bool `[L]`."""
        wanted, lines = float((gold & counted).sum()), float(counted.sum())
        hits = float(curve.at(fraction)) * wanted if wanted else 0.0
        return cls(hits, fraction * lines, wanted, lines)

    def metrics(self, curve: Curve, parses: bool | None = None, tokens: float = np.nan) -> Metrics:
        """Metrics of this selection and of the ranking behind it; `parses` and `tokens` as in `Metrics`."""
        agree = self.lines - self.kept - self.gold + 2 * self.hits
        recalls = curve.at(BUDGETS)
        return Metrics(
            precision=self.hits / self.kept if self.kept else 0.0,
            recall=self.hits / self.gold if self.gold else np.nan,
            f1=2 * self.hits / (self.kept + self.gold) if self.kept + self.gold else 1.0,
            accuracy=agree / self.lines if self.lines else 1.0,
            kept=self.kept / self.lines if self.lines else 0.0,
            recall_10=float(recalls[0]),
            recall_25=float(recalls[1]),
            recall_50=float(recalls[2]),
            area=curve.area,
            parses=np.nan if parses is None else float(parses),
            tokens=tokens,
        )


@dataclass(frozen=True)
class Summary:
    """Means over items with 95 % bootstrap intervals."""

    items: int  # number of items
    mean: Metrics  # mean of each metric
    low: Metrics  # bounds of its interval
    high: Metrics


def stack(rows: list[Metrics]) -> FloatArray:
    """Metrics as an array `[items, metrics]`, columns in the order of `METRICS`."""
    return np.array([astuple(row) for row in rows], dtype=np.float64).reshape(len(rows), len(METRICS))


def summarize(values: FloatArray, clusters: ArrayLike, bootstrap: Bootstrap) -> Summary:
    """Means over items with percentile bootstrap intervals. Whole clusters are resampled, not items: questions about
    one file share what is hard about it, and resampling them apart would claim too narrow an interval. For two methods
    on the same items, pass the difference of their values: that is the paired bootstrap. Shapes: `values` float
    `[items, metrics]`, `clusters` `[items]`."""
    mean, low, high = bootstrap_means(values, clusters, bootstrap)
    return Summary(len(values), Metrics(*mean.tolist()), Metrics(*low.tolist()), Metrics(*high.tolist()))
