"""The threshold that a document gets: the model's, as it adapts to the document's scores and relevance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lamr_contract.scoring.rules import LineRule


def adapted(threshold: float, rule: LineRule, scores: NDArray[np.float32], relevance: float = 1.0) -> float:
    """Return the threshold that a document gets: the model's, unless it selects too few or too many lines.

    It is higher where the document hardly holds what is looked for (`Presence.raised`). Lines that score alike are left
    together where taking all of them would exceed the least share.

    Args:
        threshold: the model's.
        rule: what becomes of lines for the query at hand.
        scores: float32 [I], the scores of the document's inked lines.
        relevance: P(the document holds what is looked for).
    """
    if rule.presence is not None:
        threshold = rule.presence.raised(threshold, relevance)
    if rule.shares is None or not len(scores):
        return threshold
    least, most = rule.shares
    places = np.ceil((len(scores) - 1) * np.array([1 - most, 1 - least])).astype(np.int64)
    lowest, highest = np.sort(scores)[places]  # quantiles
    # A score that more lines have is that of a crowd, none of which stands out.
    if (scores >= highest).mean() > least + 1 / len(scores):
        highest = np.nextafter(highest, np.float32(2))
    return float(min(max(threshold, lowest), highest))
