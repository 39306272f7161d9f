"""The pruners that are compared, as a table: everything, nothing, by place, words, vectors, models and the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from lamr_contract.counters import Counter
from lamr_contract.perplexity.causal_scorer import CausalScorer
from lamr_postprocess import BudgetError
from numpy.typing import NDArray

from lamr_evaluation.baselines import CosineOverFunctions, LineScorer, bm25_functions
from lamr_evaluation.judge.items import Item
from lamr_evaluation.judge.keeping import ByLines, FloatArray, Kept, Pruned, Pruner, or_nothing, shown
from lamr_evaluation.judge.longcodezip import LongCodeZip
from lamr_evaluation.records import bare_lines

WHOLE, NONE, ORACLE = "whole", "none", "oracle"
EFFORTS = ("instant", "auto", "full")


@dataclass(frozen=True)
class Whole:
    """Shows everything, whatever the budget."""

    key: str | None = "whole"

    def __call__(self, item: Item, budget: int) -> Kept:  # noqa: ARG002
        """See `Pruner`."""
        return Kept(item.code, tuple(range(1, len(bare_lines(item.code)) + 1)))


@dataclass(frozen=True)
class Nothing:
    """Shows nothing: what a reader knows without the code."""

    key: str | None = "none"

    def __call__(self, item: Item, budget: int) -> Kept:  # noqa: ARG002
        """See `Pruner`."""
        return Kept("", ())


@dataclass(frozen=True)
class Lamr:
    """lamr, or another model in its place.

    Attributes:
        pruner: a `lamr_client.Pruner`, or anything with its `prune`.
        options: of its every call: effort, tokenizer, repair.
        key: see `Pruner`.
    """

    pruner: Any
    options: dict[str, Any]
    key: str | None

    def __call__(self, item: Item, budget: int) -> Kept:
        """See `Pruner`. Where the smallest text that parses is too large, repair is left out."""

        def prune(**more: Any) -> Pruned:
            done: Pruned = self.pruner.prune(
                item.query, item.code, path=item.path or None, max_tokens=budget, **{**self.options, **more}
            )
            return done

        try:
            return shown(prune())
        except BudgetError:
            return or_nothing(lambda: prune(repair=False))


def head_and_tail(item: Item) -> FloatArray:
    """Score lines by how near they are to an end of the code."""
    places = np.arange(len(bare_lines(item.code)), dtype=np.float64)
    return -np.minimum(places, places[::-1])


def oracle(item: Item) -> FloatArray:
    """Score the lines that the answer needs best, and others by how near they are to one."""
    places = np.arange(1, len(bare_lines(item.code)) + 1, dtype=np.float64)
    gold = np.array(item.gold, dtype=np.float64)
    return -np.asarray(np.abs(places[:, None] - gold).min(axis=1, initial=len(places)), dtype=np.float64)


def by_query(scorer: LineScorer) -> Callable[[Item], FloatArray]:
    """Return a score of an item's lines by what its query looks for."""
    return lambda item: np.asarray(scorer(item.query, item.code), dtype=np.float64)


@dataclass(frozen=True)
class Setup:
    """What pruners are made of.

    Attributes:
        count: counts the reader's tokens.
        pruner: lamr's; anything with `lamr_client.Pruner`'s `prune`.
        tokenizer: the reader's `tokenizer.json`, by which lamr counts as `count` does; None counts by limits.
        embed: turns texts into vectors, for RAG; None leaves it out.
        embed_key: names what embeds, so that what it chose may be kept; None where it may not.
        scorer: the causal model of LongCodeZip; None leaves it out.
        swe_pruner: a pruner with SWE-Pruner's weights; None leaves it out.
    """

    count: Counter
    pruner: Any
    tokenizer: str | None = None
    embed: Callable[[Sequence[str]], NDArray[np.floating[Any]]] | None = None
    embed_key: str | None = None
    scorer: CausalScorer | None = None
    swe_pruner: Any = None

    def lamr(self, pruner: Any, **options: Any) -> Lamr:
        """Return a pruner on a model of lamr's form."""
        named = (
            f"{pruner.spec.name} {pruner.spec.version} {pruner.spec.fingerprint} {sorted(options.items())}"
        )
        return Lamr(pruner, {"tokenizer": self.tokenizer, "degrade": False, **options}, named)


def _lines(score: Callable[[Item], FloatArray], key: str | None) -> Callable[[Setup], Pruner]:
    return lambda setup: ByLines(score, setup.count, key)


def _rag(setup: Setup) -> Pruner | None:
    if setup.embed is None:
        return None
    key = None if setup.embed_key is None else f"rag {setup.embed_key}"
    return ByLines(by_query(CosineOverFunctions(setup.embed)), setup.count, key)


def _zip(fine: bool) -> Callable[[Setup], Pruner | None]:
    def make(setup: Setup) -> Pruner | None:
        return None if setup.scorer is None else LongCodeZip(setup.scorer, setup.count, fine)

    return make


def _swe_pruner(setup: Setup) -> Pruner | None:
    if setup.swe_pruner is None:
        return None
    return setup.lamr(setup.swe_pruner, effort="full", repair=False, markers="swe-pruner")


def _lamr(effort: str) -> Callable[[Setup], Pruner]:
    return lambda setup: setup.lamr(setup.pruner, effort=effort)


PRUNERS: dict[str, Callable[[Setup], Pruner | None]] = {
    WHOLE: lambda _: Whole(),
    NONE: lambda _: Nothing(),
    "head-tail": _lines(head_and_tail, "head-tail"),
    "bm25": _lines(by_query(bm25_functions), "bm25"),
    "rag": _rag,
    "longcodezip-coarse": _zip(False),
    "longcodezip": _zip(True),
    "swe-pruner": _swe_pruner,
    **{f"lamr-{effort}": _lamr(effort) for effort in EFFORTS},
    ORACLE: _lines(oracle, "oracle"),
}
"""Makes each pruner; None where what it needs isn't given."""
UNPRUNED = (WHOLE, NONE)
"""Those that heed no budget."""
