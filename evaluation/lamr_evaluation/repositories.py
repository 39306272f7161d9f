"""Measures packs on whole repositories: the share of gold lines and files that is shown at each budget.

An item is a repository at a revision, a query, and the lines by file that answer it; a file of items holds one JSON
object a line. The baselines are functions by BM25, of all files and of sources alone. Each shows lines until its tokens
are used. What it shows costs what its text costs with a heading for each file, without any markers, repair or tree,
which favours it over a pack."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from lamr_base.errors import InvalidInputError
from lamr_model.counters import Counter
from lamr_postprocess import detect_language
from lamr_postprocess.lines import IntArray, split_lines
from lamr_repositories import PackOptions, prepare
from lamr_repositories.file_index import FileIndex, index_file, joined
from lamr_repositories.kinds import is_code, is_test
from lamr_repositories.lexical import Pieces, by_rank
from lamr_repositories.revisions import Revision
from lamr_repositories.walk import WalkCount, WalkOptions, walk

from lamr_evaluation.errors import RecordError
from lamr_evaluation.records import Problem, Refusals, read_rows


@dataclass(frozen=True)
class RepositoryItem:
    """One question about one repository."""

    repository: str  # `owner/name`
    revision: str  # the commit that is searched
    query: str  # what is looked for
    gold: Mapping[str, tuple[int, ...]]  # 1-based lines by path
    language: str = ""  # what the gold files are written in
    names_it: bool = False  # whether the query names a gold file, or a function around a gold line
    id: str = ""  # a name that no other item has
    row: int = field(default=0, compare=False)  # its 1-based line in its file; 0 for none

    def __post_init__(self) -> None:
        if not self.query.strip():
            raise ValueError("the query is empty")
        if not self.gold or not all(self.gold.values()):
            raise ValueError("gold must name lines of at least one file")
        if any(line < 1 for lines in self.gold.values() for line in lines):
            raise ValueError("lines count from 1")


_NAMES = {each.name for each in fields(RepositoryItem)} - {"row"}


def read_items(path: Path, on_problem: Callable[[Problem], None] | None = None) -> list[RepositoryItem]:
    """Read a file of items; see `read_rows`."""
    return list(read_rows(path, _item_of, on_problem))


def _item_of(row: Any, number: int) -> RepositoryItem:
    if not isinstance(row, dict) or not set(row) <= _NAMES or not isinstance(row.get("gold"), dict):
        raise ValueError(f"expected an object with the fields {', '.join(sorted(_NAMES))}")
    gold = {path: tuple(int(line) for line in lines) for path, lines in row["gold"].items()}
    return RepositoryItem(**{**row, "gold": gold, "row": number})


MAIN, MAIN_BUDGET = "pack", 8_000
_RESAMPLES = 2_000
_SHARES = ("lines", "whole", "files")


@dataclass(frozen=True)
class PackOutcome:
    """What one method shows of one item's gold at one budget."""

    item: str  # the item's id
    method: str  # by what, and tokens
    budget: int
    lines: float  # the share of gold lines shown, and of gold files of which a line is shown
    files: float
    tokens: int | None = None  # how many tokens it took; None where the method stops by itself

    @property
    def whole(self) -> float:
        """1 where all gold lines are shown."""
        return float(self.lines == 1.0)


