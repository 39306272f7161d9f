"""BM25 over pieces of text, as Robertson and Zaragoza (2009) give it, with the usual k1 = 1.2 and b = 0.75.

Term statistics come from the texts at hand: one file, or a whole repository. This module knows counts of words;
it knows neither how text is split into words (`words`) nor how files are cut into pieces.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lamr_contract.arrays import Float64Array
from lamr_contract.words import TermCounts

K1, B = 1.2, 0.75


def idf(frequency: Float64Array) -> Float64Array:
    """Rarity of terms `[Q]` from their counts in pieces `[S, Q]`: ln(1 + (S - df + ½) / (df + ½))."""
    holds = (frequency > 0).sum(axis=0)
    return np.asarray(np.log1p((len(frequency) - holds + 0.5) / (holds + 0.5)), dtype=np.float64)


def bm25(counts: TermCounts, segments: NDArray[np.intp], *, k1: float = K1, b: float = B) -> Float64Array:
    """BM25 of each piece of one text for the query; float `[S]`.

    Args:
        counts: the query's Q terms in each of the text's L lines.
        segments: int `[L]`, the piece that each line belongs to.
        k1, b: BM25's parameters.
    """
    pieces = int(segments.max()) + 1 if segments.size else 0
    frequency, length = np.zeros((pieces, counts.lines.shape[1])), np.zeros(pieces)
    np.add.at(frequency, segments, counts.lines)
    np.add.at(length, segments, counts.lengths)
    return np.asarray(saturated(frequency, length, k1=k1, b=b) @ idf(frequency), dtype=np.float64)


def saturated(frequency: Float64Array, length: Float64Array, *, k1: float = K1, b: float = B) -> Float64Array:
    """What each term is worth in each piece before its rarity counts; float `[S, Q]`.

    Args:
        frequency: float `[S, Q]`, how often each of Q terms occurs in each of S pieces; a field that counts more may
            have been weighed.
        length: float `[S]`, how many terms of any kind each piece has.
        k1, b: BM25's parameters.
    """
    norm = k1 * (1 - b + b * length / max(float(length.mean()) if len(length) else 0.0, 1.0))
    return np.asarray(frequency * (k1 + 1) / (frequency + norm[:, None]), dtype=np.float64)
