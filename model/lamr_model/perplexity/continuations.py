"""How likely texts are after a prefix, by a causal language model: what a reader is asked that only scores.

The prefix and a text are encoded together, as the model would read them. A token that holds the end of the prefix and
the beginning of the text belongs to the prefix."""

from collections.abc import Sequence

import numpy as np
from lamr_base.errors import InvalidInputError
from lamr_base.records import dataclass
from numpy.typing import NDArray

from lamr_model.perplexity.causal_scorer import CausalScorer, IntArray


@dataclass(frozen=True)
class Ask:
    """A prefix, and the texts that could follow it."""

    prefix: str
    texts: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Scored:
    """How likely one text is."""

    # `[n]`, the natural logarithm of the probability of each of the text's n tokens
    log_probs: NDArray[np.float32]
    cut: int  # how many of the prefix's first tokens didn't fit into the model's window

    @property
    def tokens(self) -> int:
        """How many tokens the text has."""
        return len(self.log_probs)

    @property
    def total(self) -> float:
        """The logarithm of the text's probability, in nats."""
        return float(self.log_probs.sum(dtype=np.float64))

    @property
    def mean(self) -> float:
        """`total` for each token."""
        return self.total / self.tokens


def continuations(scorer: CausalScorer, asks: Sequence[Ask]) -> list[list[Scored]]:
    """Score the texts of any number of questions.

    All texts of a question are scored after the same prefix: where the longest doesn't fit into the window with it, it
    loses its beginning for all of them.

    Args:

    Returns:
        what is known of each text of each question.

    Raises:
        InvalidInputError: a text has no token of its own, or doesn't fit into the window by itself.
        ServerError, ModelMismatchError: see `CausalScorer.log_probs`."""
    encoded = [_encoded(scorer, ask) for ask in asks]
    flat = [each for question in encoded for each in question]
    scored = iter(scorer.log_probs([ids for ids, *_ in flat], [first for _, first, _ in flat]))
    return [[Scored(next(scored)[first:], cut) for _, first, cut in question] for question in encoded]


def _encoded(scorer: CausalScorer, ask: Ask) -> list[tuple[IntArray, int, int]]:
    """Of each text: the sequence that is scored, its first token, and what the prefix lost."""
    before = len(scorer.encode(ask.prefix))
    wholes = [scorer.encode(ask.prefix + text) for text in ask.texts]
    for text, ids in zip(ask.texts, wholes, strict=True):
        # Nothing foresees a sequence's first token, so one of the prefix stays before the text.
        if not 1 <= len(ids) - before <= scorer.max_tokens - 1:
            raise InvalidInputError(
                f"a text has {len(ids) - before} tokens after its prefix; {scorer.name} takes 1 to "
                f"{scorer.max_tokens - 1}: {text[:60]!r}",
                argument="texts",
            )
        if before < 1:
            raise InvalidInputError("the prefix is empty; nothing would foresee a text", argument="prefix")
    cut = max([0, *(len(ids) - scorer.max_tokens for ids in wholes)])
    return [(ids[cut:], before - cut, cut) for ids in wholes]
