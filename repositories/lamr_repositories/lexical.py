"""Ranks the pieces of all files of a repository by their words: BM25 over pieces and over files, paths included.

Words of a path count in each piece of its file, and a piece gains by the rank of its file: a fix of a message often
lies in a function that doesn't name it, in a file that does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
from lamr_base.arrays import Float64Array, ranges
from lamr_base.records import dataclass
from lamr_model.bm25 import idf, length_norm, saturated
from lamr_model.words import query_terms, terms
from lamr_postprocess.lines import IntArray
from numpy.typing import NDArray

from lamr_repositories.file_index import FileIndex, joined, term_numbers
from lamr_repositories.segment import Segment, to_bytes

T = TypeVar("T")
_SEPARATORS = str.maketrans("/.-", "   ")
PATH_WEIGHT = 2.0
"""How many occurrences in a piece a word of its file's path is worth."""
RARITY = 0.7
"""The power of a term's rarity: long questions have rare words of little meaning, such as names of people."""


@lru_cache(maxsize=1 << 16)
def _terms(word: str) -> tuple[str, ...]:
    """Return the terms of a folder's or file's name; most names stand in many paths."""
    return tuple(terms(word))


class PieceTable:
    """The P pieces of F files, whichever segments hold them, ready for any query.

    Attributes:
        paths: the files' paths.
        counts, starts: int64 [F], the pieces of each file, and the first of them.
        file: int64 [P], each piece's file.
        spans, lengths, digests: see `FileIndex`; lengths are float64 here.
    """

    def __init__(
        self, paths: Sequence[str], segments: Sequence[Segment], number: IntArray, place: IntArray
    ) -> None:
        """Find the pieces of files.

        Args:
            paths: their paths.
            segments: what holds their indexes.
            number, place: int64 [F], the segment of each and its place there.
        """
        self.paths = tuple(paths)
        self.counts = np.zeros(len(paths), np.int64)
        self._segments = segments
        self._made: dict[Hashable, Any] = {}
        members = [np.flatnonzero(number == each) for each in range(len(segments))]
        for segment, files in zip(segments, members, strict=True):
            self.counts[files] = segment.counts[place[files]]
        self.starts = np.cumsum(self.counts) - self.counts
        count = int(self.counts.sum())
        self.file = np.repeat(np.arange(len(paths)), self.counts)
        self.spans, self.lengths = np.zeros((count, 2), np.int64), np.zeros(count)
        self.digests = np.zeros(count, np.uint64)
        self._pieces: list[IntArray] = []  # of each segment's pieces, those that they are here; -1 for none
        for segment, files in zip(segments, members, strict=True):
            theirs = ranges((np.cumsum(segment.counts) - segment.counts)[place[files]], self.counts[files])
            ours = ranges(self.starts[files], self.counts[files])
            self.spans[ours] = segment.spans[theirs]
            self.lengths[ours] = segment.lengths[theirs]
            self.digests[ours] = segment.digests[theirs]
            self._pieces.append(np.full(len(segment.lengths), -1, np.int64))
            self._pieces[-1][theirs] = ours

    @classmethod
    def of(cls, indexes: Mapping[str, FileIndex]) -> PieceTable:
        """Return the table of files by their paths, each of which has an index of its own."""
        segments = [Segment(to_bytes(joined(list(indexes.values()))))] if indexes else []
        return cls(list(indexes), segments, np.zeros(len(indexes), np.int64), np.arange(len(indexes)))

    def scored(self, query: str) -> Pieces:
        """Return all pieces with their scores.

        Raises:
            ValueError: a segment is damaged.
        """
        wanted = query_terms(query)
        piece, term, times = self._cells(term_numbers(wanted))
        files = len(self.paths)
        by_piece, by_file = np.zeros(len(self.file)), np.zeros(files)
        for column, name in enumerate(wanted):
            here = term == column
            tail = np.zeros(len(self.file))
            tail[piece[here]] = times[here]
            whole = np.bincount(self.file, tail, files).astype(np.float64)
            named = np.zeros(files)
            named[self._on_path.get(name, [])] = PATH_WEIGHT
            for scores, found, more, norm in (
                (by_piece, tail, named[self.file], self._norm),
                (by_file, whole, named, self._file_norm),
            ):
                counts = found + more
                some = counts.nonzero()[0]
                rare = idf(found[:, None]) ** RARITY
                scores[some] += saturated(counts[some], norm[some]) * rare
        return Pieces(self, by_piece, by_file)

    def _cells(self, wanted: NDArray[np.uint64]) -> tuple[IntArray, IntArray, IntArray]:
        """Return where terms stand: each cell's piece, its term's place, and how often."""
        found = [np.zeros((3, 0), np.int64)]
        for segment, ours in zip(self._segments, self._pieces, strict=True):
            piece, term, times = segment.frequencies(wanted)
            cells = np.stack([ours[piece], term, times])
            found.append(cells[:, cells[0] >= 0])
        piece, term, times = np.concatenate(found, axis=1)
        return piece, term, times

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` gives, which isn't called again for the key."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made

    @cached_property
    def sizes(self) -> Float64Array:
        """How many terms each file has, float64 [F]."""
        return np.bincount(self.file, self.lengths, len(self.paths)).astype(np.float64)

    @cached_property
    def _norm(self) -> Float64Array:
        return length_norm(self.lengths)

    @cached_property
    def _file_norm(self) -> Float64Array:
        return length_norm(self.sizes)

    @cached_property
    def _on_path(self) -> dict[str, list[int]]:
        """The files by the terms of their paths."""
        found = defaultdict[str, list[int]](list)
        for file, path in enumerate(self.paths):
            for term in {term for word in path.translate(_SEPARATORS).split() for term in _terms(word)}:
                found[term].append(file)
        return found


@dataclass(frozen=True, eq=False)
class Pieces:
    """The pieces of a table with their scores for a query."""

    table: PieceTable
    by_piece: Float64Array  # float64 [P], BM25
    by_file: Float64Array  # float64 [F], BM25 of each file as a whole


def scaled(scores: Float64Array) -> Float64Array:
    """Return scores divided by the largest; all 0 where none is above 0."""
    top = float(scores.max(initial=0.0))
    return scores / top if top > 0 else scores


def by_rank(scores: Float64Array) -> IntArray:
    """Return places in falling order of score, equal ones in their own order."""
    return np.argsort(-scores, kind="stable")
