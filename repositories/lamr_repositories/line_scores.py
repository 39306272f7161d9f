"""What a line is worth: the ranks of its piece and file by words, and what the model says of it, as one number.

Each ranker is a row of `RANKERS`. Scores are comparable over all files of a repository. The weights of `sum` come from
commits of projects that no evaluation uses (docs/lab/repositories.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from lamr_contract.arrays import Float64Array
from lamr_postprocess.lines import IntArray

from lamr_repositories.judging import Judged

KEEP_SHARE = 0.6
"""How far a line's own log-odds move towards the mean of its piece: a single line rarely answers."""
OFF_TOPIC = 1.5
"""What tests, prose, data and translations lose unless the query asks for them, and what copies lose: more than words
can give, so they come after all code that shares a word with the query."""
FILE_WEIGHT = 0.3
"""What the file's BM25 counts beside its piece's."""
BEST_WEIGHT, NEAR_WEIGHT = 0.1, 0.2
"""What the best piece of a file counts for all its pieces, and the mean of the two next pieces for the one between."""
RELEVANCE_WEIGHT, KEEP_WEIGHT = 0.05, 0.05
"""What the model's two opinions count, in units of their spread; the best piece by words has 1."""
_FURTHEST = 3.0  # spreads; what is further off than usual counts as so far


@dataclass(frozen=True, eq=False)
class PieceScores:
    """The coarse scores of the pieces of one file.

    Attributes:
        spans: int64 [P, 2], their rows.
        lexical: float64 [P], BM25 of each piece, the repository's best being 1.
        file: BM25 of the file, the repository's best being 1.
        penalty: float64 [P], what pieces lose for being no code, a test, or a copy.
    """

    spans: IntArray
    lexical: Float64Array
    file: float
    penalty: Float64Array


Ranker = Callable[[PieceScores, "Judged | None", int], Float64Array]


def coarse(pieces: PieceScores) -> Float64Array:
    """Return the scores [P] by words alone, by which candidates are chosen."""
    best = float(pieces.lexical.max(initial=0.0))
    scores: Float64Array = pieces.lexical + NEAR_WEIGHT * _near(pieces) + BEST_WEIGHT * best
    return scores + FILE_WEIGHT * pieces.file - pieces.penalty


def _near(pieces: PieceScores) -> Float64Array:
    """Return the mean of the scores by words [P] of the pieces before and after each."""
    around = np.pad(pieces.lexical, 1)
    near: Float64Array = (around[:-2] + around[2:]) / 2
    return near


def _of_words(pieces: PieceScores) -> Float64Array:
    """Return `coarse`, but minus infinity for pieces without a word of the query in them or next to them.

    Such pieces don't compete unjudged.
    """
    scores: Float64Array = np.where(pieces.lexical + _near(pieces) > 0, coarse(pieces), -np.inf)
    return scores


def _spread(pieces: PieceScores, values: Float64Array, lines: int) -> Float64Array:
    """Return the values [P] of pieces at their lines [L]; lines of no piece have minus infinity."""
    scores = np.full(lines, -np.inf)
    counts = pieces.spans[:, 1] - pieces.spans[:, 0]
    rows = np.repeat(pieces.spans[:, 0] - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
    scores[rows] = np.repeat(values, counts)
    return scores


def _by_words(pieces: PieceScores, _judged: Judged | None, lines: int) -> Float64Array:
    return _spread(pieces, _of_words(pieces), lines)


def _by_model(pieces: PieceScores, judged: Judged | None, lines: int) -> Float64Array:
    """Return what the model says; unjudged lines come after all judged ones, by their words."""
    behind = _spread(pieces, _of_words(pieces) - _FAR, lines)
    if judged is None:
        return behind
    own = judged.relevance + smoothed(pieces, judged, lines)
    scores: Float64Array = np.where(judged.judged, own, behind)
    return scores


def _by_perplexity(pieces: PieceScores, judged: Judged | None, lines: int) -> Float64Array:
    """Return what a causal model says of whole pieces; unjudged ones come after all judged ones, by their words."""
    behind = _spread(pieces, _of_words(pieces) - _FAR, lines)
    if judged is None:
        return behind
    scores: Float64Array = np.where(judged.judged, judged.relevance, behind)
    return scores


def _by_sum(pieces: PieceScores, judged: Judged | None, lines: int) -> Float64Array:
    words = _spread(pieces, _of_words(pieces), lines)
    if judged is None:
        return words
    relevance = _standardized(judged.relevance, *judged.usual.relevance)
    keep = _standardized(smoothed(pieces, judged, lines), *judged.usual.keep)
    own = _spread(pieces, coarse(pieces), lines) + RELEVANCE_WEIGHT * relevance + KEEP_WEIGHT * keep
    scores: Float64Array = np.where(judged.judged, own, words)
    return scores


def _standardized(values: Float64Array, mean: float, spread: float) -> Float64Array:
    scaled: Float64Array = np.clip((values - mean) / spread, -_FURTHEST, _FURTHEST)
    return scaled


def smoothed(pieces: PieceScores, judged: Judged, lines: int) -> Float64Array:
    """Return the model's log-odds [L] of lines, moved towards the mean over the judged lines of their piece."""
    number = np.full(lines, len(pieces.spans))
    counts = pieces.spans[:, 1] - pieces.spans[:, 0]
    rows = np.repeat(pieces.spans[:, 0] - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
    number[rows] = np.repeat(np.arange(len(counts)), counts)
    weight = judged.judged.astype(np.float64)
    means = np.bincount(number, judged.keep * weight) / np.maximum(np.bincount(number, weight), 1.0)
    smooth: Float64Array = (1 - KEEP_SHARE) * judged.keep + KEEP_SHARE * means[number]
    return smooth


_FAR = 1e3
RANKERS: dict[str, Ranker] = {
    "sum": _by_sum,
    "bm25": _by_words,
    "relevance": _by_model,
    "perplexity": _by_perplexity,
}
"""The rankers by name; the first is the default. Each gives scores float64 [L] of a file's lines, from its pieces, what
the model says of it if anything, and L."""
NEEDS_MODEL = frozenset({"sum", "relevance"})
NEEDS_SCORER = frozenset({"perplexity"})
