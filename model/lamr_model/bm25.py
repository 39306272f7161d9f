"""BM25 over pieces of text, as Robertson and Zaragoza (2009) give it, with the usual k1 = 1.2 and b = 0.75.

Term statistics come from the texts at hand: one file, or a whole repository. This module knows counts of words;
it knows neither how text is split into words (`words`) nor how files are cut into pieces."""

from typing import Any

import numpy as np
from lamr_base.arrays import Float64Array
from numpy.typing import NDArray

from lamr_model.words import TermCounts

_K1, _B = 1.2, 0.75


def rarity(holds: NDArray[np.integer[Any]], count: int) -> Float64Array:
    """Return how rare terms are that `holds` of `count` texts have, of any shape: ln(1 + (S - df + ½) / (df + ½))."""
    return np.asarray(np.log1p((count - holds + 0.5) / (holds + 0.5)), dtype=np.float64)


def idf(frequency: Float64Array) -> Float64Array:
    """Return the `rarity` of terms `[Q]` from their counts in pieces `[S, Q]`."""
    return rarity((frequency > 0).sum(axis=0), len(frequency))


def bm25(counts: TermCounts, segments: NDArray[np.intp]) -> Float64Array:
    """BM25 of each piece of one text for the query; float `[S]`. `counts`: the query's Q terms in each of the text's
    L lines. `segments`: int `[L]`, the piece that each line belongs to."""
    pieces = int(segments.max()) + 1 if segments.size else 0
    frequency, length = np.zeros((pieces, counts.lines.shape[1])), np.zeros(pieces)
    np.add.at(frequency, segments, counts.lines)
    np.add.at(length, segments, counts.lengths)
    worth = saturated(frequency, length_norm(length)[:, None])
    return np.asarray(worth @ idf(frequency), dtype=np.float64)


def length_norm(length: Float64Array) -> Float64Array:
    """Return what the lengths of S pieces, in terms of any kind, weigh against how often a term occurs; `[S]`."""
    mean = float(length.mean()) if len(length) else 0.0
    return np.asarray(_K1 * (1 - _B + _B * length / max(mean, 1.0)), dtype=np.float64)


def saturated(frequency: Float64Array, norm: Float64Array) -> Float64Array:
    """Return what each term is worth in each piece before its rarity counts; of the frequency's shape. `frequency`:
    how often each term occurs in each piece; a field that counts more may have been weighed. `norm`: `length_norm` of
    the pieces, in a shape that fits."""
    return np.asarray(frequency * (_K1 + 1) / (frequency + norm), dtype=np.float64)
