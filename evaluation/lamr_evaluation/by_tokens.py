"""What budgets of tokens buy: the share of the needed lines, and of items of which all needed lines are there.

Methods are the pruner, which is asked with each budget; whole functions in the order of BM25, and of the pruner's own
best line in each; windows by BM25; and grep with five lines around each hit. Baselines take what fits and step over
what doesn't; their cuts have the same markers. A file that fits is kept whole by all."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from lamr_base.errors import InvalidInputError
from lamr_base.resampling import BOOTSTRAP, bootstrap_means
from lamr_base.tables import align
from lamr_model.counters import Counter
from lamr_postprocess import SourceFile
from lamr_postprocess.document import analyse
from lamr_postprocess.render import Style, cuts_of, render, sample_marker
from lamr_repositories.options import OnProgress
from numpy.typing import NDArray

from lamr_evaluation.baselines import bm25_functions, bm25_windows, grep
from lamr_evaluation.errors import RecordError
from lamr_evaluation.measure import PrunerLike
from lamr_evaluation.records import Problem, Record, Refusals, file_of

BUDGETS: tuple[int | str, ...] = (800, 2_000, "quarter")  # Tokens; `quarter` is that share of the file's
PRUNER, OWN_FUNCTIONS = "lamr", "functions by lamr's scores"
_LEAST_BUDGET = 40  # a quarter of a few lines is no budget
_COLUMNS = ("recall", "whole", "used", "cuts")
_SELECTED = ("semantic", "dependency", "keep")

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class BudgetResult:
    """What one method kept of one item within one budget."""

    method: str
    budget: str
    recall: float  # the share of the needed lines that were kept
    whole: float  # 1 where all were
    used: float  # the tokens of the text as a share of the budget, or of the file's where it has fewer
    cuts: int  # how many markers the text has
    shares: Mapping[str, float]  # what the pruner's text consists of: selected lines, markers, repair by kind


@dataclass(frozen=True)
class TokenReport:
    """The figures of one evaluation by tokens."""

    files: tuple[str, ...]  # of each item, which file it is about
    results: tuple[tuple[BudgetResult, ...], ...]  # of each item, what each method kept within each budget
    left_out: tuple[Problem, ...] = ()  # items that the pruner refused

    def _of(self, method: str, budget: int | str) -> list[BudgetResult]:
        each = (result for item in self.results for result in item)
        return [result for result in each if (result.method, result.budget) == (method, str(budget))]

    def mean(self, method: str, budget: int | str, what: str) -> float:
        """The mean of `recall`, `whole`, `used` or `cuts` over items."""
        return float(np.mean([getattr(each, what) for each in self._of(method, budget)]))

    def interval(self, method: str, budget: int | str, what: str) -> tuple[float, float]:
        """The 95 % interval of a mean, by bootstrap over files."""
        values = np.array([[getattr(each, what)] for each in self._of(method, budget)], np.float64)
        _, low, high = bootstrap_means(values, np.array(self.files), BOOTSTRAP)
        return float(low[0]), float(high[0])

    @property
    def methods(self) -> list[str]:
        """The methods in their order."""
        return list(dict.fromkeys(each.method for each in self.results[0]))

    def spent(self, budget: int | str) -> dict[str, float]:
        """What the pruner's tokens were spent on, as mean shares over items that were cut, the largest first."""
        rows = [each.shares for each in self._of(PRUNER, budget) if each.cuts]
        names = {name for row in rows for name in row}
        means = {name: float(np.mean([row.get(name, 0.0) for row in rows])) for name in names}
        return dict(sorted(means.items(), key=lambda each: -each[1]))

    def table(self) -> str:
        head = [f"{len(self.results)} items, {len(set(self.files))} files"]
        head += [f"{len(self.left_out)} left out"] if self.left_out else []
        rows = [["", *(f"{budget} {what}" for budget in BUDGETS for what in _COLUMNS)]]
        for method in self.methods:
            rows.append(
                [method, *(f"{self.mean(method, b, what):.3g}" for b in BUDGETS for what in _COLUMNS)]
            )
        intervals = [["95 % interval of lamr's", *map(str, BUDGETS)]]
        for what in ("recall", "whole"):
            bounds = [self.interval(PRUNER, budget, what) for budget in BUDGETS]
            intervals.append([what, *(f"{low:.3f} to {high:.3f}" for low, high in bounds)])
        spent = [
            f"of lamr's tokens at {budget}: "
            + ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items())
            for budget in BUDGETS
            if (shares := self.spent(budget))
        ]
        return "\n\n".join(["; ".join(head), align(rows), align(intervals), "\n".join(spent)])

    def to_json(self) -> str:
        means = {
            method: {str(b): {w: round(self.mean(method, b, w), 4) for w in _COLUMNS} for b in BUDGETS}
            for method in self.methods
        }
        left_out = [asdict(each) for each in self.left_out]
        data: dict[str, Any] = {"items": len(self.results), "files": len(set(self.files)), "means": means}
        data |= {"spent": {str(b): self.spent(b) for b in BUDGETS}, "left_out": left_out}
        return json.dumps(data, indent=2)


