"""Measures packs and baselines on the same items: the share of gold lines and files that is shown at each budget.

The baselines are functions by BM25, of all files and of sources alone. Each shows lines until its tokens are used. What
it shows costs what its text costs with a heading for each file, without any markers, repair or tree, which favours
it over a pack.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lamr_base.cache import Cache
from lamr_base.errors import InvalidInputError
from lamr_model.counters import Counter
from lamr_postprocess.lines import IntArray, split_lines
from lamr_repositories import PackOptions, PackResult, prepare
from lamr_repositories.file_index import FileIndex, index_file
from lamr_repositories.indexing import KIND, key_of
from lamr_repositories.kinds import is_code, is_test
from lamr_repositories.lexical import PieceTable, by_rank
from lamr_repositories.revisions import Revision
from lamr_repositories.walk import WalkCount, WalkOptions, walk

from lamr_evaluation.errors import RecordError
from lamr_evaluation.problems import Problem, Refusals
from lamr_evaluation.repositories.items import RepositoryItem
from lamr_evaluation.repositories.report import MAIN, PackOutcome, RepositoryReport

Shown = Mapping[str, set[int]]
"""1-based lines by path."""
Method = Callable[["Corpus", int], Shown]
"""Takes the files and a budget of tokens."""
MOST_MISSES = 20
"""Runs that don't fit, after which no other one is tried."""


@dataclass(eq=False)
class Corpus:
    """All files of one repository, as the baselines see them."""

    query: str  # what is looked for
    indexes: Mapping[str, FileIndex]  # the files' indexes by path, in the order of paths
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
        kept = {p: each for p, each in self.indexes.items() if is_code(each.language) and not is_test(p)}
        return replace(self, indexes=kept)


def bm25_functions(corpus: Corpus, budget: int) -> Shown:
    """Show the best functions and paragraphs by BM25, each whole."""
    table = PieceTable(corpus.query)
    for path, index in corpus.indexes.items():
        table.add(path, index)
    pieces = table.finish()
    order = by_rank(pieces.by_piece).tolist()
    runs = ((pieces.paths[pieces.file[piece]], *pieces.spans[piece].tolist()) for piece in order)
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


def evaluate_repositories(  # noqa: PLR0913  # what is measured, with what
    items: Sequence[RepositoryItem],
    place: Callable[[str], Path],
    *,
    model: Path | None = None,
    cache: Path | None = None,
    budgets: Sequence[int] = BUDGETS,
    options: PackOptions | None = None,
    methods: Mapping[str, Method] = METHODS,
    on_problem: Callable[[Problem], None] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> RepositoryReport:
    """Return the recall of every method on every item at every budget.

    Args:
        items: the questions.
        place: gives the git directory of `owner/name`.
        model, cache: see `lamr_repositories.pack`.
        budgets: tokens, by the tokenizer of the options.
        options: of the packs, but for revision and budget.
        methods: what packs are measured against.
        on_problem: called with each item that can't be measured, which no figure then includes. Without it, the first
            such item ends the evaluation.
        progress: called with items done and their number.

    Raises:
        RecordError: an item's repository or revision can't be had, or its query can't be used, and there is no
            `on_problem`; or there is no other item.
    """
    measure = _Measure(place, model, cache, budgets, options or PackOptions(), methods)
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
        first = left_out[0]
        raise RecordError(f"no item can be measured; line {first.line}: {first.reason}", row=first.line)
    return RepositoryReport(measured, tuple(outcomes), tuple(budgets), left_out)


@dataclass(eq=False)
class _Measure:
    """What every item is measured with; see `evaluate_repositories`."""

    place: Callable[[str], Path]
    model: Path | None
    cache: Path | None
    budgets: Sequence[int]
    options: PackOptions
    methods: Mapping[str, Method]
    _last: tuple[tuple[str, str], Corpus] | None = None

    def outcomes(self, item: RepositoryItem) -> list[PackOutcome]:
        """Return the outcomes of all methods at all budgets on one item."""
        root = self.place(item.repository)
        options = replace(self.options, revision=item.revision, max_tokens=max(self.budgets))
        outcomes = []
        with prepare(root, item.query, model=self.model, cache=self.cache, options=options) as prepared:
            for budget in self.budgets:
                result = prepared.pack(budget)
                outcomes.append(_outcome(item, MAIN, budget, _lines(result), result.tokens))
            corpus = replace(self._corpus(item.repository, item.revision, prepared.counter), query=item.query)
        for name, method in self.methods.items():
            outcomes += [_outcome(item, name, budget, method(corpus, budget)) for budget in self.budgets]
        return outcomes

    def _corpus(self, repository: str, revision: str, counter: Counter) -> Corpus:
        """Return all files of a revision; those of the last one are kept for its next item."""
        if self._last is None or self._last[0] != (repository, revision):
            self._last = (repository, revision), self._read(repository, revision, counter)
        return self._last[1]

    def _read(self, repository: str, revision: str, counter: Counter) -> Corpus:
        indexes: dict[str, FileIndex] = {}
        texts: dict[str, str] = {}
        with Cache(self.cache) as kept:
            source = Revision(self.place(repository), revision)
            for listed, data, text in walk(source, WalkOptions(), WalkCount()):
                key, language = key_of(listed.path, data, text)
                known: Mapping[str, bytes] = kept.get(KIND, [key])
                texts[listed.path] = text
                indexes[listed.path] = (
                    FileIndex.from_bytes(known[key]) if key in known else index_file(text, language)
                )
        return Corpus("", indexes, texts.__getitem__, counter.count_each)


def _lines(result: PackResult) -> Shown:
    return {each.path: set(each.kept_lines) for each in result.files}


def _outcome(
    item: RepositoryItem, method: str, budget: int, shown: Shown, tokens: int | None = None
) -> PackOutcome:
    gold = sum(map(len, item.gold.values()))
    lines = sum(len(shown.get(path, set()).intersection(rows)) for path, rows in item.gold.items())
    files = sum(bool(shown.get(path)) for path in item.gold)
    return PackOutcome(item.id, method, budget, lines / gold, files / len(item.gold), tokens)
