"""The pruners that are compared, as a table: everything, nothing, by place, words, models and the truth.

A pruner shows whole lines of an item's code within a number of the reader's tokens, markers included. LongCodeZip as
published aims at rates and may exceed them. Here what its two stages choose goes first, then the rest of the functions
that it took, then the other functions in the order of its ranking."""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from lamr_model.counters import Counter
from lamr_model.perplexity.causal_scorer import CausalScorer, IntArray
from lamr_postprocess import BudgetError, detect_language, prune_lines
from lamr_repositories.compression import Compression, CompressionOptions, compress_chunks
from lamr_repositories.compression.coarse import function_chunks
from numpy.typing import NDArray

from lamr_evaluation.baselines import bm25_functions
from lamr_evaluation.judge.items import Item
from lamr_evaluation.records import bare_lines

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Kept:
    """What a pruner shows of an item's code."""

    text: str  # the code with its markers; empty where not even a marker fits
    lines: tuple[int, ...]  # the 1-based numbers of the lines in it
    tokens: int = 0  # of the text, as budgets are counted
    seconds: float = 0.0  # that pruning took


class ItemPruner(Protocol):
    """Prunes items."""

    @property
    def key(self) -> str | None:
        """Return what names it, so that what it kept may be kept; None where it may not."""
        ...

    def __call__(self, item: Item, budget: int) -> Kept:
        """Show at most `budget` tokens of an item's code; `tokens` and `seconds` are the caller's to fill in. Raises
        `InvalidInputError`: it refuses the item. Raises `ServerError`: its model failed."""
        ...


@dataclass(frozen=True)
class ByLines:
    """Fills the budget with lines in falling order of score."""

    score: Callable[[Item], FloatArray]  # gives float `[L]` for an item of L lines
    count: Counter  # counts tokens
    key: str | None

    def __call__(self, item: Item, budget: int) -> Kept:
        given: dict[str, Any] = {"path": item.path or None, "max_tokens": budget, "repair": False}
        given["count_tokens"] = self.count.count_tokens
        return or_nothing(partial(prune_lines, item.code, self.score(item), **given))


def or_nothing(prune: Callable[[], Any]) -> Kept:
    """Show nothing where not even the smallest text is within the budget."""
    try:
        done = prune()
    except BudgetError:
        return Kept("", ())
    return Kept(done.text, tuple(done.kept_lines))


def timed(pruner: ItemPruner, item: Item, budget: int, count: Counter) -> Kept:
    """Prune, and fill in tokens and seconds."""
    started = time.perf_counter()
    kept = pruner(item, budget)
    seconds = time.perf_counter() - started
    return replace(kept, tokens=count.count_tokens(kept.text) if kept.text else 0, seconds=seconds)


def kept_key(pruner: ItemPruner, item: Item, budget: int) -> str | None:
    """Return what names a pruner's result; None where it may not be kept."""
    if pruner.key is None:
        return None
    parts = (pruner.key, item.query, item.path, str(budget), str(item.gold), item.code)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


MOST_NUMBERS = 4 << 20  # Of log-probabilities that are remembered: 16 MiB


class KeptScorer:
    """A `CausalScorer` on another one."""

    def __init__(self, scorer: CausalScorer) -> None:
        self._scorer = scorer
        self.name, self.key, self.max_tokens = scorer.name, scorer.key, scorer.max_tokens
        self._known: OrderedDict[tuple[bytes, int], NDArray[np.float32]] = OrderedDict()
        self._numbers = 0

    def encode(self, text: str) -> IntArray:
        return self._scorer.encode(text)

    def log_probs(
        self, sequences: Sequence[IntArray], firsts: Sequence[int] | None = None
    ) -> list[NDArray[np.float32]]:
        places = [1] * len(sequences) if firsts is None else firsts
        keys = [(ids.tobytes(), first) for ids, first in zip(sequences, places, strict=True)]
        waiting = {key: ids for key, ids in zip(keys, sequences, strict=True) if key not in self._known}
        found = (
            self._scorer.log_probs(list(waiting.values()), [first for _, first in waiting]) if waiting else []
        )
        answers = dict(zip(waiting, found, strict=True))
        result = [answers[key] if key in answers else self._known[key] for key in keys]
        self._known.update(answers)
        self._numbers += sum(map(len, answers.values()))
        while self._numbers > MOST_NUMBERS:
            self._numbers -= len(self._known.popitem(last=False)[1])
        return result


ROOM = 2
"""Before the fine stage, functions of so many times the budget are taken. The stage then aims at the share of their
lines that the budget is of their tokens, however large a function is."""


