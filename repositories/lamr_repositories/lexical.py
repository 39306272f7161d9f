"""Ranks the pieces of all files of a repository by their words: BM25 over pieces and over files, paths included.

Words of a path count in each piece of its file, and a piece gains by the rank of its file: a fix of a message often
lies in a function that doesn't name it, in a file that does."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from lamr_base.arrays import Float64Array
from lamr_base.records import dataclass
from lamr_model.bm25 import idf, length_norm, saturated
from lamr_model.words import query_terms, terms
from lamr_postprocess.lines import IntArray
from numpy.typing import NDArray

from lamr_repositories.file_index import FileIndex, term_number

_SEPARATORS = str.maketrans("/.-", "   ")
PATH_WEIGHT = 2.0
"""How many occurrences in a piece a word of its file's path is worth."""
RARITY = 0.7
"""The power of a term's rarity: long questions have rare words of little meaning, such as names of people."""


@lru_cache(maxsize=1 << 16)
def _path_terms(path: str) -> frozenset[str]:
    """Return the terms of a path, which a process that stays needs for each question."""
    return frozenset(term for word in path.translate(_SEPARATORS).split() for term in terms(word))


def query_numbers(query: str) -> NDArray[np.uint64]:
    """Return the numbers, uint64 [Q], of a query's terms."""
    return np.array([term_number(term) for term in query_terms(query)], np.uint64)


@dataclass(frozen=True, eq=False)
class Pieces:
    """All P pieces of F files with their scores for a query."""

    paths: tuple[str, ...]
    index: FileIndex
    file: IntArray  # int64 [P], the file of each
    by_piece: Float64Array  # float64 [P], BM25
    by_file: Float64Array  # float64 [F], BM25 of each file as a whole

    @property
    def sizes(self) -> Float64Array:
        """How many terms each file has, float64 [F]."""
        return np.bincount(self.file, self.index.lengths, len(self.paths)).astype(np.float64)

    @classmethod
    def scored(cls, paths: Sequence[str], index: FileIndex, query: str) -> "Pieces":
        """Score the pieces of files by their paths and their index, which has at least the cells of the query."""
        files, count = len(paths), len(index.lengths)
        file = np.repeat(np.arange(files), index.counts)
        scored = cls(tuple(paths), index, file, np.zeros(count), np.zeros(files))
        norm, file_norm = length_norm(index.lengths.astype(np.float64)), length_norm(scored.sizes)
        piece, term, times = index.find(query_numbers(query))
        of_paths = [_path_terms(path) for path in paths]
        # One term at a time, because all at once may not fit into memory.
        for column, name in enumerate(query_terms(query)):
            here = term == column
            tail = np.zeros(count)
            tail[piece[here]] = times[here]
            whole = np.bincount(file, tail, files).astype(np.float64)
            named = PATH_WEIGHT * np.array([name in each for each in of_paths], np.float64)
            scored.by_piece[:] += saturated(tail + named[file], norm) * idf(tail[:, None]) ** RARITY
            scored.by_file[:] += saturated(whole + named, file_norm) * idf(whole[:, None]) ** RARITY
        return scored


def scaled(scores: Float64Array) -> Float64Array:
    """Return scores divided by the largest; all 0 where none is above 0."""
    top = float(scores.max(initial=0.0))
    return scores / top if top > 0 else scores


def by_rank(scores: Float64Array) -> IntArray:
    """Return places in falling order of score, equal ones in their own order."""
    return np.argsort(-scores, kind="stable")
