"""`LineModel`: which lines of a whole file a query needs, by words and lines alone, in milliseconds.

Its positions are lines. Each word of the query is weighed by what it tells about this file; it matches words of lines
exactly and by vectors, layers over lines carry what is known from line to line, and LaMR's own heads, gate and chains
decide (`lamr_decoding`). The module needs numpy alone; it knows no tokens, no encoder and no thresholds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from lamr_decoding import Decoder, DecoderWeights
from numpy.typing import NDArray

from lamr_contract.arrays import Float32Array, Float64Array
from lamr_contract.layout import LineLayout
from lamr_contract.scoring.document_words import DocumentWords
from lamr_contract.scoring.line_inputs import (
    EVIDENCE,
    FORMS,
    IN_FILE,
    LEXICAL,
    Matches,
    Positions,
    evidence,
    lexical,
    line_features,
    together,
)
from lamr_contract.scoring.line_layers import LineLayers, Relations
from lamr_contract.scoring.odds import logit
from lamr_contract.scoring.query_words import FEATURES, QueryWords
from lamr_contract.words import TermIndex

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
LEAST_UNDERSTOOD = 0.05
"""What a query is understood at least, so that documents keep their order even for a query without a known word."""
INPUTS = (*FORMS, *LEXICAL, *EVIDENCE)
"""The last of a line's inputs, by name: those that aren't of vectors."""
MOST_WEIGHT, LEAST_WEIGHT = 4.0, -6.0
"""What a word weighs at most and at least, as a logarithm."""


@dataclass(frozen=True, eq=False)
class WordTable:
    """Vectors of V words as int8 with a scale each, and what a word says alone.

    Attributes:
        vectors: int8 [V, d].
        scale: float32 [V, 1].
        alone: float32 [V].
    """

    vectors: NDArray[np.int8]
    scale: Float32Array
    alone: Float32Array

    def __getitem__(self, words: NDArray[np.int64]) -> Float32Array:
        """Return the vectors float32 [n, d] of words."""
        taken: Float32Array = self.vectors[words].astype(np.float32) * self.scale[words]
        return taken


@dataclass(frozen=True, eq=False)
class WordMatching:
    """How words of a query weigh and match.

    Attributes:
        hidden, hidden_bias, out, out_bias: float32 [F, H], [H], [H, 3] and [3]; from what is known of a word of the
            query to the logarithms of its weight in exact matches, in matches of vectors, and in the query's vector.
        views: float32 [3, d, d], what the query's vector is multiplied by for each view.
        key: float32 [d, d], what a word's vector is multiplied by before it is matched.
        block_prior: float32 [d], what its block's vector adds to a line's prior.
    """

    hidden: Float32Array
    hidden_bias: Float32Array
    out: Float32Array
    out_bias: Float32Array
    views: Float32Array
    key: Float32Array
    block_prior: Float32Array

    def weights(self, features: Float32Array) -> Float32Array:
        """Return the three logarithms float32 [Q, 3] of words with features [Q, F]."""
        hidden = np.maximum(features @ self.hidden + self.hidden_bias, 0)
        weights: Float32Array = hidden @ self.out + self.out_bias
        return weights


@dataclass(frozen=True, eq=False)
class ScoredLines:
    """What the model says of L lines.

    Attributes:
        logits: float64 [L], the log-odds of the fused chain's marginals; those of blank lines are the smallest.
        dependency: bool [L], where the dependency rubric's marginal is above the semantic one's.
    """

    logits: Float64Array
    dependency: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class AskedLines:
    """A query and a file's lines, ready for the model.

    Attributes:
        positions, relations: of the lines with ink.
        inputs: float32 [I, N].
        terms: those of the query that are weighed.
        together: the largest share of the query's words that one block has, in [0, 1].
        understood: see `LineModel.understood`.
    """

    positions: Positions
    relations: Relations
    inputs: Float32Array
    terms: tuple[str, ...]
    together: float
    understood: float

    def column(self, name: str) -> Float32Array:
        """Return one of the inputs that aren't of vectors, float32 [I], by its name in `INPUTS`."""
        column: Float32Array = self.inputs[:, INPUTS.index(name) - len(INPUTS)]
        return column


