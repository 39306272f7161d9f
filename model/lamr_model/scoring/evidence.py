"""Lexical evidence: how strongly a document's lines name what a query names.

Three views are averaged, each scaled to a maximum of 1: BM25 (Robertson and Zaragoza 2009) of the windows of lines that
hold a line, BM25 of the line's block (a function or paragraph, found by blank lines and indentation), and the rarity of
the query's words in the lines around it. A word is rare when few lines of this one document have it.

A query may be code itself: whoever completes code asks with the lines above the hole. Code repeats itself, so the lines
behind those that resemble the query's last ones tell how it goes on, though they share few words with it
(repository-level completion retrieves such windows: Zhang et al. 2023, RepoCoder). The module knows words and lines; it
knows no tokens and no model."""

import numpy as np
from lamr_base.arrays import Float64Array
from lamr_base.expressions import expression
from lamr_base.records import dataclass
from lamr_postprocess.layout import LineLayout

from lamr_model.bm25 import length_norm, rarity, saturated
from lamr_model.words import TermCounts, TermIndex, query_terms

WINDOW = 20
"""The lines of a sliding window."""
CONTEXT = 5
"""How many lines before and after a line count as around it."""
# Terms are weighed together, but never so many at once that they take more memory than the document.
_COUNTS_AT_ONCE = 200_000


@dataclass(frozen=True, eq=False)
class LexicalViews:
    """The evidence of L lines from each view, float64 [L], scaled to a maximum of 1; 0 where no word of a query occurs.

    Attributes:
        windows: BM25 of the windows that hold the line.
        around: the rarity of the query's words in the lines around it.
        passages: BM25 of the line's block.
        own: the rarity of the query's words in the line itself."""

    windows: Float64Array
    around: Float64Array
    passages: Float64Array
    own: Float64Array

    def mean(self) -> Float64Array:
        """Return the evidence of all views together, float64 [L]; 0 everywhere where no word of the query occurs."""
        together: Float64Array = ((self.windows + self.around) / 2 + self.passages) / 2
        return together


def lexical_views(counts: TermCounts, layout: LineLayout) -> LexicalViews:
    """Return the evidence of each line, view by view. `counts`: the terms of what is looked for (`words.query_terms`)
    in each line."""
    count = len(layout.spans)
    if not count:
        return LexicalViews(*(np.zeros(0),) * 4)
    occurs = counts.lines.any(axis=0)
    occurring = counts.lines.T[occurs]
    block = layout.blocks
    starts = layout.block_starts
    window_norm = length_norm(moving_sum(counts.lengths, WINDOW // 2))
    block_norm = length_norm(np.add.reduceat(counts.lengths, starts))
    windows, blocks, hits = np.zeros(count), np.zeros(len(starts)), np.zeros(count)
    at_once = max(1, _COUNTS_AT_ONCE // count)
    for first in range(0, len(occurring), at_once):
        lines = occurring[first : first + at_once]
        hits += _weighed(lines, np.minimum(lines, 1))
        frequency = moving_sum(lines, WINDOW // 2)
        windows += _weighed(frequency, saturated(frequency, window_norm))
        frequency = np.add.reduceat(lines, starts, axis=1)
        blocks += _weighed(frequency, saturated(frequency, block_norm))
    return LexicalViews(
        windows=_scaled(moving_sum(windows, WINDOW // 2)),
        around=_scaled(moving_sum(hits, CONTEXT)),
        passages=_scaled(blocks)[block],
        own=_scaled(hits),
    )


def _weighed(frequency: Float64Array, values: Float64Array) -> Float64Array:
    """Return the sum [S] over terms of values [Q, S] times the terms' rarity, which counts [Q, S] give."""
    # A moving sum leaves rounding errors where a term doesn't occur.
    holds = np.add.reduce(frequency > 0.5, axis=1, keepdims=True)
    summed: Float64Array = np.add.reduce(rarity(holds, frequency.shape[1]) * values, axis=0)
    return summed


def moving_sum(values: Float64Array, reach: int) -> Float64Array:
    """Return the sums [..., L] of values [..., L] over each line and its `reach` neighbours on both sides."""
    count = values.shape[-1]
    total = np.zeros((*values.shape[:-1], count + 2 * reach + 1))
    total[..., reach + 1 : reach + 1 + count] = values
    np.add.accumulate(total, axis=-1, out=total)
    sums: Float64Array = total[..., 2 * reach + 1 :] - total[..., :count]
    return sums


def _scaled(values: Float64Array) -> Float64Array:
    """Return values scaled to a maximum of 1; all 0 where they are nothing but rounding errors."""
    top = float(values.max(initial=0.0))
    return values / top if top > 1e-9 else np.zeros_like(values)


MOST_LINES = 3
"""The query's last lines that are looked for."""
BEHIND, FADING = 4, 0.7
"""How many lines behind one that resembles them go on from it; and what counts of each further line, in either."""
LEAST_ALIKE = 0.3
"""The share of a line's terms, weighed by how rare they are in the file, that a line must have to resemble it."""
_CODE = expression(r"[=;{}\[(]\s*$|\w\([^)]|\w\(\)|[)\]][;:]?\s*$|\w\s?[-+|&]?=\s?\S")
_LISTED = expression(r"\s*(?:[-*\u2022]|\d+[.)])\s")
_MOST = 0.5  # of the lines


def is_code(query: str) -> bool:
    """Return whether a query is code.

    It has two lines or more, most of them and the last one are indented or look like code, and one of each is
    there."""
    lines = [line for line in query.splitlines() if line.strip()]
    if len(lines) < 2:
        return False
    looks = [_CODE.search(line) is not None and not _LISTED.match(line) for line in lines]
    indented = [line[0].isspace() and not _LISTED.match(line) for line in lines]
    either = list(map(max, looks, indented))
    return any(looks) and any(indented) and either[-1] and sum(either) > _MOST * len(lines)


def going_on(query: str, index: TermIndex, lines: int) -> Float64Array:
    """Return how much each of L lines goes on from lines like the query's last ones, float64 [L]: 1 for the line
    behind one that is like the last line alone."""
    found = np.zeros(lines)
    last = [terms for line in query.splitlines() if (terms := query_terms(line))][-MOST_LINES:]
    for back, terms in enumerate(reversed(last)):
        there = index.counts(terms).lines > 0
        rarity = np.log((lines + 1) / (there.sum(axis=0) + 0.5))
        alike = there @ rarity / rarity.sum()
        alike[alike <= LEAST_ALIKE] = 0.0
        for behind in range(min(BEHIND + 1, lines)):
            found[behind:] += FADING ** (back + max(0, behind - 1)) * alike[: lines - behind]
    return found
