"""Scores of pieces by words: their own words, their neighbours', their file's."""

from __future__ import annotations

import numpy as np
from lamr_repositories.line_scores import RANKERS, PieceScores, coarse


def scores_of(lexical: list[float], file: float = 0.5) -> PieceScores:
    rows = np.arange(len(lexical))
    return PieceScores(np.stack([rows, rows + 1], axis=1), np.array(lexical), file, np.zeros(len(lexical)))


def test_a_piece_gains_by_its_neighbours_and_by_the_best_of_its_file() -> None:
    scores = coarse(scores_of([0.2, 0.9, 0.2, 0.2, 0.2]))
    assert scores.argmax() == 1
    assert scores[0] > scores[3]  # next to the best, though at the file's edge
    assert scores[2] > scores[3] > coarse(scores_of([0.2, 0.2, 0.2, 0.2, 0.2]))[3]
    assert len(coarse(scores_of([]))) == 0


def test_only_pieces_with_a_word_in_them_or_beside_them_compete_by_words() -> None:
    scores = RANKERS["bm25"](scores_of([0.0, 0.9, 0.0, 0.0]), None, 4)
    assert np.isfinite(scores).tolist() == [True, True, True, False]