def evaluate_by_tokens(  # noqa: PLR0913  # keywords with defaults
    items: Sequence[Record],
    pruner: PrunerLike,
    counter: Counter,
    *,
    options: Mapping[str, Any] | None = None,
    history: bool = False,
    on_problem: Callable[[Problem], None] | None = None,
    progress: OnProgress | None = None,
) -> TokenReport:
    """Measure a pruner and baselines within `BUDGETS`. Raises `RecordError`: no item has needed lines, or the pruner
    refuses all, or one and there is no `on_problem`."""
    needing = [item for item in items if (item.gold & item.counted).any()]
    if not needing:
        raise RecordError("there are no items with needed lines")
    refusals = Refusals(needing, on_problem)
    results, files = [], []
    for place, item in enumerate(needing):
        try:
            before = {"history": item.history} if history and item.history else {}
            asked = _Asked(item, pruner, counter, {**(options or {}), **before})
            results.append(tuple(each for budget in BUDGETS for each in asked.within(budget)))
            files.append(file_of(item, place))
        except InvalidInputError as error:
            refusals.add(place, f"{PRUNER} refuses it: {error}", error)
        if progress is not None:
            progress(PRUNER, place + 1, len(needing))
    if not results:
        raise RecordError(f"none of {len(needing)} items can be measured; {refusals.first()}")
    return TokenReport(tuple(files), tuple(results), refusals.all())


class _Asked:
    """One item, and what is known of its file."""

    def __init__(
        self, item: Record, pruner: PrunerLike, counter: Counter, options: Mapping[str, Any]
    ) -> None:
        self.item, self.pruner, self.counter, self.options = item, pruner, counter, options
        self.document = analyse(SourceFile(item.code, item.path, listed=False))
        lines = [self.document.line(row) for row in range(len(self.document.blank))]
        self.prices, self.tokens = counter.line_costs(lines), counter.count_tokens(item.code)

    def within(self, budget: int | str) -> Iterator[BudgetResult]:
        """What each method buys within a budget."""
        limit = budget if isinstance(budget, int) else max(_LEAST_BUDGET, self.tokens // 4)
        item = self.item
        result: Any = self.pruner.prune(
            item.query, item.code, task=item.task, path=item.path or None, max_tokens=limit, **self.options
        )
        kept = np.zeros(len(self.prices), np.bool_)
        kept[np.asarray(result.kept_lines, np.intp) - 1] = True
        shares = self._shares(result.reasons, result.text)
        yield self._result(PRUNER, budget, limit, kept, result.text, shares)
        scores = np.asarray(result.line_scores, np.float64)
        for method, values, pieces in self._baselines(scores):
            kept = self._filled(values, pieces, limit)
            yield self._result(method, budget, limit, kept, render(self.document, kept, Style())[0])

    def _baselines(self, scores: FloatArray) -> Iterator[tuple[str, FloatArray, NDArray[np.int64]]]:
        item, pieces = self.item, self.document.pieces
        each = np.arange(len(pieces))
        for name, values in (
            (OWN_FUNCTIONS, scores),
            ("functions by BM25", bm25_functions(item.words, item.code)),
        ):
            best = np.full(int(pieces.max(initial=-1)) + 1, -np.inf)
            np.maximum.at(best, pieces, values)
            yield name, best[pieces], pieces
        yield "windows by BM25", bm25_windows(item.words, item.code), each
        yield "grep\u00b15", grep(item.words, item.code), each

    def _filled(self, values: FloatArray, pieces: NDArray[np.int64], limit: int) -> BoolArray:
        """The pieces that fit, the best first; a piece that doesn't fit is stepped over."""
        kept = np.zeros(len(pieces), np.bool_)
        if self.tokens <= limit:
            return ~kept
        marker = self.counter.count_tokens(sample_marker(self.document))
        numbers, first = np.unique(pieces, return_index=True)
        for piece in numbers[np.lexsort((first, -values[first]))]:
            more = kept | (pieces == piece)
            if self.prices[more].sum() + marker * len(cuts_of(more)) <= limit:
                kept = more
        return kept

    def _shares(self, reasons: Mapping[int, str], text: str) -> dict[str, float]:
        total = max(1, self.counter.count_tokens(text))
        shares: dict[str, float] = {}
        for line, why in reasons.items():
            name = "selected" if why in _SELECTED else why
            shares[name] = shares.get(name, 0.0) + float(self.prices[line - 1]) / total
        return {**shares, "markers": max(0.0, 1 - sum(shares.values()))}

    def _result(  # noqa: PLR0913, PLR0917  # what there is to say of one text
        self,
        method: str,
        budget: int | str,
        limit: int,
        kept: BoolArray,
        text: str,
        shares: Mapping[str, float] | None = None,
    ) -> BudgetResult:
        gold = self.item.gold & self.item.counted
        recall = float((kept & gold).sum() / gold.sum())
        used = self.counter.count_tokens(text) / max(1, min(limit, self.tokens))
        cuts = len(cuts_of(kept))
        return BudgetResult(method, str(budget), recall, float(recall == 1), used, cuts, shares or {})
