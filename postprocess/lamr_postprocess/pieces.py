"""The pieces of a file that answer as one: its innermost functions, and paragraphs between them.

Questions are answered by functions more often than by single lines. So a line is worth what it scores, what the lines
beside it score, and what its piece does (docs/lab/selection.md)."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from lamr_postprocess.definitions import DefinitionSpan
from lamr_postprocess.lines import BoolArray, IntArray

Float64Array = NDArray[np.float64]

_OWN, _BESIDE, _BEST, _MEAN = 0.1, 0.1, 0.4, 0.4
"""What counts of a line's value: its own score, the mean of those around it, and the best and mean of its piece."""
_AROUND = 2
"""Lines with ink before and after each that count as beside it."""


def pieces_of(blank: BoolArray, spans: Iterable[DefinitionSpan]) -> IntArray:
    """The number of each row's piece, int [L]. `blank`: bool [L], rows of white space alone. `spans`: the definitions
    of the file, outer ones before those inside."""
    begins = ~blank & np.concatenate(([True], blank[:-1]))
    pieces: IntArray = np.cumsum(begins)
    last = len(blank)
    for number, span in enumerate((each for each in spans if each.is_function), last + 1):
        pieces[span.first : span.last + 1] = number
    return np.unique(pieces, return_inverse=True)[1].astype(np.int64)


def values_of(scores: Float64Array, pieces: IntArray, blank: BoolArray) -> Float64Array:
    """What each line is worth beside others, float64 [L]; blank lines keep their scores.

    Args:
        scores: float [L]; what has 0 stays there, such as encoded data inside of a piece that answers.
        pieces: int [L], see `pieces_of`.
        blank: bool [L], rows of white space alone."""
    inked = np.flatnonzero(~blank)
    own, of_row = scores[inked].astype(np.float64), pieces[inked]
    count = int(pieces.max(initial=-1)) + 1
    best = np.full(count, -np.inf)
    np.maximum.at(best, of_row, own)
    means = np.bincount(of_row, own, count) / np.maximum(np.bincount(of_row, minlength=count), 1)
    sums = np.concatenate(([0.0], np.cumsum(own)))
    places = np.arange(len(own))
    first, stop = np.maximum(places - _AROUND, 0), np.minimum(places + _AROUND + 1, len(own))
    beside = (sums[stop] - sums[first]) / np.maximum(stop - first, 1)
    values = scores.astype(np.float64)
    mixed = _OWN * own + _BESIDE * beside + _BEST * best[of_row] + _MEAN * means[of_row]
    values[inked] = np.where(own == 0, 0, mixed)
    return values