@dataclass(frozen=True, eq=False)
class LineModel:
    """The weights of the model; d is the width of a word's vector.

    Attributes:
        words: the V terms that have vectors, the most frequent first.
        query, line: their vectors in queries and in lines; `alone` is what a word of a query adds to its matches, and
            how likely lines of a word are needed, whatever is asked.
        matching: how words weigh and match.
        layers: the layers over lines.
        decoder: heads, gate and chains.

    Raises:
        ValueError: shapes don't fit together.
    """

    words: tuple[str, ...]
    query: WordTable
    line: WordTable
    matching: WordMatching
    layers: LineLayers
    decoder: DecoderWeights

    def __post_init__(self) -> None:
        count, width = len(self.words), int(self.line.vectors.shape[-1])
        for table in (self.query, self.line):
            if table.vectors.shape != (count, width) or table.alone.shape != (count,):
                raise ValueError(f"{count} words have a table of shape {list(table.vectors.shape)}")
        if len(self.matching.hidden) != len(FEATURES) + len(IN_FILE):
            raise ValueError(f"a word of the query has {len(self.matching.hidden)} features in these weights")
        if len(self.layers.first) != input_count(width):
            raise ValueError(f"a line has {len(self.layers.first)} inputs, not {input_count(width)}")
        if self.layers.width != self.decoder.fused_size:
            raise ValueError(f"states have {self.layers.width} numbers, the heads {self.decoder.fused_size}")

    @cached_property
    def place(self) -> dict[str, int]:
        """The place of each word."""
        return {word: place for place, word in enumerate(self.words)}

    def ask(  # noqa: PLR0913, PLR0917  # a query, a text, and what is known of both
        self, query: str, task: str, path: str, text: str, layout: LineLayout, near_named: Float64Array
    ) -> AskedLines:
        """Prepare a query and a file.

        Args:
            query, task: what is looked for, and what for; of any length.
            path: the file's; empty where it isn't known.
            text, layout: the file.
            near_named: float64 [L], how near each line is to one that the query names by number.
        """
        index = TermIndex.of(text, layout)
        words = DocumentWords.of(index, layout)
        positions = Positions.of(words)
        asked = QueryWords.of(query, task, path, self.place)
        matches = Matches.of(asked, words, positions)
        weights = self.matching.weights(matches.features)
        exact, shares = np.exp(np.clip(weights[:, ::2], LEAST_WEIGHT, MOST_WEIGHT)).T
        by_words = lexical(matches, positions, exact * matches.rarity)
        inputs = (
            self._by_vectors(matches.terms, weights[:, 1], shares, words, positions),
            line_features(text, words, positions, near_named, asked),
            by_words.astype(np.float32),
            evidence(matches, index, positions).astype(np.float32),
        )
        defined, using = (positions.place[lines] for lines in words.definitions)
        return AskedLines(
            positions,
            Relations.of(positions, defined, using),
            np.concatenate(inputs, axis=1),
            matches.terms,
            together(asked, matches),
            self.understood(asked.terms),
        )

    def score(self, asked: AskedLines) -> ScoredLines:
        """Score a file's lines.

        Args:
            asked: from `ask`.
        """
        positions = asked.positions
        count = len(positions.layout.blank)
        logits, dependency = np.full(count, -np.inf), np.zeros(count, np.bool_)
        if len(positions):
            states = self.layers.states(asked.inputs, positions, asked.relations)
            decoded = self._decoder.decode(states, np.array([0, len(states)]), want_rubrics=True)
            assert decoded.rubric_prob is not None
            logits[positions.lines] = logit(decoded.keep_prob)
            dependency[positions.lines] = decoded.rubric_prob[:, 1] > decoded.rubric_prob[:, 0]
        return ScoredLines(logits, dependency)

    def understood(self, terms: tuple[str, ...]) -> float:
        """Return how much the model understands of a query, from `LEAST_UNDERSTOOD` to 1, by the words that it knows.

        It is the share of known words less that of unknown ones, and a little less for a query of few words: neither a
        query in a language that the words don't come from nor a single word says what a document lacks.
        """
        known = sum(term in self.place for term in terms)
        return max(LEAST_UNDERSTOOD, (2 * known - len(terms)) / (len(terms) + 1))

    @cached_property
    def _decoder(self) -> Decoder:
        return Decoder(self.decoder)

    def _by_vectors(
        self,
        terms: tuple[str, ...],
        importance: Float32Array,
        shares: Float32Array,
        words: DocumentWords,
        positions: Positions,
    ) -> Float32Array:
        """Return what vectors of words say of positions, float32 [I, 7 + 4 d]."""
        own, near, block, prior = self._views(words, positions)
        known = np.array([self.place.get(term, -1) for term in terms], np.int64)
        chosen = np.flatnonzero(known >= 0)
        if len(chosen) > MOST_VECTORS:
            worth = importance[chosen] + self.query.alone[known[chosen]]
            chosen = np.sort(chosen[np.argsort(-worth, kind="stable")[:MOST_VECTORS]])
        vectors, shares = self.query[known[chosen]], shares[chosen]
        asked = shares @ vectors / max(float(shares.sum()), 1e-3) ** QUERY_POWER
        views = (own, near, block)
        products = [view * (each @ asked) for view, each in zip(views, self.matching.views, strict=True)]
        keys = vectors @ self.matching.key.T
        worth = self.query.alone[known[chosen]] + importance[chosen]
        matches = [view @ keys.T + worth for view in views]
        columns = (
            *(product.sum(axis=1, keepdims=True) for product in products),
            (prior + block @ self.matching.block_prior)[:, None],
            *(_log_sums(match)[:, None] for match in matches),
            *products[:2],
            near * (_shares(matches[1]) @ vectors),
            own,
        )
        return np.concatenate(columns, axis=1, dtype=np.float32)

    def _views(
        self, words: DocumentWords, positions: Positions
    ) -> tuple[Float32Array, Float32Array, Float32Array, Float32Array]:
        """Return the vectors float32 [I, d] of each view, and the prior float32 [I]."""
        count = len(positions)
        known, position = known_words(words, positions, self.place)
        sizes = np.bincount(position, minlength=count)
        distinct, inverse = np.unique(known, return_inverse=True)
        sums = _segment_sums(self.line[distinct][inverse], sizes)
        counts = sizes.astype(np.float32)
        own = _scaled(sums, counts)
        near = _scaled(_nearby(sums), _nearby(counts[:, None])[:, 0])
        starts = positions.block_starts
        block = np.zeros_like(own)
        if count:
            of_block = _scaled(np.add.reduceat(sums, starts), np.add.reduceat(counts, starts))
            block = of_block[positions.blocks]
        prior = np.bincount(position, self.line.alone[known], count) / np.maximum(counts, 1) ** LINE_POWER
        return own, near, block, prior.astype(np.float32)


