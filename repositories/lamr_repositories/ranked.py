"""All pieces of a repository in the order of their words' scores, and the files whose lines compete."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from lamr_contract.words import query_terms
from lamr_postprocess.lines import IntArray, line_spans

from lamr_repositories.allocation import Competitor
from lamr_repositories.copies import copied
from lamr_repositories.indexing import RepositoryIndex
from lamr_repositories.judging import Judged
from lamr_repositories.kinds import ASKED_BY, kind_of
from lamr_repositories.lexical import Pieces, by_rank, scaled
from lamr_repositories.line_scores import OFF_TOPIC, RANKERS, PieceScores, coarse
from lamr_repositories.writing import Outlined

_LEAST_PIECES, _MOST_FILES = 50, 400
_TERMS_OF_TOKENS = 0.3
"""The terms of pieces that fit into a token of a budget: headings, markers and repair take theirs."""


class Ranked:
    """The pieces of a repository, ranked for one query.

    Attributes:
        index: the repository.
        place: each file's place in the index, by path.
        pieces: all pieces of all files.
        order: the pieces' places, best first.
    """

    def __init__(self, index: RepositoryIndex, query: str) -> None:
        """Rank all pieces.

        Args:
            index: the repository, indexed for the query.
            query: what is looked for.
        """
        self.index = index
        self.place = {each.listed.path: number for number, each in enumerate(index.files)}
        self.pieces: Pieces = index.table.finish()
        self._lexical = scaled(self.pieces.by_piece)
        self._file = scaled(self.pieces.by_file)
        asked = set(query_terms(query))
        allowed = {"code"} | {kind for kind, words in ASKED_BY.items() if asked & set(query_terms(words))}
        kinds = [kind_of(each.listed.path, each.language) for each in index.files]
        losses = np.array([0.0 if kind in allowed else OFF_TOPIC for kind in kinds])
        self._penalty = losses[self.pieces.file] + OFF_TOPIC * copied(self.pieces, losses)
        self._bounds = np.searchsorted(self.pieces.file, np.arange(len(index.files) + 1))
        scores = [coarse(self._scores(file)) for file in range(len(index.files))]
        self._coarse = np.concatenate([np.zeros(0), *scores])
        self.order: IntArray = by_rank(self._coarse)

    def _scores(self, file: int) -> PieceScores:
        own = slice(int(self._bounds[file]), int(self._bounds[file + 1]))
        return PieceScores(
            self.pieces.spans[own],
            self._lexical[own],
            float(self._file[file]),
            self._penalty[own],
        )

    def best_files(self, terms: float, chunks: int) -> list[int]:
        """Return the files of the best pieces, best first: of so many pieces or of pieces with so many terms."""
        sizes = np.cumsum(self.pieces.lengths[self.order] + 1)
        enough = max(int(np.searchsorted(sizes, terms)), chunks, _LEAST_PIECES)
        return list(dict.fromkeys(self.pieces.file[self.order[:enough]].tolist()))[:_MOST_FILES]

    def candidates(
        self, place: dict[int, int], undecided: int | None = None
    ) -> Iterator[tuple[int, int, int]]:
        """Yield the pieces of some files: the file's place, the first and the one-past-last row.

        Args:
            place: the files' places.
            undecided: a budget of tokens; those pieces come first that score like the last one that fits into it, since
                the model's opinion may decide about them. None for the best first.
        """
        order = self.order
        if undecided is not None and len(order):
            used = np.cumsum(self.pieces.lengths[order] + 1)
            last = order[min(int(np.searchsorted(used, _TERMS_OF_TOKENS * undecided)), len(order) - 1)]
            order = by_rank(-np.abs(self._coarse - self._coarse[last]))
        for piece in order.tolist():
            at = place.get(int(self.pieces.file[piece]))
            if at is not None:
                first, stop = self.pieces.spans[piece].tolist()
                yield at, first, stop

    def competitor(self, file: int, text: str, judged: Judged | None, ranker: str) -> Competitor:
        """Return a file with its line scores."""
        own = self._scores(file)
        lines = len(line_spans(text))
        scores = RANKERS[ranker](own, judged, lines)
        piece = np.searchsorted(own.spans[:, 1], np.arange(lines), side="right")
        return Competitor(self.index.files[file].listed.path, text, scores, piece)

    def outlines(self) -> Iterator[Outlined]:
        """Yield the files that define something, by their best piece."""
        for file in dict.fromkeys(self.pieces.file[self.order].tolist()):
            each = self.index.files[file]
            if each.outline:
                lines = [f"{'  ' * (entry.depth + 1)}{entry.line}: {entry.text}" for entry in each.outline]
                outer = [line for line, entry in zip(lines, each.outline, strict=True) if not entry.depth]
                yield Outlined(each.listed.path, tuple(lines), tuple(outer))
