"""BM25 over pieces of a file, as Robertson and Zaragoza (2009) give it, with the usual k1 = 1.2 and b = 0.75.

Term statistics come from the one file at hand. This module knows counts of words, not how text is split into words
(`lamr_contract.words`) or files into pieces (`segments`).
"""

from __future__ import annotations

import numpy as np
from lamr_contract.words import TermCounts
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def idf(frequency: FloatArray) -> FloatArray:
    """Rarity of terms `[Q]` from their counts in pieces `[S, Q]`: ln(1 + (S - df + ½) / (df + ½))."""
    holds = (frequency > 0).sum(axis=0)
    return np.asarray(np.log1p((len(frequency) - holds + 0.5) / (holds + 0.5)), dtype=np.float64)


def bm25(counts: TermCounts, segments: NDArray[np.intp], *, k1: float = 1.2, b: float = 0.75) -> FloatArray:
    """BM25 of each piece for the query; float `[S]`."""
    pieces = int(segments.max()) + 1 if segments.size else 0
    frequency, length = np.zeros((pieces, counts.lines.shape[1])), np.zeros(pieces)
    np.add.at(frequency, segments, counts.lines)
    np.add.at(length, segments, counts.lengths)
    norm = k1 * (1 - b + b * length / max(float(length.mean()) if pieces else 0.0, 1.0))
    weighted = frequency * (k1 + 1) / (frequency + norm[:, None])
    return np.asarray(weighted @ idf(frequency), dtype=np.float64)
