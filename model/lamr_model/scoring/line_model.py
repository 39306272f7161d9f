"""`LineModel`: which lines of a whole file a query needs, by words and lines alone, in milliseconds.

Its positions are lines. Each word of the query is weighed by what it tells about this file; it matches words of lines
exactly and by vectors, layers over lines carry what is known from line to line, and LaMR's own heads, gate and chains
decide (`lamr_model.crf`). The module needs numpy alone; it knows no tokens, no encoder and no thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from lamr_base.arrays import Float32Array, Float64Array, logit
from lamr_base.records import dataclass
from lamr_postprocess.clock import in_time, look
from lamr_postprocess.lines import split_lines
from lamr_postprocess.source_file import SourceFile
from numpy.typing import NDArray

from lamr_model.crf import Decoder, DecoderWeights
from lamr_model.query_truncation import Query
from lamr_model.scoring.document_words import DocumentWords
from lamr_model.scoring.line_inputs import (
    EVIDENCE,
    FORMS,
    IN_FILE,
    LEXICAL,
    LineForms,
    Matches,
    Positions,
    evidence,
    lexical,
    line_features,
    line_forms,
    together,
)
from lamr_model.scoring.line_layers import LineLayers, Relations, stretches
from lamr_model.scoring.line_vectors import (
    LineVectors,
    QueryVectors,
    WordMatching,
    WordSums,
    WordTable,
    vector_inputs,
)
from lamr_model.scoring.query_words import FEATURES, QueryWords
from lamr_model.words import TermIndex

LEAST_UNDERSTOOD = 0.05
"""What a query is understood at least, so that documents keep their order even for a query without a known word."""
INPUTS = (*FORMS, *LEXICAL, *EVIDENCE)
"""The last of a line's inputs, by name: those that aren't of vectors."""
MOST_WEIGHT, LEAST_WEIGHT = 4.0, -6.0
"""What a word weighs at most and at least, as a logarithm."""


@dataclass(frozen=True, eq=False)
class ScoredLines:
    """What the model says of L lines."""

    # [L], the log-odds of the fused chain's marginals; those of blank lines are the smallest
    logits: Float64Array
    dependency: NDArray[np.bool_]  # [L], where the dependency rubric's marginal is above the semantic one's


@dataclass(frozen=True, eq=False)
class FileLines:
    """What the model reads of a file's lines, whatever is asked about them."""

    words: DocumentWords  # of all lines
    positions: Positions  # positions, relations: of those with ink
    relations: Relations
    forms: LineForms  # of all lines

    @classmethod
    def of(cls, source: SourceFile) -> FileLines:
        """Read a file."""
        words = DocumentWords.of(TermIndex.of(source.body, source.layout), source.layout)
        look()
        positions = Positions.of(words)
        defined, using = (positions.place[lines] for lines in words.definitions)
        forms = line_forms(split_lines(source.body), source.layout)  # which nothing else of code reads
        return cls(words, positions, Relations.of(positions, defined, using), forms)


@dataclass(frozen=True, eq=False)
class QueryLines:
    """A query and a file's lines, ready for the model."""

    positions: Positions  # positions, relations: of the lines with ink
    relations: Relations
    vectors: LineVectors  # what vectors of words say of them
    plain: Float32Array  # [I, P], their `INPUTS`
    terms: tuple[str, ...]  # those of the query that are weighed
    together: float  # the largest share of the query's words that one block has, in [0, 1]
    understood: float  # see `LineModel.understood`

    def column(self, name: str) -> Float32Array:
        """Return one of the inputs that aren't of vectors, float32 [I], by its name in `INPUTS`."""
        column: Float32Array = self.plain[:, INPUTS.index(name)]
        return column

    def inputs(self, first: int, last: int) -> Float32Array:
        """Return the N inputs of the lines from `first` to before `last`, float32 [last - first, N].

        Those of all lines of a large file take a hundred times its memory."""
        inputs = np.empty((last - first, self.vectors.width + len(INPUTS)), np.float32)
        self.vectors.write(first, last, inputs[:, : -len(INPUTS)])
        inputs[:, -len(INPUTS) :] = self.plain[first:last]
        return inputs