def known_words(
    words: DocumentWords, positions: Positions, vocabulary: Mapping[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of the known words of all lines, and the position of each, int64 [n] both; line after line."""
    number = np.fromiter((vocabulary.get(term, -1) for term in words.terms), np.int64, len(words.terms))
    known = np.append(number, -1)[words.term]
    position = positions.place[words.line[known >= 0]]
    order = np.argsort(position, kind="stable")
    return known[known >= 0][order], position[order]


def input_count(width: int) -> int:
    """Return N, the inputs of a line, for vectors of d numbers."""
    return 2 * VIEWS + 1 + 4 * width + len(INPUTS)


def _segment_sums(vectors: Float32Array, sizes: NDArray[np.int64]) -> Float32Array:
    """Return the sums [I, d] of vectors [n, d] that lie line after line, `sizes` [I] of them in each."""
    sums = np.zeros((len(sizes), vectors.shape[1]), np.float32)
    held = sizes > 0
    if held.any():
        sums[held] = np.add.reduceat(vectors, (np.cumsum(sizes) - sizes)[held])
    return sums


def _scaled(sums: Float32Array, sizes: Float32Array) -> Float32Array:
    """Return sums [n, d] over so many words [n], divided by a power of how many they are."""
    scaled: Float32Array = sums / np.maximum(sizes, 1.0)[:, None] ** LINE_POWER
    return scaled


def _nearby(values: Float32Array) -> Float32Array:
    """Return the sums [I, d] of values [I, d] over each line and the lines near it."""
    padded = np.pad(values, ((NEAR, NEAR), (0, 0)))
    sums = np.zeros_like(values)
    for shift in range(2 * NEAR + 1):
        sums += padded[shift : shift + len(values)]
    return sums


def _log_sums(matches: Float32Array) -> Float32Array:
    """Return the logarithm [I] of the sum of the exponentials of matches [I, q], at least `LEAST_MATCH`."""
    best = matches.max(axis=1, initial=LEAST_MATCH)
    total = np.exp(matches - best[:, None]).sum(axis=1)
    with np.errstate(divide="ignore"):
        sums: Float32Array = np.maximum(best + np.log(total), LEAST_MATCH)
    return sums


def _shares(matches: Float32Array) -> Float32Array:
    """Return the shares [I, q] that the exponentials of matches [I, q] have of their sum."""
    powers = np.exp(matches - matches.max(axis=1, keepdims=True, initial=-np.inf))
    shares: Float32Array = powers / np.maximum(powers.sum(axis=1, keepdims=True), 1e-12)
    return shares
