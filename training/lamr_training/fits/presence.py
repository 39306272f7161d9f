"""Fits an `AnswerPrior`: how likely a file holds an answer, on files that hold one and files that don't.

The features come from the contract, which also serves them. The module knows scored files and a line model, which it
doesn't train.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from lamr_contract.arrays import logit
from lamr_contract.rules import FEATURES, AnswerPrior
from lamr_contract.scoring.line_model import LineModel
from lamr_contract.scoring.scorer import best_lines, document_features
from numpy.typing import NDArray

from lamr_training.fits.scored_files import ScoredFile

LEAST = 20
"""How many files of either sort are enough for a fit."""
PRIOR = 0.95
"""The share of files that hold an answer, among those that are read for one. With it, validation files that hold one
lose nothing at the same share of lines, and those that don't keep much less."""
_RIDGE = 1.0
"""The weight of the squared weights, in files."""


def fit_presence(files: Sequence[ScoredFile], lines: LineModel, *, read: bool) -> AnswerPrior | None:
    """Fit a presence by files with and without gold lines; None if there are fewer than `LEAST` of either.

    Both sorts count the same in all, so 0.5 is where a file is as likely to hold an answer as not. Each file counts
    half with its path and half without, for callers that know none.

    Args:
        files: what is learned from.
        lines: what scores their lines.
        read: whether the encoder's relevance of chunks is known; otherwise the best lines tell.
    """
    present = np.array([bool(file.record.kept_frags) for file in files], np.bool_)
    if min(present.sum(), (~present).sum()) < LEAST:
        return None
    both = [_features(file, lines, read) for file in files]
    rows = [row for rows in zip(*both, strict=True) for row in rows]
    each = np.where(present, 1 / present.sum(), 1 / (~present).sum()) * len(files) / 4
    weights, bias = logistic_regression(np.array(rows), np.tile(present, 2), np.tile(each, 2), _RIDGE)
    fitted = {name: round(float(weight), 4) for name, weight in zip(FEATURES, weights, strict=True)}
    return AnswerPrior(fitted, round(bias, 4), PRIOR)


def _features(file: ScoredFile, lines: LineModel, read: bool) -> list[list[float]]:
    """The features of a file with its path, and without."""
    asked = file.asked.asked_lines(lines)
    if read:
        opinions = logit([float(result.relevance) for result in file.results])
    else:
        opinions = best_lines(lines.score(asked).logits[asked.positions.lines])
    known = (document_features(opinions, asked.together, asked.terms, path) for path in (file.asked.path, ""))
    return [[features[name] for name in FEATURES] for features in known]


_ROUNDS = 30


def logistic_regression(
    features: NDArray[np.float64], positive: NDArray[np.bool_], counts: NDArray[np.float64], ridge: float
) -> tuple[NDArray[np.float64], float]:
    """Return weights [F] and bias of the likeliest logistic regression, by Newton's method.

    Args:
        features: [N, F], one row an example.
        positive: [N], what is to be told.
        counts: [N], how much each example counts.
        ridge: how much the squared weights of the standardized features count.
    """
    centre, spread = features.mean(axis=0), features.std(axis=0) + 1e-6
    inputs = np.column_stack([(features - centre) / spread, np.ones(len(features))])
    penalty = np.diag([*[ridge] * features.shape[1], 0.0])
    weights = np.zeros(inputs.shape[1])
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (counts * (positive - chance)) - penalty @ weights
        curve = (inputs * (counts * chance * (1 - chance))[:, None]).T @ inputs + penalty
        step = np.linalg.solve(curve, slope)
        weights += step
        if np.abs(step).max() < 1e-8:
            break
    scaled: NDArray[np.float64] = weights[:-1] / spread
    return scaled, float(weights[-1] - scaled @ centre)
