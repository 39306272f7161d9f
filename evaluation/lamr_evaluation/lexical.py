"""BM25 over pieces of a file, for the baselines.

Words are those of `lamr_contract.words`; term statistics are those of the one file at hand. BM25 is Robertson and
Zaragoza's (2009) with the usual k1 = 1.2, b = 0.75.
"""

from __future__ import annotations

import numpy as np
from lamr_contract.words import Counts, Tokens, query_terms, split_words, stem, terms
from numpy.typing import NDArray

__all__ = ["Counts", "Tokens", "bm25", "idf", "query_terms", "split_words", "stem", "terms"]

FloatArray = NDArray[np.float64]


def idf(frequency: FloatArray) -> FloatArray:
    """Rarity of terms `[Q]` from their counts in pieces `[S, Q]`: ln(1 + (S - df + ½) / (df + ½))."""
    holds = (frequency > 0).sum(axis=0)
    return np.asarray(np.log1p((len(frequency) - holds + 0.5) / (holds + 0.5)), dtype=np.float64)


def bm25(counts: Counts, segments: NDArray[np.intp], *, k1: float = 1.2, b: float = 0.75) -> FloatArray:
    """BM25 of each piece for the query; float `[S]`."""
    pieces = int(segments.max()) + 1 if segments.size else 0
    frequency, length = np.zeros((pieces, counts.lines.shape[1])), np.zeros(pieces)
    np.add.at(frequency, segments, counts.lines)
    np.add.at(length, segments, counts.lengths)
    norm = k1 * (1 - b + b * length / max(float(length.mean()) if pieces else 0.0, 1.0))
    weighted = frequency * (k1 + 1) / (frequency + norm[:, None])
    return np.asarray(weighted @ idf(frequency), dtype=np.float64)
