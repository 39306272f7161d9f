"""Blocks of lines: functions, methods and paragraphs, found by blank lines and indentation in any language.

A single line rarely answers a question, so scores that agree within a block rank better and leave fewer cuts. This
module knows line layouts and scores; it knows no tokens and no grammar.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lamr_contract.arrays import Float64Array
from lamr_contract.layout import LineLayout
from lamr_contract.odds import logit, sigmoid

BLOCK_COLUMNS = 4
"""A block begins after a blank line, at a line that is indented no deeper than a method."""


def block_numbers(layout: LineLayout) -> NDArray[np.int64]:
    """Return the number of each line's block, int64 [L], from 0."""
    begins = np.append(True, layout.blank[:-1]) & (layout.cut_cost <= BLOCK_COLUMNS)
    numbers: NDArray[np.int64] = np.maximum(np.cumsum(begins[: len(layout.blank)]) - 1, 0)
    return numbers


def block_means(values: Float64Array, layout: LineLayout) -> Float64Array:
    """Return the mean over each line's block, float64 [L]: over its lines that aren't blank, or 0 in a blank block."""
    block = block_numbers(layout)
    inked = (~layout.blank).astype(np.float64)
    sums = np.bincount(block, values * inked)
    counts = np.bincount(block, inked)
    means: Float64Array = (sums / np.maximum(counts, 1.0))[block]
    return means


def with_blocks(scores: Float64Array, layout: LineLayout, share: float) -> Float64Array:
    """Return line scores that are moved towards the mean of their block, in log-odds.

    Blank lines take the smaller score of their neighbours again, as `line_scores_from_tokens` gives it.

    Args:
        scores: float64 [L], in [0, 1].
        layout: the L lines.
        share: how far scores move, from 0 (not at all) to 1 (all lines of a block score the same).
    """
    inked = np.flatnonzero(~layout.blank)
    if not len(inked):
        return scores
    logits = logit(scores)
    logits = (1 - share) * logits + share * block_means(logits, layout)
    result = np.empty(len(scores))
    result[inked] = moved = sigmoid(logits[inked])
    blank = np.flatnonzero(layout.blank)
    after = np.searchsorted(inked, blank)
    before = np.maximum(after - 1, 0)
    result[blank] = np.minimum(moved[before], moved[np.minimum(after, len(inked) - 1)])
    return result
