"""What a line is worth: the ranks of its piece and file by words, and what the line model says of the piece.

Scores are comparable over all files of a repository, and the lines of a piece share one. The weights come from
questions about projects that no evaluation uses (docs/lab/repositories.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from lamr_contract.arrays import Float64Array, ranges
from lamr_postprocess.lines import IntArray

OFF_TOPIC = 1.5
"""What tests, prose, data and translations lose unless the query asks for them, and files that mostly have copies: more
than words can give, so they come after all code that shares a word with the query."""
FILE_WEIGHT = 0.5
"""What the file's BM25 counts beside its piece's."""
BEST_WEIGHT, NEAR_WEIGHT = 0.1, 0.2
"""What the best piece of a file counts for all its pieces, and the mean of the two next pieces for the one between."""
MODEL_WEIGHT = 0.1
"""What a unit of the line model's log-odds counts; the best piece by words has 1."""
_BEST_LINES = 5


@dataclass(frozen=True, eq=False)
class PieceScores:
    """What is known of the P pieces of one file."""

    spans: IntArray  # int64 [P, 2], their rows
    lexical: Float64Array  # float64 [P], BM25 of each piece, the repository's best being 1
    file: float  # BM25 of the file, the repository's best being 1
    penalty: Float64Array  # float64 [P], what pieces lose for being no code, a test, or copies

    @property
    def near(self) -> Float64Array:
        """The mean of the scores by words [P] of the pieces before and after each."""
        around = np.pad(self.lexical, 1)
        near: Float64Array = (around[:-2] + around[2:]) / 2
        return near

    @property
    def by_words(self) -> Float64Array:
        """The scores [P] by words alone."""
        best = float(self.lexical.max(initial=0.0))
        scores: Float64Array = self.lexical + NEAR_WEIGHT * self.near + BEST_WEIGHT * best
        return scores + FILE_WEIGHT * self.file - self.penalty

    def by_model(self, log_odds: Float64Array) -> Float64Array:
        """Return the mean log-odds [P] of the best lines of each piece, by those of the file's lines [L]."""
        best = [np.sort(log_odds[first:stop])[-_BEST_LINES:].mean() for first, stop in self.spans.tolist()]
        return np.array(best, np.float64)

    def of_lines(self, lines: int, by_model: Float64Array | None, usual: float = 0.0) -> Float64Array:
        """Return the scores [L] of the file's lines; lines of no piece have minus infinity.

        Pieces without a word of the query in them or next to them don't compete, unless the model says that they rather
        answer than not. `by_model` is what it says of them [P], and `usual` what it says when it says nothing.
        """
        values, competes = self.by_words, self.lexical + self.near > 0
        if by_model is not None:
            values, competes = values + MODEL_WEIGHT * (by_model - usual), competes | (by_model > 0)
        scores = np.full(lines, -np.inf)
        firsts, counts = self.spans[:, 0], np.diff(self.spans, axis=1)[:, 0]
        scores[ranges(firsts, counts)] = np.repeat(np.where(competes, values, -np.inf), counts)
        return scores
