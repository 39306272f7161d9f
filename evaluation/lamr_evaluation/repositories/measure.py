"""Measures packs and baselines on the same items: the share of gold lines and files that is shown at each budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lamr_client import Pruner
from lamr_contract.cache import Cache
from lamr_contract.counters import MODELS_OWN
from lamr_contract.errors import InvalidInputError
from lamr_contract.perplexity.causal_scorer import CausalScorer
from lamr_repositories import PackOptions, PackResult, Prepared, prepare
from lamr_repositories.file_index import FileIndex, index_file
from lamr_repositories.indexing import KIND, key_of
from lamr_repositories.revisions import Revision
from lamr_repositories.walk import WalkCount, WalkOptions, walk

from lamr_evaluation.errors import RecordError
from lamr_evaluation.problems import Problem, Refusals
from lamr_evaluation.repositories.baselines import METHODS, Corpus, Method, Shown
from lamr_evaluation.repositories.items import RepositoryItem
from lamr_evaluation.repositories.report import Outcome, RepositoryReport

BUDGETS = (4_000, 8_000, 16_000, 32_000)
READ_IN_FULL = PackOptions(effort="full", degrade=False)
OURS = {"pack": "sum", "pack --ranker bm25": "bm25", "pack --ranker relevance": "relevance"}
"""The rows of a report that are packs, and their rankers."""
BY_PERPLEXITY = {"pack --ranker perplexity": "perplexity"}
"""The same for a causal language model."""


def evaluate_repositories(  # noqa: PLR0913  # what is measured, with what
    items: Sequence[RepositoryItem],
    place: Callable[[str], Path],
    pruner: Pruner,
    *,
    cache: Path | None = None,
    budgets: Sequence[int] = BUDGETS,
    options: PackOptions = READ_IN_FULL,
    methods: Mapping[str, Method] = METHODS,
    scorer: CausalScorer | None = None,
    on_problem: Callable[[Problem], None] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> RepositoryReport:
    """Return the recall of every method on every item at every budget.

    Args:
        items: the questions.
        place: gives the git directory of `owner/name`.
        pruner: asks the model.
        cache: see `lamr_repositories.pack`.
        budgets: tokens by the model's tokenizer.
        options: of the packs, but for revision, budget and ranker. The default reads every chosen chunk, because
            results should not depend on how busy a machine is, and a fault ends the evaluation.
        methods: what packs are measured against.
        scorer: a causal language model, for packs by the ranker `perplexity`; None makes none.
        on_problem: called with each item that can't be measured, which no figure then includes. Without it, the first
            such item ends the evaluation.
        progress: called with items done and their number.

    Raises:
        RecordError: an item's repository or revision can't be had, or the model refuses its query, and there is no
            `on_problem`; or there is no other item.
        ServerError: see `Pruner`.
    """
    measure = _Measure(place, pruner, cache, budgets, options, methods, scorer)
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


@dataclass(frozen=True, eq=False)
class _Measure:
    """What every item is measured with; see `evaluate_repositories`."""

    place: Callable[[str], Path]
    pruner: Pruner
    cache: Path | None
    budgets: Sequence[int]
    options: PackOptions
    methods: Mapping[str, Method]
    scorer: CausalScorer | None

    def outcomes(self, item: RepositoryItem) -> list[Outcome]:
        """Return the outcomes of all methods at all budgets on one item."""
        root = self.place(item.repository)
        largest = max(self.budgets)
        options = replace(self.options, revision=item.revision, max_tokens=largest, tokenizer=MODELS_OWN)
        outcomes = self._of_packs(root, item, options, OURS)
        if self.scorer is not None:
            by_perplexity = replace(options, ranker=next(iter(BY_PERPLEXITY.values())))
            outcomes += self._of_packs(root, item, by_perplexity, BY_PERPLEXITY)
        corpus = _corpus(root, item, self.pruner, self.cache)
        for name, method in self.methods.items():
            outcomes += [_outcome(item, name, budget, method(corpus, budget)) for budget in self.budgets]
        return outcomes

    def _of_packs(
        self, root: Path, item: RepositoryItem, options: PackOptions, rankers: Mapping[str, str]
    ) -> list[Outcome]:
        with prepare(
            root, item.query, pruner=self.pruner, cache=self.cache, options=options, scorer=self.scorer
        ) as prepared:
            return _packs(item, prepared, self.budgets, rankers)


def _packs(
    item: RepositoryItem, prepared: Prepared, budgets: Sequence[int], rankers: Mapping[str, str]
) -> list[Outcome]:
    outcomes = []
    for name, ranker in rankers.items():
        for budget in budgets:
            result = prepared.pack(budget, ranker=ranker)
            outcomes.append(_outcome(item, name, budget, _lines(result), result.tokens))
    return outcomes


def _lines(result: PackResult) -> Shown:
    return {each.path: set(each.kept_lines) for each in result.files}


def _outcome(
    item: RepositoryItem, method: str, budget: int, shown: Shown, tokens: int | None = None
) -> Outcome:
    gold = sum(map(len, item.gold.values()))
    lines = sum(len(shown.get(path, set()).intersection(rows)) for path, rows in item.gold.items())
    files = sum(bool(shown.get(path)) for path in item.gold)
    return Outcome(item.id, method, budget, lines / gold, files / len(item.gold), tokens)


def _corpus(root: Path, item: RepositoryItem, pruner: Pruner, cache: Path | None) -> Corpus:
    source = Revision(root, item.revision)
    indexes: dict[str, FileIndex] = {}
    texts: dict[str, str] = {}
    with Cache(cache) as kept:
        for listed, data, text in walk(source, WalkOptions(), WalkCount()):
            key, language = key_of(listed.path, data, text)
            known: Mapping[str, bytes] = kept.get(KIND, [key])
            indexes[listed.path] = (
                FileIndex.from_bytes(known[key]) if key in known else index_file(text, language)
            )
            texts[listed.path] = text
    return Corpus(item.query, indexes, texts.__getitem__, pruner.encoder.count_each)
