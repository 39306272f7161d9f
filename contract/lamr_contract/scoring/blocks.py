"""Scores over blocks of lines, which are functions, methods and paragraphs, and over the lines nearby.

A single line rarely answers a question, so scores that agree within a block rank better and leave fewer cuts. This
module knows line layouts, which say where blocks begin, and scores; it knows no tokens and no grammar.
"""

from __future__ import annotations

import numpy as np

from lamr_contract.arrays import Float64Array
from lamr_contract.layout import LineLayout
from lamr_contract.scoring.odds import logit, sigmoid


def block_means(values: Float64Array, layout: LineLayout) -> Float64Array:
    """Return the mean over each line's block, float64 [L]: over its lines that aren't blank, or 0 in a blank block."""
    block = layout.blocks
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
    return over_blank(sigmoid(towards_block(logit(scores), layout, share)), layout)


def towards_block(values: Float64Array, layout: LineLayout, share: float) -> Float64Array:
    """Return values [L] that are moved by a share of the way to the mean of their block."""
    moved: Float64Array = (1 - share) * values + share * block_means(values, layout)
    return moved


def near_means(values: Float64Array, layout: LineLayout, reach: float) -> Float64Array:
    """Return means over the lines around each line, float64 [L]: over those that aren't blank, nearer ones more.

    Args:
        values: float64 [L].
        layout: the L lines.
        reach: in how many lines a line's share falls to 1 / e of what it is.
    """
    if not len(values):
        return values
    reached = int(np.ceil(4 * reach))
    share = np.exp(-np.abs(np.arange(-reached, reached + 1)) / reach)
    inked = (~layout.blank).astype(np.float64)
    inside = slice(reached, reached + len(values))
    sums, counts = (np.convolve(each, share)[inside] for each in (values * inked, inked))
    means: Float64Array = np.where(layout.blank, values, sums / np.maximum(counts, 1e-9))
    return means


def over_blank(scores: Float64Array, layout: LineLayout) -> Float64Array:
    """Return line scores [L] in which each blank line has the smaller score of its neighbours."""
    inked, blank = np.flatnonzero(~layout.blank), np.flatnonzero(layout.blank)
    if not len(inked):
        return scores
    after = np.searchsorted(inked, blank)
    before = np.maximum(after - 1, 0)
    result = scores.copy()
    result[blank] = np.minimum(scores[inked[before]], scores[inked[np.minimum(after, len(inked) - 1)]])
    return result
