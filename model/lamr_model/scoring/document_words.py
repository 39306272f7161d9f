"""`DocumentWords`: which terms the lines of a document have, how rare they are, and where names are defined.

A name is defined by the first line that has it and heads other lines, or else by the first line that has it. That holds
for most languages and needs no grammar. The module knows words and layouts; it knows no query and no
weights."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from lamr_base.arrays import Float64Array
from lamr_base.records import dataclass
from lamr_postprocess.layout import LineLayout
from numpy.typing import NDArray

from lamr_model.bm25 import rarity
from lamr_model.chunking import innermost_headers
from lamr_model.words import TermIndex

MOST_USES, LEAST_LETTERS = 30, 5
"""A name that more lines have, or a shorter one without an underscore, is too common to lead anywhere."""


@dataclass(frozen=True, eq=False)
class DocumentWords:
    """The terms of L lines."""

    layout: LineLayout  # the lines
    terms: tuple[str, ...]  # the T distinct terms
    # term, line: [n], which term stands in which line, without repeats; ascending by term, then by line
    term: NDArray[np.int64]
    line: NDArray[np.int64]
    count: NDArray[np.int64]  # [n], how often it stands there
    lengths: Float64Array  # [L], how many terms of any kind each line has

    @classmethod
    def of(cls, index: TermIndex, layout: LineLayout) -> DocumentWords:
        """Read the terms of a text's lines."""
        terms, term, line = index.occurrences()
        lines = max(1, len(layout.blank))
        pairs, count = np.unique(term * lines + line, return_counts=True)
        return cls(layout, tuple(terms), *np.divmod(pairs, lines), count, index.lengths)

    @cached_property
    def frequency(self) -> NDArray[np.int64]:
        """How many lines have each term, int64 [T]."""
        frequency: NDArray[np.int64] = np.bincount(self.term, minlength=len(self.terms))
        return frequency

    @cached_property
    def rarity(self) -> Float64Array:
        """How rare each term is among the lines, float64 [T] (`bm25.rarity`)."""
        return rarity(self.frequency, len(self.layout.blank))

    @cached_property
    def place(self) -> dict[str, int]:
        """The place of each term."""
        return {term: place for place, term in enumerate(self.terms)}

    @cached_property
    def header(self) -> NDArray[np.int64]:
        """The line that heads each line, int64 [L]; -1 without one (`innermost_headers`)."""
        return innermost_headers(self.layout)

    @cached_property
    def headed(self) -> NDArray[np.int64]:
        """How many lines each line heads, int64 [L]."""
        heads = self.header[self.header >= 0]
        headed: NDArray[np.int64] = np.bincount(heads, minlength=len(self.layout.blank))
        return headed

    @cached_property
    def definitions(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The defining and the using line of each use of a name, int64 [u] both; names with one line have none."""
        none = np.zeros(0, np.int64)
        named = np.fromiter(
            ("_" in term or len(term) >= LEAST_LETTERS for term in self.terms), np.bool_, len(self.terms)
        )
        named &= (self.frequency >= 2) & (self.frequency <= MOST_USES)
        chosen = named[self.term] if len(self.term) else np.zeros(0, np.bool_)
        term, line = self.term[chosen], self.line[chosen]
        if not len(term):
            return none, none
        starts = np.flatnonzero(np.diff(term, prepend=-1))
        beyond = len(self.layout.blank)
        heading = np.minimum.reduceat(np.where(self.headed[line] > 0, line, beyond), starts)
        defining = np.where(heading < beyond, heading, line[starts])
        defined = np.repeat(defining, np.diff(np.append(starts, len(term))))
        uses = defined != line
        return defined[uses], line[uses]
