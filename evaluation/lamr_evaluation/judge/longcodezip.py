"""LongCodeZip as a pruner of a given number of tokens: its own choice, first to last, until the budget is full.

The published method aims at rates and may exceed them, or leave a part of them unused. Here what its two stages choose
goes first, then the rest of the functions that it took, then the other functions in the order of its ranking.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from lamr_contract.counters import Counter
from lamr_contract.perplexity.causal_scorer import CausalScorer, IntArray
from lamr_postprocess import detect_language
from lamr_repositories.compression import Compression, CompressionOptions, compress_chunks
from lamr_repositories.compression.coarse import function_chunks
from numpy.typing import NDArray

from lamr_evaluation.judge.items import Item
from lamr_evaluation.judge.keeping import ByLines, FloatArray, Kept

MOST_NUMBERS = 4 << 20
"""Of log-probabilities that are remembered: 16 MiB."""


class KeptScorer:
    """A `CausalScorer` on another one."""

    def __init__(self, scorer: CausalScorer) -> None:
        """Remember nothing yet."""
        self._scorer = scorer
        self.name, self.key, self.max_tokens = scorer.name, scorer.key, scorer.max_tokens
        self._known: OrderedDict[tuple[bytes, int], NDArray[np.float32]] = OrderedDict()
        self._numbers = 0

    def encode(self, text: str) -> IntArray:
        """See `CausalScorer.encode`."""
        return self._scorer.encode(text)

    def log_probs(
        self, sequences: Sequence[IntArray], firsts: Sequence[int] | None = None
    ) -> list[NDArray[np.float32]]:
        """See `CausalScorer.log_probs`."""
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
        """Ask nothing yet.

        Args:
            scorer: the causal language model.
            count: counts tokens.
        """
        self.key = None if scorer.key is None else f"longcodezip fitted {scorer.key}"
        self._scorer, self._count = KeptScorer(scorer), count

    def __call__(self, item: Item, budget: int) -> Kept:
        """See `keeping.Pruner`."""
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
