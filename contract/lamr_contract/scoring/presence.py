"""`Presence`: how likely a document holds what a query looks for, by a logistic regression over the whole document,
and how much less is kept of one that hardly does.

The best part alone takes many a file that speaks of the same things for the one that is meant. Where words of
the query stand together and whether it names the file tell more. This module knows numbers, a query's words and a path;
what its weights are, a model's `Scoring` says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from lamr_contract.arrays import Float64Array, logit, sigmoid
from lamr_contract.scoring.query_words import name_terms

BEST, MEAN, TOGETHER, NAMED, PATHLESS = "best", "mean", "together", "named", "pathless"
FEATURES = (BEST, MEAN, TOGETHER, NAMED, PATHLESS)
"""What is known of a document: the log-odds of its best part, and their mean over parts; the largest share of the
query's words that one block has; the share of the file's name that the query has; 1 where no path is known."""

_PART = 10  # the best tenth of the lines
_LEAST_LETTERS = 3  # a shorter word of a file's name says nothing


@dataclass(frozen=True)
class Presence:
    """A logistic regression over a document's features.

    Attributes:
        weights: the weight of each feature, by its name in `FEATURES`.
        bias: added to what they weigh. They are fitted where half of the documents hold what is looked for.
        prior: the share of documents that hold what is looked for, among those that are read for it; None if
            presence says nothing about what is kept.

    Raises:
        ValueError: a weight's feature is unknown, or the prior doesn't lie between 0 and 1.
    """

    weights: dict[str, float] = field(default_factory=dict)
    bias: float = 0.0
    prior: float | None = None

    def __post_init__(self) -> None:
        unknown = self.weights.keys() - set(FEATURES)
        if unknown:
            raise ValueError(f"presence weighs {sorted(unknown)}, but knows {', '.join(FEATURES)}")
        if self.prior is not None and not 0 < self.prior < 1:
            raise ValueError(f"the prior of presence must lie between 0 and 1, not be {self.prior}")

    def probability(self, features: Mapping[str, float], understood: float = 1.0) -> float:
        """Return P(the document holds what is looked for).

        Args:
            features: the value of each feature, from `document_features`.
            understood: how much the model understands of the query (`LineModel.understood`). Log-odds below 0 are
                multiplied by it, since words that mean nothing to the model say nothing of what a document lacks.
        """
        odds = self.bias + sum(weight * features[name] for name, weight in self.weights.items())
        return float(sigmoid(np.array([odds if odds > 0 else understood * odds]))[0])

    def raised(self, threshold: float, probability: float) -> float:
        """Return the threshold for the lines of a document that holds what is looked for with some probability.

        A line's score speaks of a document that holds it. Without that knowledge the line is needed with the product of
        both probabilities, so the threshold is divided by the document's, after the prior.

        Args:
            threshold: that of a document which surely holds what is looked for, in [0, 1].
            probability: `probability` of this one.
        """
        if self.prior is None:
            return threshold
        return min(1.0, threshold / float(sigmoid(logit(probability) + logit(self.prior))))


def document_features(
    opinions: Float64Array, together: float, terms: Iterable[str], path: str
) -> dict[str, float]:
    """Return the features of a document, by name.

    Args:
        opinions: log-odds that parts of the document hold what is looked for, at least one: the relevance of the chunks
            that an encoder has read, or the scores of the best lines (`best_lines`).
        together: the largest share of the query's words that one block has.
        terms: the query's.
        path: the document's path; empty where it isn't known.
    """
    named = {term for term in name_terms(path) if len(term) >= _LEAST_LETTERS}
    ordered = np.sort(opinions)  # so that the sum doesn't depend on which answer came first
    return {
        BEST: float(ordered[-1]),
        MEAN: float(ordered.mean()),
        TOGETHER: together,
        NAMED: len(named & set(terms)) / max(1, len(named)),
        PATHLESS: float(not path),
    }


def best_lines(logits: Float64Array) -> Float64Array:
    """Return the best tenth of the log-odds [I] of lines, at least one."""
    best: Float64Array = np.sort(logits)[-max(1, len(logits) // _PART) :]
    return best
