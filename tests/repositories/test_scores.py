"""Scores of pieces by words: their own words, their neighbours', their file's."""

import numpy as np
from lamr_repositories.ranked import PieceScores, by_words


def scores_of(lexical: list[float], file: float = 0.5) -> PieceScores:
    rows = np.arange(len(lexical))
    found = by_words(np.array(lexical), np.array([file]), np.zeros(len(lexical), np.int64))
    return PieceScores(np.stack([rows, rows + 1], axis=1), *found)


def test_a_piece_gains_by_its_neighbours_and_by_the_best_of_its_file() -> None:
    scores = scores_of([0.2, 0.9, 0.2, 0.2, 0.2]).by_words
    assert scores.argmax() == 1
    assert scores[0] > scores[3]  # next to the best, though at the file's edge
    assert scores[2] > scores[3] > scores_of([0.2, 0.2, 0.2, 0.2, 0.2]).by_words[3]
    assert len(scores_of([]).by_words) == 0


def test_pieces_of_another_file_are_no_neighbours() -> None:
    scores, competes = by_words(np.array([0.2, 0.9, 0.0]), np.array([0.5, 0.5]), np.array([0, 1, 1]))
    assert scores[0] == 0.2 + 0.1 * 0.2 + 0.5 * 0.5
    assert competes.tolist() == [True, True, True]
    assert by_words(np.array([0.9, 0.0]), np.zeros(2), np.array([0, 1]))[1].tolist() == [True, False]


def test_only_pieces_with_a_word_in_them_or_beside_them_compete_by_words() -> None:
    scores = scores_of([0.0, 0.9, 0.0, 0.0]).of_lines(4, None)
    assert np.isfinite(scores).tolist() == [True, True, True, False]


def test_what_the_model_says_of_a_pieces_best_lines_moves_it() -> None:
    pieces = PieceScores(np.array([[0, 2], [2, 4]]), np.array([1.0, 1.0]), np.array([True, True]))
    said = pieces.by_model(np.array([-5.0, -5.0, -5.0, 3.0]))
    assert said.tolist() == [-5.0, -1.0]
    first, *_, last = pieces.of_lines(5, said)[:4]
    assert last > first
