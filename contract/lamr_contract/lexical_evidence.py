"""Lexical evidence: how strongly a document's lines name what a query names.

Three views are averaged, each scaled to a maximum of 1: BM25 (Robertson and Zaragoza 2009) of the sliding windows of
lines that hold a line, BM25 of the line's block (a function or paragraph, found by blank lines and indentation), and
the rarity of the query's words in the lines around it. Rarity is that of the one document at hand. This module knows
words and lines, no tokens and no model; what weight the evidence gets is the model's `Scoring`.
"""

from __future__ import annotations

import numpy as np

from lamr_contract.arrays import Float64Array
from lamr_contract.blocks import block_numbers
from lamr_contract.layout import LineLayout
from lamr_contract.words import Tokens, query_terms

WINDOW = 20
CONTEXT = 5
_K1, _B = 1.2, 0.75
# Terms are weighed together, but not so many that they take more memory than the document.
_COUNTS_AT_ONCE = 200_000


def line_evidence(query: str, code: str, layout: LineLayout) -> Float64Array:
    """Evidence float64 [L] in [0, 1] of each line; all 0 where no word of the query occurs."""
    count = len(layout.spans)
    if not count:
        return np.zeros(0)
    found = Tokens(code, count, layout).counts(query_terms(query))
    occurring = found.lines.T[found.lines.any(axis=0)]
    block = block_numbers(layout)
    starts = np.searchsorted(block, np.arange(block[-1] + 1))
    window_norm = _norm(_moving_sum(found.lengths, WINDOW // 2))
    block_norm = _norm(np.add.reduceat(found.lengths, starts))
    windows, blocks, hits = np.zeros(count), np.zeros(len(starts)), np.zeros(count)
    at_once = max(1, _COUNTS_AT_ONCE // count)
    for first in range(0, len(occurring), at_once):
        lines = occurring[first : first + at_once]
        hits += _weighed(lines, np.minimum(lines, 1))
        frequency = _moving_sum(lines, WINDOW // 2)
        windows += _weighed(frequency, _saturated(frequency, window_norm))
        frequency = np.add.reduceat(lines, starts, axis=1)
        blocks += _weighed(frequency, _saturated(frequency, block_norm))
    near = _scaled(_moving_sum(windows, WINDOW // 2)) + _scaled(_moving_sum(hits, CONTEXT))
    mean: Float64Array = (near / 2 + _scaled(blocks)[block]) / 2
    return mean


def _norm(lengths: Float64Array) -> Float64Array:
    norm: Float64Array = _K1 * (1 - _B + _B * lengths / max(float(lengths.mean()), 1.0))
    return norm


def _saturated(frequency: Float64Array, norm: Float64Array) -> Float64Array:
    return frequency * (_K1 + 1) / (frequency + norm)


def _weighed(frequency: Float64Array, values: Float64Array) -> Float64Array:
    """The sum [S] over terms of values [Q, S] times the terms' inverse document frequency, from counts [Q, S]."""
    # A moving sum leaves rounding errors where nothing is.
    holds = np.add.reduce(frequency > 0.5, axis=1, keepdims=True)
    rarity = np.log1p((frequency.shape[1] - holds + 0.5) / (holds + 0.5))
    summed: Float64Array = np.add.reduce(rarity * values, axis=0)
    return summed


def _moving_sum(values: Float64Array, reach: int) -> Float64Array:
    """Sums [..., L] over each line and its `reach` neighbours on both sides."""
    count = values.shape[-1]
    total = np.zeros((*values.shape[:-1], count + 2 * reach + 1))
    total[..., reach + 1 : reach + 1 + count] = values
    np.add.accumulate(total, axis=-1, out=total)
    sums: Float64Array = total[..., 2 * reach + 1 :] - total[..., :count]
    return sums


def _scaled(values: Float64Array) -> Float64Array:
    top = float(values.max(initial=0.0))
    return values / top if top > 1e-9 else np.zeros_like(values)
