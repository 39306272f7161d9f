"""Lexical evidence: how strongly a document's lines name what a query names.

Words are the model's tokens, so identifiers are already split and lower-cased, and nothing is tokenized twice. Three
views are averaged, each scaled to a maximum of 1: BM25 (Robertson and Zaragoza 2009) of the sliding windows of lines
that hold a line, BM25 of the line's block (a function or paragraph, found by blank lines and indentation), and the
rarity of the query's words in the lines around it. Rarity is that of the one document at hand. This module knows ids
and lines; what weight the evidence gets is the model's `Scoring`.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from lamr_client.layout import LineLayout

FloatArray = NDArray[np.float64]

_STOP = """
    a about after all also an and any are as at be because been before being between both but by can could
    did do does doing done during each every for from get gets given had has have having how i if in instead
    into is it its itself kind let like may me might more most much must my no nor not now of off on once one
    only or other our out over own per same should since so some such than that the their them then there
    these they this those through to too under until up use used uses using very via was way we were what
    when where whether which while who whom whose why will with without would you your
"""
STOP_WORDS = frozenset(_STOP.split())
_WORD = re.compile(r"[^\W\d_]+")

WINDOW = 20
CONTEXT = 5
BLOCK_COLUMNS = 4  # a block begins after a blank line, indented no deeper than a method
_K1, _B = 1.2, 0.75


def content_words(query: str) -> str:
    """The query without its stop words, for tokenizing; of `open_for_read` stay `open` and `read`."""
    return _WORD.sub(lambda word: " " if word[0].lower() in STOP_WORDS else word[0], query)


def token_evidence(
    terms: NDArray[np.int64], ids: NDArray[np.int64], offsets: NDArray[np.int64], layout: LineLayout
) -> FloatArray:
    """Evidence float64 [n] in [0, 1] of each token: that of the line it begins in.

    Args:
        terms: distinct token ids of the query's content words.
        ids, offsets: int64 [n] and [n, 2], the document's tokens and their characters.
        layout: of the document's lines.
    """
    lines = np.searchsorted(layout.spans[:, 0], offsets[:, 0], side="right") - 1
    found: FloatArray = line_evidence(terms, ids, lines, layout)[lines]
    return found


def line_evidence(
    terms: NDArray[np.int64], ids: NDArray[np.int64], lines: NDArray[np.intp], layout: LineLayout
) -> FloatArray:
    """Evidence float64 [L] in [0, 1] of each line; all 0 where no term occurs. `lines` [n]: of each token, from 0."""
    count = len(layout.spans)
    if not count or not len(ids):
        return np.zeros(count)
    begins = np.append(True, layout.blank[:-1]) & (layout.cut_cost <= BLOCK_COLUMNS)
    block = np.cumsum(begins) - begins[0]
    tokens = np.bincount(lines, minlength=count).astype(np.float64)
    window_norm = _norm(_moving_sum(tokens, WINDOW // 2))
    block_norm = _norm(np.bincount(block, tokens).astype(np.float64))
    windows, blocks, hits = np.zeros(count), np.zeros(block[-1] + 1), np.zeros(count)
    wanted = np.isin(ids, terms)
    ids, lines = ids[wanted], lines[wanted]
    for term in np.unique(ids):  # distinct words of the query, not tokens of the document
        found = np.bincount(lines[ids == term], minlength=count).astype(np.float64)
        frequency = _moving_sum(found, WINDOW // 2)
        rarity = _rarity(frequency)
        windows += rarity * _saturated(frequency, window_norm)
        hits += rarity * (found > 0)
        in_block = np.bincount(block, found).astype(np.float64)
        blocks += _rarity(in_block) * _saturated(in_block, block_norm)
    near = _scaled(_moving_sum(windows, WINDOW // 2)) + _scaled(_moving_sum(hits, CONTEXT))
    mean: FloatArray = (near / 2 + _scaled(blocks)[block]) / 2
    return mean


def _norm(lengths: FloatArray) -> FloatArray:
    norm: FloatArray = _K1 * (1 - _B + _B * lengths / max(float(lengths.mean()), 1.0))
    return norm


def _saturated(frequency: FloatArray, norm: FloatArray) -> FloatArray:
    return frequency * (_K1 + 1) / (frequency + norm)


def _rarity(frequency: FloatArray) -> float:
    """Inverse document frequency of a term, from its counts in all pieces."""
    holds = np.count_nonzero(frequency > 0.5)  # a moving sum leaves rounding errors where nothing is
    return float(np.log1p((len(frequency) - holds + 0.5) / (holds + 0.5)))


def _moving_sum(values: FloatArray, reach: int) -> FloatArray:
    """Sums over each line and its `reach` neighbours on both sides."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    at = np.arange(len(values))
    sums: FloatArray = total[np.minimum(at + reach + 1, len(values))] - total[np.maximum(at - reach, 0)]
    return sums


def _scaled(values: FloatArray) -> FloatArray:
    top = float(values.max(initial=0.0))
    return values / top if top > 1e-9 else np.zeros_like(values)