@dataclass(frozen=True)
class RepositoryReport:
    """All outcomes."""

    items: tuple[RepositoryItem, ...]  # what was measured
    outcomes: tuple[PackOutcome, ...]  # of every method on every item at every budget
    budgets: tuple[int, ...]  # tokens
    left_out: tuple[Problem, ...] = ()  # items that couldn't be read or measured

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods in the order of the outcomes."""
        return tuple(dict.fromkeys(each.method for each in self.outcomes))

    @property
    def over_budget(self) -> int:
        """How many packs had more tokens than their budget."""
        return sum(each.tokens is not None and each.tokens > each.budget for each in self.outcomes)

    def mean(self, method: str, budget: int, what: str = "lines") -> float:
        """Return the mean of `lines`, `whole` or `files` over items."""
        shares = [getattr(o, what) for o in self.outcomes if (o.method, o.budget) == (method, budget)]
        return float(np.mean(shares)) if shares else float("nan")

    def interval(self, one: str, other: str, budget: int) -> tuple[float, float]:
        """Return the 95 % bootstrap interval over items of the ratio of two methods' recall of lines."""
        shares = [
            np.array([o.lines for o in self.outcomes if (o.method, o.budget) == (method, budget)])
            for method in (one, other)
        ]
        picks = np.random.default_rng(0).integers(0, len(self.items), (_RESAMPLES, len(self.items)))
        above, below = (share[picks].mean(axis=1) for share in shares)
        low, high = np.quantile(above / np.maximum(below, 1e-9), [0.025, 0.975])
        return float(low), float(high)

    def table(self) -> str:
        count = len(self.items)
        projects = len({item.repository for item in self.items})
        left_out = f"; {len(self.left_out)} left out" if self.left_out else ""
        rows = [f"{count} items of {projects} repositories{left_out}", ""]
        for what in _SHARES:
            name = "whole answers" if what == "whole" else f"recall of gold {what}"
            rows.append(f"{name:<34}" + "".join(f"{budget:>9,}" for budget in self.budgets))
            for method in self.methods:
                means = (self.mean(method, budget, what) for budget in self.budgets)
                rows.append(f"{method:<34}" + "".join(f"{mean:>9.3f}" for mean in means))
            rows.append("")
        budget = MAIN_BUDGET if MAIN_BUDGET in self.budgets else self.budgets[-1]
        others = [method for method in self.methods if not method.startswith(MAIN)]
        other = max(others, key=lambda method: self.mean(method, budget))
        ratio = self.mean(MAIN, budget) / max(self.mean(other, budget), 1e-9)
        low, high = self.interval(MAIN, other, budget)
        rows += [f"{MAIN} / {other} at {budget:,} tokens: {ratio:.2f} (95 % {low:.2f} to {high:.2f})"]
        rows += [f"packs over budget: {self.over_budget}"]
        return "\n".join(rows)

    def to_json(self) -> str:
        """Return all outcomes and the means as one JSON object."""
        means = {
            what: {
                method: {str(b): round(self.mean(method, b, what), 4) for b in self.budgets}
                for method in self.methods
            }
            for what in _SHARES
        }
        rows = {name: [asdict(each) for each in getattr(self, name)] for name in ("left_out", "outcomes")}
        return json.dumps({"items": len(self.items), "means": means, "over_budget": self.over_budget, **rows})


Shown = Mapping[str, set[int]]  # 1-based lines by path
Method = Callable[["Corpus", int], Shown]  # Takes the files and a budget of tokens
MOST_MISSES = 20  # Runs that don't fit, after which no other one is tried


@dataclass(eq=False)
class Corpus:
    """All files of one repository, as the baselines see them."""

    query: str  # what is looked for
    indexes: Mapping[str, FileIndex]  # the files' indexes by path, in the order of paths
    languages: Mapping[str, str]  # the names of their languages
    read: Callable[[str], str]  # gives a file's text
    count_each: Callable[[Sequence[str]], IntArray]  # the tokens of each of several short texts
    _prices: dict[str, IntArray] = field(default_factory=dict)

    def prices(self, path: str) -> IntArray:
        """Return the tokens of a file's heading, and those of each of its L lines, int64 [1 + L]."""
        if path not in self._prices:
            self._prices[path] = self.count_each([path, *split_lines(self.read(path))])
        return self._prices[path]

    def sources(self) -> Corpus:
        """Return the corpus without tests, prose and data."""
        kept = {p: each for p, each in self.indexes.items() if is_code(self.languages[p]) and not is_test(p)}
        return replace(self, indexes=kept)


def bm25_functions(corpus: Corpus, budget: int) -> Shown:
    """Show the best functions and paragraphs by BM25, each whole."""
    pieces = Pieces.scored(list(corpus.indexes), joined(list(corpus.indexes.values())), corpus.query)
    order, spans = by_rank(pieces.by_piece).tolist(), pieces.index.spans
    runs = ((pieces.paths[pieces.file[piece]], *spans[piece].tolist()) for piece in order)
    return fill(corpus, runs, budget)


METHODS: dict[str, Method] = {
    "bm25 functions": bm25_functions,
    "bm25 functions, sources only": lambda corpus, budget: bm25_functions(corpus.sources(), budget),
}