class LongCodeZip:
    """LongCodeZip with the reader's own model. What was asked of one item is kept for its other budgets."""

    def __init__(self, scorer: CausalScorer, count: Counter) -> None:
        self.key = None if scorer.key is None else f"longcodezip fitted {scorer.key}"
        self._scorer, self._count = KeptScorer(scorer), count

    def __call__(self, item: Item, budget: int) -> Kept:
        return ByLines(lambda each: self._scores(each, budget), self._count, None)(item, budget)

    def _scores(self, item: Item, budget: int) -> FloatArray:
        """Return a score for each line, float64 [L]: what is kept, then what was taken, then the rest by rank."""
        language = detect_language(item.code, item.path or None)
        parts = function_chunks(item.code, language)
        scores = np.zeros(parts[-1].stop if parts else 0)
        found = self._zipped([part.text for part in parts], item.query, budget, language.comment.opening)
        ranks = {place: 1 - rank / len(parts) for rank, place in enumerate(found.order)}
        for place, (part, zipped) in enumerate(zip(parts, found.chunks, strict=True)):
            scores[part.first : part.stop] = ranks[place] + (1 if zipped.taken else 0)
            if zipped.taken:
                scores[[part.first + line for line in zipped.kept_lines]] += 1
        return scores

    def _zipped(self, chunks: list[str], question: str, budget: int, comment: str) -> Compression:
        def stages(fine_ratio: float | None) -> Compression:
            options = CompressionOptions(
                target_tokens=max(1, budget * ROOM),
                context_budget="+0",
                fine_ratio=fine_ratio,
                rank_only=fine_ratio is None,
            )
            return compress_chunks(chunks, question, self._scorer, options, comment=comment)

        found = stages(None)
        taken = [text for text, chunk in zip(chunks, found.chunks, strict=True) if chunk.taken]
        if not taken:
            return found
        return stages(min(1.0, max(1, budget) / sum(map(self._count.count_tokens, taken))))


WHOLE, NONE, ORACLE = "whole", "none", "oracle"
EFFORTS = ("instant", "auto", "full")


@dataclass(frozen=True)
class Unpruned:
    """Shows the whole code, or nothing: what a reader knows without it."""

    key: str

    def __call__(self, item: Item, budget: int) -> Kept:  # noqa: ARG002
        if self.key == NONE:
            return Kept("", ())
        return Kept(item.code, tuple(range(1, len(bare_lines(item.code)) + 1)))


@dataclass(frozen=True)
class Lamr:
    """lamr at one effort."""

    pruner: Any  # a `lamr_client.Pruner`, or anything with its `prune` and `spec`
    effort: str  # of its every call
    tokenizer: str | None

    @property
    def key(self) -> str:
        spec = self.pruner.spec
        return f"{spec.name} {spec.version} {spec.fingerprint} {self.effort}"

    def __call__(self, item: Item, budget: int) -> Kept:
        """Prune; where the smallest text that parses is too large, leave repair out."""
        options = {"max_tokens": budget, "effort": self.effort, "tokenizer": self.tokenizer, "degrade": False}
        prune = partial(self.pruner.prune, item.query, item.code, path=item.path or None, **options)
        try:
            done = prune()
        except BudgetError:
            return or_nothing(partial(prune, repair=False))
        return Kept(done.text, tuple(done.kept_lines))


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
    """What pruners are made of."""

    count: Counter  # counts the reader's tokens
    pruner: Any  # lamr's; anything with `lamr_client.Pruner`'s `prune`
    tokenizer: str | None = None  # the reader's `tokenizer.json`; None counts by limits
    scorer: CausalScorer | None = None  # the causal model of LongCodeZip; None leaves it out


def _lines(score: Callable[[Item], FloatArray], key: str | None) -> Callable[[Setup], ItemPruner]:
    return lambda setup: ByLines(score, setup.count, key)


def _lamr(effort: str) -> Callable[[Setup], ItemPruner]:
    return lambda setup: Lamr(setup.pruner, effort, setup.tokenizer)


PRUNERS: dict[str, Callable[[Setup], ItemPruner | None]] = {
    WHOLE: lambda _: Unpruned(WHOLE),
    NONE: lambda _: Unpruned(NONE),
    "head-tail": _lines(head_and_tail, "head-tail"),
    "bm25": _lines(lambda item: bm25_functions(item.query, item.code), "bm25"),
    "longcodezip": lambda setup: LongCodeZip(setup.scorer, setup.count) if setup.scorer else None,
    **{f"lamr-{effort}": _lamr(effort) for effort in EFFORTS},
    ORACLE: _lines(oracle, "oracle"),
}
"""Makes each pruner; None where what it needs isn't given."""
UNPRUNED = (WHOLE, NONE)  # Those that heed no budget
