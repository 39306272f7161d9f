"""Ranks the pieces of all files of a repository by their words: BM25 over pieces and over files, paths included.

Words of a path count in each piece of its file, and a piece gains by the rank of its file: a fix of a message often
lies in a function that doesn't name it, in a file that does.
"""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache

import numpy as np
from lamr_base.arrays import Float64Array
from lamr_base.records import dataclass
from lamr_model.bm25 import idf, length_norm, saturated
from lamr_model.words import query_terms, terms
from lamr_postprocess.lines import IntArray
from numpy.typing import NDArray

from lamr_repositories.file_index import FileIndex, term_hashes

_SEPARATORS = str.maketrans("/.-", "   ")
PATH_WEIGHT = 2.0
"""How many occurrences in a piece a word of its file's path is worth."""
RARITY = 0.7
"""The power of a term's rarity: long questions have rare words of little meaning, such as names of people."""


@lru_cache(maxsize=1 << 16)
def _terms(word: str) -> tuple[str, ...]:
    """Return the terms of a folder's or file's name; most names stand in many paths."""
    return tuple(terms(word))


@dataclass(eq=False)
class PieceTable:
    """The pieces of all files that were added, and how often each of a query's Q terms occurs in them.

    It holds a few numbers a piece and no text, so that a repository may be larger than memory.
    """

    query: str
    terms: list[str] = field(init=False)
    paths: list[str] = field(default_factory=list)
    _spans: list[IntArray] = field(default_factory=list)
    _lengths: list[Float64Array] = field(default_factory=list)
    _digests: list[NDArray[np.uint64]] = field(default_factory=list)
    _cells: list[tuple[IntArray, IntArray, Float64Array]] = field(default_factory=list)
    _on_path: list[Float64Array] = field(default_factory=list)
    _pieces: int = 0

    def __post_init__(self) -> None:
        self.terms = query_terms(self.query)
        self._wanted = term_hashes(self.terms)

    def add(self, path: str, index: FileIndex) -> None:
        """Take in the pieces of one file."""
        piece, term, times = index.frequencies(self._wanted)
        self.paths.append(path)
        self._spans.append(index.spans.astype(np.int64))
        self._lengths.append(index.lengths.astype(np.float64))
        self._digests.append(index.digests.astype(np.uint64))
        self._cells.append((piece + self._pieces, term, times))
        named = {term for word in path.translate(_SEPARATORS).split() for term in _terms(word)}
        self._on_path.append(np.array([term in named for term in self.terms], np.float64))
        self._pieces += len(index.spans)

    def finish(self) -> Pieces:
        """Return all pieces with their scores."""
        counts = [len(each) for each in self._spans]
        file = np.repeat(np.arange(len(counts)), counts)
        spans = np.concatenate([np.zeros((0, 2), np.int64), *self._spans])
        lengths = np.concatenate([np.zeros(0), *self._lengths])
        on_path = np.array(self._on_path).reshape(len(counts), len(self.terms))
        digests = np.concatenate([np.zeros(0, np.uint64), *self._digests])
        return Pieces(tuple(self.paths), file, spans, lengths, digests, *self._scores(file, lengths, on_path))

    def _scores(
        self, file: IntArray, lengths: Float64Array, on_path: Float64Array
    ) -> tuple[Float64Array, Float64Array]:
        """Return BM25 of each piece and of each file."""
        files = len(self.paths)
        whole_lengths = np.bincount(file, lengths, files).astype(np.float64)
        piece = np.concatenate([np.zeros(0, np.int64), *(each[0] for each in self._cells)])
        term = np.concatenate([np.zeros(0, np.int64), *(each[1] for each in self._cells)])
        times = np.concatenate([np.zeros(0), *(each[2] for each in self._cells)])
        by_piece, by_file = np.zeros(self._pieces), np.zeros(files)
        # One term at a time, because all at once may not fit into memory.
        for column in range(len(self.terms)):
            here = term == column
            tail = np.zeros((self._pieces, 1))
            tail[piece[here], 0] = times[here]
            whole = np.bincount(file, tail[:, 0], files).astype(np.float64)[:, None]
            named = PATH_WEIGHT * on_path[:, column : column + 1]
            by_piece += (
                saturated(tail + named[file], length_norm(lengths)[:, None])[:, 0] * idf(tail) ** RARITY
            )
            by_file += (
                saturated(whole + named, length_norm(whole_lengths)[:, None])[:, 0] * idf(whole) ** RARITY
            )
        return by_piece, by_file


@dataclass(frozen=True, eq=False)
class Pieces:
    """All P pieces of F files."""

    paths: tuple[str, ...]
    file: IntArray  # int64 [P]
    spans: IntArray  # int64 [P, 2], first and one-past-last row
    lengths: Float64Array  # float64 [P], how many terms each has
    digests: NDArray[np.uint64]  # uint64 [P], equal for equal pieces (see `FileIndex`)
    by_piece: Float64Array  # float64 [P], BM25
    by_file: Float64Array  # float64 [F], BM25 of each file as a whole


def scaled(scores: Float64Array) -> Float64Array:
    """Return scores divided by the largest; all 0 where none is above 0."""
    top = float(scores.max(initial=0.0))
    return scores / top if top > 0 else scores


def by_rank(scores: Float64Array) -> IntArray:
    """Return places in falling order of score, equal ones in their own order."""
    return np.argsort(-scores, kind="stable")
