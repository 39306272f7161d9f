"""`LineVectors`: what vectors of words say of lines, in three views: a line's own words, those near it, its block's.

A query has a vector and its words have some; each view is compared with both. The module knows words by number and
learned weights; it knows neither forms nor layers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from lamr_base.arrays import Float32Array, SegmentedRows, stable_order, sums_of_segments
from lamr_base.records import dataclass
from numpy.typing import NDArray

from lamr_model.crf.layers import product
from lamr_model.scoring.document_words import DocumentWords
from lamr_model.scoring.line_inputs import Positions

NEAR = 3
"""How many lines before and after a line are near it, for vectors."""
QUERY_POWER, LINE_POWER = 0.7, 0.5
"""A text's vector is divided by this power of its words, since long texts say more, but not so much more."""
LEAST_MATCH = -4.0
"""What a match is at least: how little it is below that says nothing."""
VIEWS = 3
"""A line's own words, those of the lines near it, and those of its block."""
MOST_VECTORS = 96
"""Of a query's words, those that weigh most have vectors that are matched."""


@dataclass(frozen=True, eq=False)
class WordTable:
    """Vectors of V words as int8 with a scale each, and what a word says alone."""

    vectors: NDArray[np.int8]  # [V, d]
    scale: Float32Array  # [V, 1]
    alone: Float32Array  # [V]

    def __getitem__(self, words: NDArray[np.int64]) -> Float32Array:
        """Return the vectors float32 [n, d] of words."""
        taken: Float32Array = self.vectors[words].astype(np.float32) * self.scale[words]
        return taken


@dataclass(frozen=True, eq=False)
class WordMatching:
    """How words of a query weigh and match."""

    # hidden, hidden_bias, out, out_bias: [F, H], [H], [H, 3] and [3]; from what is known of a word of the query to
    # the logarithms of its weight in exact matches, in matches of vectors, and in the query's vector
    hidden: Float32Array
    hidden_bias: Float32Array
    out: Float32Array
    out_bias: Float32Array
    views: Float32Array  # [3, d, d], what the query's vector is multiplied by for each view
    key: Float32Array  # [d, d], what a word's vector is multiplied by before it is matched
    block_prior: Float32Array  # [d], what its block's vector adds to a line's prior

    def weights(self, features: Float32Array) -> Float32Array:
        """Return the three logarithms float32 [Q, 3] of words with features [Q, F]."""
        hidden = np.maximum(features @ self.hidden + self.hidden_bias, 0)
        weights: Float32Array = hidden @ self.out + self.out_bias
        return weights


@dataclass(frozen=True, eq=False)
class QueryVectors:
    """What a query's vectors are compared with."""

    keys: Float32Array  # [q, d], of the words that are matched
    worth: Float32Array  # [q], what is added to each one's matches
    views: Float32Array  # [3, d], what each view is multiplied by

    @classmethod
    def of(
        cls,
        known: NDArray[np.int64],
        importance: Float32Array,
        shares: Float32Array,
        table: WordTable,
        matching: WordMatching,
    ) -> QueryVectors:
        """Choose the words of a query that are matched.

        Args:
            known: int64 [Q], their numbers; -1 for one that is unknown.
            importance: float32 [Q], the logarithms of what their matches weigh.
            shares: float32 [Q], what they weigh in the query's vector."""
        chosen = np.flatnonzero(known >= 0)
        worth = table.alone[known[chosen]] + importance[chosen]
        if len(chosen) > MOST_VECTORS:
            best = np.sort(np.argsort(-worth, kind="stable")[:MOST_VECTORS])
            chosen, worth = chosen[best], worth[best]
        vectors, shares = table[known[chosen]], shares[chosen]
        asked = shares @ vectors / max(float(shares.sum()), 1e-3) ** QUERY_POWER
        return cls(vectors @ matching.key.T, worth, matching.views @ asked)

    def matches(self, view: Float32Array) -> Float32Array:
        """Return how the words match a view [n, d], float32 [q, n]: word after word, as they are summed."""
        return np.ascontiguousarray((product(view, self.keys.T) + self.worth).T)


@dataclass(frozen=True, eq=False)
class WordSums:
    """The words of I lines as vectors."""

    sums: Float32Array  # [I, d], the sums of the vectors of each line's words
    counts: Float32Array  # [I], how many these are
    # scale, near_scale: [I, 1], what the sums of a line and of the lines near it are multiplied by
    scale: Float32Array
    near_scale: Float32Array
    prior: Float32Array  # [I], how likely a line is needed, whatever is asked, by its words

    @classmethod
    def of(
        cls, words: DocumentWords, positions: Positions, vocabulary: Mapping[str, int], table: WordTable
    ) -> WordSums:
        """Add up the vectors of each line's words."""
        known, position = known_words(words, positions, vocabulary)
        sizes = np.bincount(position, minlength=len(positions))
        counts = sizes.astype(np.float32)
        distinct = np.flatnonzero(np.bincount(known))
        row = np.zeros(int(known.max(initial=-1)) + 1, np.int64)
        row[distinct] = np.arange(len(distinct))
        sums = SegmentedRows.of(row[known], sizes).sums(table[distinct])
        scale = _scale(counts)
        near_scale = _scale(_nearby(np.pad(counts, NEAR)[:, None])[:, 0])
        prior = np.bincount(position, table.alone[known], len(positions)) * scale[:, 0]
        return cls(sums, counts, scale, near_scale, prior.astype(np.float32))


