"""LongCodeZip as a pruner of a given number of tokens: its own choice, first to last, until the budget is full.

The published method aims at rates and may exceed them, or leave a part of them unused. Here what its two stages choose
goes first, then the rest of the functions that it took, then the other functions in the order of its ranking.
"""

from __future__ import annotations

import numpy as np
from lamr_contract.counters import Counter
from lamr_contract.perplexity.causal_scorer import CausalScorer
from lamr_postprocess import detect_language
from lamr_repositories.compression import Compression, CompressionOptions, compress_chunks
from lamr_repositories.compression.coarse import function_chunks

from lamr_evaluation.judge.items import Item
from lamr_evaluation.judge.keeping import ByLines, FloatArray, Kept
from lamr_evaluation.judge.scored import KeptScorer

ROOM = 2
"""Before the fine stage, functions of so many times the budget are taken. The stage then aims at the share of their
lines that the budget is of their tokens, however large a function is."""


class LongCodeZip:
    """LongCodeZip with the reader's own model. What was asked of one item is kept for its other budgets."""

    def __init__(self, scorer: CausalScorer, count: Counter, fine: bool) -> None:
        """Ask nothing yet.

        Args:
            scorer: the causal language model.
            count: counts tokens.
            fine: whether sections are chosen within functions.
        """
        self.key = None if scorer.key is None else f"longcodezip {'fitted' if fine else fine} {scorer.key}"
        self._scorer, self._count, self._fine = KeptScorer(scorer), count, fine

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
            if self._fine and zipped.taken:
                scores[[part.first + line for line in zipped.kept_lines]] += 1
        return scores

    def _zipped(self, chunks: list[str], question: str, budget: int, comment: str) -> Compression:
        def stages(fine_ratio: float | None) -> Compression:
            options = CompressionOptions(
                target_tokens=max(1, budget * (ROOM if self._fine else 1)),
                context_budget="+0",
                fine_ratio=fine_ratio,
                rank_only=fine_ratio is None,
            )
            return compress_chunks(chunks, question, self._scorer, options, comment=comment)

        found = stages(None)
        taken = [text for text, chunk in zip(chunks, found.chunks, strict=True) if chunk.taken]
        if not (self._fine and taken):
            return found
        return stages(min(1.0, max(1, budget) / sum(map(self._count.count_tokens, taken))))
