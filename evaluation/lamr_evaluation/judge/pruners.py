"""The pruners that are compared, as a table: everything, nothing, by place, words, models and the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from lamr_contract.counters import Counter
from lamr_contract.perplexity.causal_scorer import CausalScorer
from lamr_postprocess import BudgetError

from lamr_evaluation.baselines import bm25_functions
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
    """lamr at one effort.

    Attributes:
        pruner: a `lamr_client.Pruner`, or anything with its `prune` and `spec`.
        effort, tokenizer: of its every call.
    """

    pruner: Any
    effort: str
    tokenizer: str | None

    @property
    def key(self) -> str:
        """See `Pruner`."""
        spec = self.pruner.spec
        return f"{spec.name} {spec.version} {spec.fingerprint} {self.effort}"

    def __call__(self, item: Item, budget: int) -> Kept:
        """See `Pruner`. Where the smallest text that parses is too large, repair is left out."""

        def prune(**more: Any) -> Pruned:
            done: Pruned = self.pruner.prune(
                item.query,
                item.code,
                path=item.path or None,
                max_tokens=budget,
                effort=self.effort,
                tokenizer=self.tokenizer,
                degrade=False,
                **more,
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


@dataclass(frozen=True)
class Setup:
    """What pruners are made of.

    Attributes:
        count: counts the reader's tokens.
        pruner: lamr's; anything with `lamr_client.Pruner`'s `prune`.
        tokenizer: the reader's `tokenizer.json`, by which lamr counts as `count` does; None counts by limits.
        scorer: the causal model of LongCodeZip; None leaves it out.
    """

    count: Counter
    pruner: Any
    tokenizer: str | None = None
    scorer: CausalScorer | None = None


def _lines(score: Callable[[Item], FloatArray], key: str | None) -> Callable[[Setup], Pruner]:
    return lambda setup: ByLines(score, setup.count, key)


def _lamr(effort: str, setup: Setup) -> Pruner:
    return Lamr(setup.pruner, effort, setup.tokenizer)


PRUNERS: dict[str, Callable[[Setup], Pruner | None]] = {
    WHOLE: lambda _: Whole(),
    NONE: lambda _: Nothing(),
    "head-tail": _lines(head_and_tail, "head-tail"),
    "bm25": _lines(lambda item: bm25_functions(item.query, item.code), "bm25"),
    "longcodezip": lambda setup: LongCodeZip(setup.scorer, setup.count) if setup.scorer else None,
    **{f"lamr-{effort}": partial(_lamr, effort) for effort in EFFORTS},
    ORACLE: _lines(oracle, "oracle"),
}
"""Makes each pruner; None where what it needs isn't given."""
UNPRUNED = (WHOLE, NONE)
"""Those that heed no budget."""