@dataclass(frozen=True, eq=False)
class LineVectors:
    """The words of I lines as vectors, and a query's."""

    query: QueryVectors  # the query's
    lines: WordSums  # those of the lines
    # [B, 3], of each block: its match with the query's vector, what it adds to the prior of its lines, and its match
    # with the query's words
    block: Float32Array
    blocks: NDArray[np.int64]  # [I], the number of each line's block

    @classmethod
    def of(
        cls, lines: WordSums, positions: Positions, query: QueryVectors, block_prior: Float32Array
    ) -> LineVectors:
        """Compare the blocks with a query."""
        block = np.zeros((0, 3), np.float32)
        if len(positions):
            starts = positions.block_starts
            view = sums_of_segments(lines.sums, starts) * _scale(np.add.reduceat(lines.counts, starts))
            sides = (view @ query.views[2], view @ block_prior, _log_sums(query.matches(view)))
            block = np.stack(sides, axis=1)
        return cls(query, lines, block, positions.blocks)

    @property
    def width(self) -> int:
        """How many numbers a line has, 7 + 2 d."""
        return vector_inputs(self.lines.sums.shape[1])

    def write(self, first: int, last: int, columns: Float32Array) -> None:
        """Write what is said of a stretch of lines. `columns`: float32 [last - first, 7 + 2 d]: how each view matches
        the query's vector; the prior; how each view matches the query's words; the products of the near view with the
        query's; the own view."""
        query, lines, count = self.query, self.lines, len(self.blocks)
        near_asked, own = np.split(columns[:, 2 * VIEWS + 1 :], 2, axis=1)
        np.multiply(lines.sums[first:last], lines.scale[first:last], out=own)
        around = lines.sums[max(0, first - NEAR) : min(count, last + NEAR)]
        missing = (max(0, NEAR - first), max(0, last + NEAR - count))
        near = _nearby(np.pad(around, (missing, (0, 0))))
        near *= lines.near_scale[first:last]
        of_block = self.block.take(self.blocks[first:last], axis=0)
        scalars = (
            *(own @ query.views[0], near @ query.views[1], of_block[:, 0]),
            lines.prior[first:last] + of_block[:, 1],
            *(_log_sums(query.matches(np.ascontiguousarray(own))), _log_sums(query.matches(near))),
            of_block[:, 2],
        )
        for place, values in enumerate(scalars):
            columns[:, place] = values
        np.multiply(near, query.views[1], out=near_asked)


def vector_inputs(width: int) -> int:
    """Return how many numbers vectors of d numbers give a line."""
    return 2 * VIEWS + 1 + 2 * width


def known_words(
    words: DocumentWords, positions: Positions, vocabulary: Mapping[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of the known words of all lines, and the position of each, int64 [n] both; line after line."""
    number = np.fromiter((vocabulary.get(term, -1) for term in words.terms), np.int64, len(words.terms))
    known = np.append(number, -1)[words.term]
    position = positions.place[words.line[known >= 0]]
    order = stable_order(position)
    return known[known >= 0][order], position[order]


def _scale(sizes: Float32Array) -> Float32Array:
    """Return what the sums of so many words [n] are multiplied by, [n, 1]."""
    scale: Float32Array = np.maximum(sizes, 1.0)[:, None] ** -LINE_POWER
    return scale


def _nearby(padded: Float32Array) -> Float32Array:
    """Return the sums [n, d] of values over each line and the lines near it, which are there at both ends, too."""
    count = len(padded) - 2 * NEAR
    sums: Float32Array = padded[:count] + padded[1 : count + 1]
    for shift in range(2, 2 * NEAR + 1):
        sums += padded[shift : shift + count]
    return sums


def _log_sums(matches: Float32Array) -> Float32Array:
    """Return the logarithm [n] of the sum of the exponentials of matches [q, n], at least `LEAST_MATCH`."""
    best = matches.max(axis=0, initial=LEAST_MATCH)
    total = np.exp(matches - best).sum(axis=0)
    with np.errstate(divide="ignore"):
        sums: Float32Array = np.maximum(best + np.log(total), LEAST_MATCH)
    return sums
