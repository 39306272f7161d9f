"""Perplexities of texts under a causal language model, alone and after another text.

They say what sections are worth for a question, too. Sequences that begin another sequence are scored with it, because
a causal model gives their tokens the same probabilities there."""

from collections.abc import Sequence

import numpy as np
from lamr_base.arrays import Float64Array
from lamr_base.records import dataclass
from lamr_model.perplexity.causal_scorer import CausalScorer
from lamr_postprocess.lines import IntArray


@dataclass(frozen=True, eq=False)
class Target:
    """A sequence of t tokens, int64 `[t]`, and the first of them whose probability counts."""

    ids: IntArray
    first: int


class Perplexity:
    """Encodes texts and asks a scorer about them. Encodings and probabilities are kept for the object's life."""

    def __init__(self, scorer: CausalScorer) -> None:
        self.scorer = scorer
        self._encoded: dict[str, IntArray] = {}
        self._losses: dict[tuple[bytes, int], float] = {}

    def encode(self, text: str) -> IntArray:
        """Return the text's token ids, int64, with the special tokens that the tokenizer puts around every text."""
        if text not in self._encoded:
            self._encoded[text] = self.scorer.encode(text)
        return self._encoded[text]

    def count(self, text: str) -> int:
        """Return the number of the text's tokens, special ones included."""
        return len(self.encode(text))

    def alone(self, text: str) -> Target:
        """Return a text without anything before it: its first token, which nothing predicts, doesn't count."""
        return Target(self.encode(text), 1)

    def after(self, context: str, text: str, skip: int = 0) -> Target:
        """Return a text that stands after another one.

        Args:
            context: what precedes it.
            text: whose tokens count: those beyond as many as the context has by itself.
            skip: how many of them are left out."""
        return Target(self.encode(context + text), self.count(context) + skip)

    def mean_losses(self, targets: Sequence[Target]) -> Float64Array:
        """Return the mean of -log p over each target's tokens that count, in nats, float64 `[n]`.

        NaN stands where no token counts. A target that is longer than the model's window loses its beginning. Raises
        `ServerError`, `ModelMismatchError`: see `CausalScorer.log_probs`."""
        most = self.scorer.max_tokens
        cut = [
            Target(each.ids[-most:], max(each.first - max(len(each.ids) - most, 0), 1)) for each in targets
        ]
        keys = [(each.ids.astype(">u4").tobytes(), each.first) for each in cut]
        waiting = {
            key: each
            for key, each in zip(keys, cut, strict=True)
            if key not in self._losses and each.first < len(each.ids)
        }
        self._score(waiting)
        return np.array([self._losses.get(key, np.nan) for key in keys])

    def _score(self, waiting: dict[tuple[bytes, int], Target]) -> None:
        """Ask about the longest sequences alone; in falling order each one comes right after what it begins."""
        longest: list[IntArray] = []
        firsts: list[int] = []
        shared: list[tuple[tuple[bytes, int], Target, int]] = []
        last = b""
        for key, target in sorted(waiting.items(), key=lambda item: item[0], reverse=True):
            if not last.startswith(key[0]):
                longest.append(target.ids)
                firsts.append(target.first)
                last = key[0]
            firsts[-1] = min(firsts[-1], target.first)
            shared.append((key, target, len(longest) - 1))
        scored = self.scorer.log_probs(longest, firsts) if longest else []
        for key, target, place in shared:
            counted = scored[place][target.first : len(target.ids)]
            self._losses[key] = -float(counted.mean(dtype=np.float64))


BETWEEN = "\n\n"
"""What stands between two texts that the model reads together."""
_HEADS = ("def ", "class ", "function ", "fn ", "func ")
_RESULT = "return "


def by_question(sections: Sequence[str], question: str, model: Perplexity) -> Float64Array:
    """Return how much each section lowers the question's perplexity, float64 `[n]`; 0 for all where it is blank.

    As in the published code, the question's first token counts after a section, though not without one."""
    if not question.strip():
        return np.zeros(len(sections))
    targets = [model.alone(question), *(model.after(section + BETWEEN, question) for section in sections)]
    with np.errstate(over="ignore"):
        perplexities = np.nan_to_num(np.exp(model.mean_losses(targets)), nan=1.0, posinf=np.inf)
    if np.isinf(perplexities[0]):
        return np.zeros(len(sections))
    inked = [bool(section.strip()) for section in sections]
    return np.where(inked, perplexities[0] - perplexities[1:], -np.inf)


def preserved(sections: Sequence[str], comment: str) -> set[int]:
    """Return the sections that are kept anyway: their first line that isn't blank heads a definition, is a comment, or
    returns something."""
    firsts = [next((line for line in section.split("\n") if line.strip()), "") for section in sections]
    return {
        place
        for place, line in enumerate(firsts)
        if any(word in line for word in (*_HEADS, _RESULT)) or (comment and line.strip().startswith(comment))
    }
