"""All pieces of a repository in the order of their words' scores, and the files whose lines compete."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from lamr_contract.arrays import Float64Array
from lamr_contract.words import query_terms
from lamr_postprocess.lines import IntArray, line_spans

from lamr_repositories.allocation import Competitor
from lamr_repositories.copies import penalties
from lamr_repositories.indexing import RepositoryIndex
from lamr_repositories.kinds import ASKED_BY, kind_of
from lamr_repositories.lexical import Pieces, by_rank, scaled
from lamr_repositories.scores import OFF_TOPIC, PieceScores
from lamr_repositories.writing import Outlined

_LEAST_PIECES, _MOST_FILES = 50, 400
_USUAL = 0.25
"""The quantile of what the model says of pieces that counts as nothing said, since it reads the best files alone."""


class Ranked:
    """The pieces of a repository, ranked for one query."""

    def __init__(self, index: RepositoryIndex, query: str) -> None:
        """Rank all pieces of a repository that was indexed for the query."""
        self.index = index
        self.place = {each.listed.path: number for number, each in enumerate(index.files)}
        self.pieces: Pieces = index.table.finish()
        self._lexical = scaled(self.pieces.by_piece)
        self._file = scaled(self.pieces.by_file)
        asked = set(query_terms(query))
        allowed = {"code"} | {kind for kind, words in ASKED_BY.items() if asked & set(query_terms(words))}
        kinds = [kind_of(each.listed.path, each.language) for each in index.files]
        losses = np.array([0.0 if kind in allowed else OFF_TOPIC for kind in kinds])
        self._penalty = penalties(self.pieces, losses)
        self._bounds = np.searchsorted(self.pieces.file, np.arange(len(index.files) + 1))
        scores = [self._scores(file).by_words for file in range(len(index.files))]
        self.order: IntArray = by_rank(np.concatenate([np.zeros(0), *scores]))

    def _scores(self, file: int) -> PieceScores:
        own = slice(int(self._bounds[file]), int(self._bounds[file + 1]))
        return PieceScores(
            self.pieces.spans[own],
            self._lexical[own],
            float(self._file[file]),
            self._penalty[own],
        )

    def best_files(self, terms: float) -> list[int]:
        """Return the files of the best pieces, best first: of pieces with so many terms."""
        sizes = np.cumsum(self.pieces.lengths[self.order] + 1)
        enough = max(int(np.searchsorted(sizes, terms)), _LEAST_PIECES)
        return list(dict.fromkeys(self.pieces.file[self.order[:enough]].tolist()))[:_MOST_FILES]

    def competitors(
        self, chosen: Sequence[tuple[int, str]], log_odds: Sequence[Float64Array | None]
    ) -> list[Competitor]:
        """Return files, by place and text, with their line scores; the line model has read the first of them."""
        scores = [self._scores(file) for file, _ in chosen]
        by_model = [
            None if said is None else own.by_model(said)
            for own, said in itertools.zip_longest(scores, log_odds)
        ]
        said = np.concatenate([np.zeros(0), *(each for each in by_model if each is not None)])
        usual = float(np.quantile(said, _USUAL)) if len(said) else 0.0
        return [
            self._competitor(file, text, own, each, usual)
            for (file, text), own, each in zip(chosen, scores, by_model, strict=True)
        ]

    def _competitor(
        self, file: int, text: str, own: PieceScores, by_model: Float64Array | None, usual: float
    ) -> Competitor:
        lines = len(line_spans(text))
        piece = np.searchsorted(own.spans[:, 1], np.arange(lines), side="right")
        return Competitor(
            self.index.files[file].listed.path, text, own.of_lines(lines, by_model, usual), piece
        )

    def outlines(self) -> Iterator[Outlined]:
        """Yield the files that define something, by their best piece."""
        for file in dict.fromkeys(self.pieces.file[self.order].tolist()):
            each = self.index.files[file]
            if each.outline:
                lines = [f"{'  ' * (entry.depth + 1)}{entry.line}: {entry.text}" for entry in each.outline]
                outer = [line for line, entry in zip(lines, each.outline, strict=True) if not entry.depth]
                yield Outlined(each.listed.path, tuple(lines), tuple(outer))
