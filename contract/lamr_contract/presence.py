"""`Presence`: how likely a document holds what a query looks for, by a logistic regression over the whole document.

The most relevant chunk alone takes many a file that speaks of the same things for the one that is meant. Where words of
the query stand together and whether it names the file tell more. This module knows numbers, a query's words and a path;
what its weights are, a model's `Scoring` says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import numpy as np

from lamr_contract.odds import logit, sigmoid
from lamr_contract.words import query_terms, terms

BEST, MEAN, TOGETHER, NAMED, PATHLESS = "best", "mean", "together", "named", "pathless"
FEATURES = (BEST, MEAN, TOGETHER, NAMED, PATHLESS)
"""What is known of a document: the log-odds of its most relevant chunk, and their mean over chunks; the largest share
of the query's words that one block has; the share of the file's name that the query has; 1 where no path is known."""

_WORD = re.compile(r"\w+")
_LEAST_LETTERS = 3  # a shorter word of a file's name says nothing


@dataclass(frozen=True)
class Presence:
    """A logistic regression over a document's features.

    Attributes:
        weights: the weight of each feature, by its name in `FEATURES`.
        bias: added to what they weigh.

    Raises:
        ValueError: a weight's feature is unknown.
    """

    weights: dict[str, float] = field(default_factory=dict)
    bias: float = 0.0

    def __post_init__(self) -> None:
        unknown = self.weights.keys() - set(FEATURES)
        if unknown:
            raise ValueError(f"presence weighs {sorted(unknown)}, but knows {', '.join(FEATURES)}")

    def probability(self, features: Mapping[str, float]) -> float:
        """Return P(the document holds what is looked for).

        Args:
            features: the value of each feature, from `document_features`.
        """
        odds = self.bias + sum(weight * features[name] for name, weight in self.weights.items())
        return float(sigmoid(np.array([odds]))[0])


def document_features(
    relevances: Sequence[float], together: float, query: str, path: str
) -> dict[str, float]:
    """Return the features of a document, by name.

    Args:
        relevances: the relevance of each of its chunks, at least one, in [0, 1].
        together: `LexicalViews.together` of query and document.
        query: what is looked for.
        path: the document's path; empty where it isn't known.
    """
    chunks = np.sort(logit(relevances))  # so that the sum doesn't depend on which answer came first
    named = _name_words(path)
    asked = set(query_terms(query))
    return {
        BEST: float(chunks[-1]),
        MEAN: float(chunks.mean()),
        TOGETHER: together,
        NAMED: len(named & asked) / max(1, len(named)),
        PATHLESS: float(not path),
    }


def _name_words(path: str) -> set[str]:
    """Return the words of a file's name without its ending, as a query's terms are written."""
    stem = PurePosixPath(path.replace("\\", "/")).name.split(".")[0]
    return {term for word in _WORD.findall(stem) for term in terms(word) if len(term) >= _LEAST_LETTERS}