@dataclass(frozen=True, eq=False)
class LineModel:
    """The weights of the model; d is the width of a word's vector. Raises `ValueError`: shapes don't fit
    together."""

    words: tuple[str, ...]  # the V terms that have vectors, the most frequent first
    # query, line: their vectors in queries and in lines; `alone` is what a word of a query adds to its matches, and
    # how likely lines of a word are needed, whatever is asked
    query: WordTable
    line: WordTable
    matching: WordMatching  # how words weigh and match
    layers: LineLayers  # the layers over lines
    decoder: DecoderWeights  # heads, gate and chains

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
        return dict(zip(self.words, range(len(self.words)), strict=True))

    def ask(
        self, queries: Sequence[Query], source: SourceFile, near_named: Float64Array
    ) -> tuple[QueryLines, ...]:
        """Prepare a file for some queries: its words are read once. `near_named`: float64 [L], how near each line is
        to one that the query names by number."""
        lines = source.kept("lines", None, lambda: FileLines.of(source))
        sums = source.kept(
            "sums", self.line, lambda: WordSums.of(lines.words, lines.positions, self.place, self.line)
        )
        asked = (QueryWords.of(each.text, each.task, source.path, self.place) for each in queries)
        return tuple(self._ask(each, lines, sums, near_named) for each in asked)

    def _ask(
        self, asked: QueryWords, lines: FileLines, sums: WordSums, near_named: Float64Array
    ) -> QueryLines:
        look()
        words, positions = lines.words, lines.positions
        matches = Matches.of(asked, words, positions)
        weights = self.matching.weights(matches.features)
        exact, shares = np.exp(np.clip(weights[:, ::2], LEAST_WEIGHT, MOST_WEIGHT)).T
        plain = (
            line_features(lines.forms, words, positions, near_named, asked),
            lexical(matches, positions, exact * matches.rarity),
            evidence(matches, words, positions),
        )
        known = np.array([self.place.get(term, -1) for term in matches.terms], np.int64)
        told = QueryVectors.of(known, weights[:, 1], shares, self.query, self.matching)
        return QueryLines(
            positions,
            lines.relations,
            LineVectors.of(sums, positions, told, self.matching.block_prior),
            np.concatenate(plain, axis=1, dtype=np.float32),
            matches.terms,
            together(asked, matches),
            self.understood(asked.terms),
        )

    def score(self, asked: QueryLines) -> ScoredLines:
        """Score a file's lines."""
        positions = asked.positions
        count = len(positions.layout.blank)
        logits, dependency = np.full(count, -np.inf), np.zeros(count, np.bool_)
        if len(positions):
            inputs = (asked.inputs(*each) for each in in_time(stretches(len(positions)), every=8))
            heads = map(self._decoder.emissions, self.layers.states(inputs, positions, asked.relations))
            emissions, gate = (np.concatenate(each) for each in zip(*heads, strict=True))
            keep, rubrics = self._decoder.marginals(emissions, gate)
            logits[positions.lines] = logit(keep)
            dependency[positions.lines] = rubrics[:, 1] > rubrics[:, 0]
        return ScoredLines(logits, dependency)

    def understood(self, terms: tuple[str, ...]) -> float:
        """Return how much the model understands of a query, from `LEAST_UNDERSTOOD` to 1, by the words that it knows.

        It is the share of known words less that of unknown ones, and a little less for a query of few words: neither a
        query in a language that the words don't come from nor a single word says what a document lacks."""
        known = sum(term in self.place for term in terms)
        return max(LEAST_UNDERSTOOD, (2 * known - len(terms)) / (len(terms) + 1))

    @cached_property
    def _decoder(self) -> Decoder:
        return Decoder(self.decoder)


def input_count(width: int) -> int:
    """Return N, the inputs of a line, for vectors of d numbers."""
    return vector_inputs(width) + len(INPUTS)