def fill(corpus: Corpus, runs: Iterable[tuple[str, int, int]], budget: int) -> Shown:
    """Show runs of rows in their order, as many as fit; rows that are shown already cost nothing."""
    shown: dict[str, set[int]] = defaultdict(set)
    used = misses = 0
    for path, first, stop in runs:
        prices = corpus.prices(path)
        fresh = [row for row in range(first + 1, stop + 1) if row not in shown.get(path, ())]
        cost = int(prices[fresh].sum()) + (0 if path in shown else int(prices[0]))
        if used + cost > budget:
            misses += 1
            if misses > MOST_MISSES:
                break
            continue
        used += cost
        shown[path].update(fresh)
    return shown


BUDGETS = (2_000, 8_000, 32_000)


def evaluate_repositories(  # noqa: PLR0913  # keyword-only, each with a default
    items: Sequence[RepositoryItem],
    place: Callable[[str], Path],
    *,
    model: Path | None = None,
    cache: Path | None = None,
    budgets: Sequence[int] = BUDGETS,
    options: PackOptions | None = None,
    on_problem: Callable[[Problem], None] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> RepositoryReport:
    """Return the recall of every method on every item at every budget of tokens.

    Args:
        items: the questions; `on_problem` gets each that can't be measured, and without it the first one ends all.
        place: gives the git directory of `owner/name`.
        options: of the packs, but for revision and budget; see `lamr_repositories.pack` for `model` and `cache`.

    Raises:
        RecordError: an item can't be measured and there is no `on_problem`, or no item can."""
    measure = _Measure(place, model, cache, budgets, options or PackOptions())
    outcomes: list[PackOutcome] = []
    refusals = Refusals(items, on_problem)
    for number, item in enumerate(items):
        try:
            outcomes += measure.outcomes(item)
        except InvalidInputError as error:
            refusals.add(number, f"{item.id or item.repository}: {error}", error)
        if progress:
            progress("items", number + 1, len(items))
    measured = tuple(item for number, item in enumerate(items) if number not in refusals)
    left_out = refusals.all()
    if left_out and not measured:
        raise RecordError(f"no item can be measured; {refusals.first()}", row=left_out[0].line)
    return RepositoryReport(measured, tuple(outcomes), tuple(budgets), left_out)


@dataclass(eq=False)
class _Measure:
    """What every item is measured with; see `evaluate_repositories`."""

    place: Callable[[str], Path]
    model: Path | None
    cache: Path | None
    budgets: Sequence[int]
    options: PackOptions
    _last: tuple[tuple[str, str], Corpus] | None = None

    def outcomes(self, item: RepositoryItem) -> list[PackOutcome]:
        """Return the outcomes of all methods at all budgets on one item."""
        root = self.place(item.repository)
        options = replace(self.options, revision=item.revision, max_tokens=max(self.budgets))
        outcomes = []
        with prepare(root, item.query, model=self.model, cache=self.cache, options=options) as prepared:
            for budget in self.budgets:
                result = prepared.pack(budget)
                shown = {each.path: set(each.kept_lines) for each in result.files}
                outcomes.append(_outcome(item, MAIN, budget, shown, result.tokens))
            source = (item.repository, item.revision)
            if (
                self._last is None or self._last[0] != source
            ):  # all files of the last revision serve its next item
                self._last = source, self._read(*source, prepared.counter)
            corpus = replace(self._last[1], query=item.query)
        for name, method in METHODS.items():
            outcomes += [_outcome(item, name, budget, method(corpus, budget)) for budget in self.budgets]
        return outcomes

    def _read(self, repository: str, revision: str, counter: Counter) -> Corpus:
        indexes: dict[str, FileIndex] = {}
        languages: dict[str, str] = {}
        texts: dict[str, str] = {}
        source = Revision(self.place(repository), revision)
        for listed, _, text in walk(source, WalkOptions(), WalkCount()):
            languages[listed.path] = detect_language(text, listed.path).name
            texts[listed.path] = text
            indexes[listed.path] = index_file(text, languages[listed.path])
        return Corpus("", indexes, languages, texts.__getitem__, counter.count_each)


def _outcome(
    item: RepositoryItem, method: str, budget: int, shown: Shown, tokens: int | None = None
) -> PackOutcome:
    gold = sum(map(len, item.gold.values()))
    lines = sum(len(shown.get(path, set()).intersection(rows)) for path, rows in item.gold.items())
    files = sum(bool(shown.get(path)) for path in item.gold)
    return PackOutcome(item.id, method, budget, lines / gold, files / len(item.gold), tokens)
