"""Measures packs and baselines on the same items: the share of gold lines and files that is shown at each budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lamr_contract.cache import Cache
from lamr_contract.counters import Counter
from lamr_contract.errors import InvalidInputError
from lamr_repositories import PackOptions, PackResult, prepare
from lamr_repositories.file_index import FileIndex, index_file
from lamr_repositories.indexing import KIND, key_of
from lamr_repositories.revisions import Revision
from lamr_repositories.walk import WalkCount, WalkOptions, walk

from lamr_evaluation.errors import RecordError
from lamr_evaluation.problems import Problem, Refusals
from lamr_evaluation.repositories.baselines import METHODS, Corpus, Method, Shown
from lamr_evaluation.repositories.items import RepositoryItem
from lamr_evaluation.repositories.report import MAIN, Outcome, RepositoryReport

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
    outcomes: list[Outcome] = []
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

    def outcomes(self, item: RepositoryItem) -> list[Outcome]:
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
) -> Outcome:
    gold = sum(map(len, item.gold.values()))
    lines = sum(len(shown.get(path, set()).intersection(rows)) for path, rows in item.gold.items())
    files = sum(bool(shown.get(path)) for path in item.gold)
    return Outcome(item.id, method, budget, lines / gold, files / len(item.gold), tokens)
