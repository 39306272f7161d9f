"""Fits a scoring of the kind `lines`: a logistic regression over the features of the lines of whole files.

The features come from the contract's `DocumentScorer`, which also serves them. The module knows features and gold
lines; it knows no model and no text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from lamr_contract.names import KEEP_PROB, RELEVANCE
from lamr_contract.scoring.features import (
    AROUND,
    BLOCK_PREFIX,
    COMMENT,
    IMPORTS,
    LENGTH,
    MARKS,
    OWN,
    PASSAGE,
    REPEATS,
    WINDOWS,
)
from lamr_contract.scoring.rules import BLOCK, NAMED, NEAR, SEMANTIC, Scoring
from numpy.typing import NDArray

from lamr_training.recipes.regression import logistic_regression
from lamr_training.recipes.scoring_fit import NAMED_ODDS, ScoredFile

LINE_FEATURES = (
    *(SEMANTIC, RELEVANCE, KEEP_PROB, WINDOWS, AROUND, PASSAGE, OWN),
    *(COMMENT, MARKS, IMPORTS, LENGTH, REPEATS),
    *(BLOCK_PREFIX + name for name in (SEMANTIC, RELEVANCE, KEEP_PROB, AROUND)),
)
"""The features that are weighed."""
_RIDGE = 3.0
"""The weight of the squared weights, in files: enough to keep features that are alike from opposing each other."""
_SHARES = (0.13, 0.42)
"""The bounds of what the threshold selects."""
_BLOCK_SHARE, _REACH = 0.2, 0.45
"""How far lines are levelled. Sharper scores rank better, but cut a file into more pieces, which repair fills again."""


def fit_lines(
    files: Sequence[ScoredFile], rubrics: Sequence[str], names: Sequence[str] = LINE_FEATURES
) -> Scoring:
    """Fit a scoring of the kind `lines` to the gold lines of files, by Newton's method.

    Every file counts the same, and so do its gold lines and its other lines with ink.

    Args:
        files: from `score_files`.
        rubrics: the names of the model's rubrics.
        names: the features.

    Returns:
        a scoring whose bias is 0.

    Raises:
        ValueError: no file has both gold lines and others.
    """
    parts = [part for file in files if (part := _examples(file, rubrics, names)) is not None]
    if not parts:
        raise ValueError("no file has both lines that are needed and lines that aren't")
    features, gold, counts = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    weights, _ = logistic_regression(features, gold, counts, _RIDGE)
    fitted = {name: round(float(weight), 4) for name, weight in zip(names, weights, strict=True)}
    return Scoring("lines", {**fitted, BLOCK: _BLOCK_SHARE, NEAR: _REACH, NAMED: NAMED_ODDS}, shares=_SHARES)


def _examples(
    file: ScoredFile, rubrics: Sequence[str], names: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]] | None:
    """Return features [I, F], gold [I] and weights [I] of a file's I lines with ink; None if they are all alike."""
    gold, inked = file.gold()
    gold = gold[inked]
    if gold.all() or not gold.any():
        return None
    counts = np.where(gold, 0.5 / gold.sum(), 0.5 / (~gold).sum())
    return file.features(names, rubrics)[inked], gold, counts
