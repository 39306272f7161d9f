"""How likely each of several continuations of a text is, by a causal language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lamr_contract.perplexity.causal_scorer import CausalScorer


@dataclass(frozen=True)
class Ask:
    """A text, and texts that may follow it."""

    prefix: str
    texts: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Continuation:
    """How likely a text is after a prefix.

    Attributes:
        log_probs: float32 `[n]`, the natural logarithms of its tokens' probabilities.
        cut: tokens of the prefix that the model's window didn't hold.
    """

    log_probs: NDArray[np.float32]
    cut: int = 0

    @property
    def total(self) -> float:
        """Return the logarithm of the text's probability, in nats."""
        return float(self.log_probs.sum(dtype=np.float64))

    @property
    def tokens(self) -> int:
        """Return how many tokens it has."""
        return len(self.log_probs)


def continuations(scorer: CausalScorer, asks: Sequence[Ask]) -> list[list[Continuation]]:
    """Return how likely each text of each ask is after its prefix.

    A token that a prefix and a text share belongs to the prefix. A prefix that is too long for the window loses its
    beginning.

    Raises:
        InvalidInputError, ServerError, ModelMismatchError: see `CausalScorer.log_probs`.
    """

    def ids_of(text: str) -> NDArray[np.int64]:
        return np.array(scorer.tokenizer.encode(text).ids, np.int64)

    results = []
    for ask in asks:
        first = len(ids_of(ask.prefix))
        wholes = [ids_of(ask.prefix + text) for text in ask.texts]
        cuts = [max(len(ids) - scorer.max_tokens, 0) for ids in wholes]
        scored = scorer.log_probs([ids[cut:] for ids, cut in zip(wholes, cuts, strict=True)])
        results.append(
            [Continuation(each[max(first - cut, 1) :], cut) for each, cut in zip(scored, cuts, strict=True)]
        )
    return results
