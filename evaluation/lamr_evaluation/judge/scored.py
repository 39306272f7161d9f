"""A causal scorer that remembers its latest answers, because one item is pruned to several budgets in a row."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from lamr_contract.perplexity.causal_scorer import CausalScorer, IntArray
from numpy.typing import NDArray

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
