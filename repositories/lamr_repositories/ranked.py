"""All pieces of a repository in the order of their words' scores, and the files whose lines compete.

A line is worth the ranks of its piece and file by words, and what the line model says of the piece. Scores are
comparable over all files of a repository, and the lines of a piece share one. The weights come from questions about
projects that no evaluation uses (docs/lab/repositories.md). Of pieces that a repository holds more than once, such as
build output and committed bundles, the one at the source counts."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from lamr_base.arrays import Float64Array, ranges
from lamr_base.records import dataclass
from lamr_model.words import query_terms
from lamr_postprocess import SourceFile
from lamr_postprocess.lines import BoolArray, IntArray

from lamr_repositories.allocation import Competitor
from lamr_repositories.indexing import RepositoryIndex
from lamr_repositories.kinds import ASKED_BY, is_built, kind_of
from lamr_repositories.lexical import Pieces, by_rank, scaled
from lamr_repositories.writing import Outlined

OFF_TOPIC = 1.5
"""What tests, prose, data and translations lose unless the query asks for them, and files that mostly have copies: more
than words can give, so they come after all code that shares a word with the query."""
FILE_WEIGHT = 0.5
"""What the file's BM25 counts beside its piece's."""
BEST_WEIGHT, NEAR_WEIGHT = 0.1, 0.2
"""What the best piece of a file counts for all its pieces, and the mean of the two next pieces for the one between."""
MODEL_WEIGHT = 0.1
"""What a unit of the line model's log-odds counts; the best piece by words has 1."""
_BEST_LINES = 5
_LEAST_PIECES, _MOST_FILES = 50, 400
_USUAL = 0.25
"""The quantile of what the model says of pieces that counts as nothing said, since it reads the best files alone."""
_MOSTLY = 0.8
"""The share of a file's terms in copied pieces from which all of the file is a copy."""
_BUILT_MOSTLY = 0.2
"""The same for a file in a folder that builds write into: bundlers change a part of what they copy."""


@dataclass(frozen=True, eq=False)
class PieceScores:
    """What is known of the P pieces of one file."""

    spans: IntArray  # int64 [P, 2], their rows
    by_words: Float64Array  # float64 [P], their scores by words alone
    competes: BoolArray  # bool [P], whether a word of the query stands in or next to each

    def by_model(self, log_odds: Float64Array) -> Float64Array:
        """Return the mean log-odds [P] of the best lines of each piece, by those of the file's lines [L]."""
        best = [np.sort(log_odds[first:stop])[-_BEST_LINES:].mean() for first, stop in self.spans.tolist()]
        return np.array(best, np.float64)

    def of_lines(self, lines: int, by_model: Float64Array | None, usual: float = 0.0) -> Float64Array:
        """Return the scores [L] of the file's lines; lines of no piece have minus infinity.

        Pieces without a word of the query in them or next to them don't compete, unless the model says that they rather
        answer than not. `by_model` is what it says of them [P], and `usual` what it says when it says
        nothing."""
        values, competes = self.by_words, self.competes
        if by_model is not None:
            values, competes = values + MODEL_WEIGHT * (by_model - usual), competes | (by_model > 0)
        scores = np.full(lines, -np.inf)
        firsts, counts = self.spans[:, 0], np.diff(self.spans, axis=1)[:, 0]
        scores[ranges(firsts, counts)] = np.repeat(np.where(competes, values, -np.inf), counts)
        return scores


def penalties(pieces: Pieces, of_files: Float64Array) -> Float64Array:
    """Return what P pieces lose, float64 [P]: what their files lose for being no source, float64 [F]; copies infinity.

    Of equal pieces that of the least loss counts, then one outside of folders for build output, of the shortest file,
    nearest to the root."""
    lengths, sizes = pieces.index.lengths, pieces.sizes
    built = np.array([is_built(path) for path in pieces.paths], np.bool_)
    depths = np.array([path.count("/") for path in pieces.paths], np.int64)
    place = np.empty(len(of_files), np.int64)
    place[np.lexsort((depths, sizes, built, of_files))] = np.arange(len(of_files))  # paths are in order
    order = np.lexsort((place[pieces.file], lengths, pieces.index.digests))
    told = np.stack([pieces.index.digests, lengths])[:, order]
    copies = np.zeros(len(order), np.bool_)
    copies[order[1:]] = (told[:, 1:] == told[:, :-1]).all(axis=0) & (told[0, 1:] != 0)
    share = np.bincount(pieces.file, lengths * copies, len(of_files)) / np.maximum(sizes, 1.0)
    whole = share >= np.where(built, _BUILT_MOSTLY, _MOSTLY)
    lost = of_files[pieces.file] + OFF_TOPIC * whole[pieces.file]
    return np.asarray(np.where(copies, np.inf, lost), np.float64)


def by_words(lexical: Float64Array, of_files: Float64Array, file: IntArray) -> tuple[Float64Array, BoolArray]:
    """Return the scores by words alone of P pieces, float64 [P], and whether they compete, bool [P].

    Those compete in which, or next to which, a word of the query stands. Given are BM25 of each piece, float64 [P], and
    of each of F files, float64 [F], the repository's best being 1, and the file of each piece, int64 [P],
    ascending."""
    before, after = np.pad(lexical, 1)[:-2], np.pad(lexical, 1)[2:]
    same = np.diff(file, prepend=-1, append=len(of_files)) == 0
    near = (np.where(same[:-1], before, 0.0) + np.where(same[1:], after, 0.0)) / 2
    best = np.zeros(len(of_files))
    np.maximum.at(best, file, lexical)
    scores = lexical + NEAR_WEIGHT * near + (BEST_WEIGHT * best)[file] + (FILE_WEIGHT * of_files)[file]
    return np.asarray(scores, np.float64), lexical + near > 0


class Ranked:
    """The pieces of a repository, ranked for one query."""

    def __init__(self, index: RepositoryIndex, query: str) -> None:
        """Rank all pieces of a repository that was indexed for the query."""
        self.index = index
        self.place = {each.path: number for number, each in enumerate(index.files)}
        self.pieces = pieces = index.pieces
        asked = set(query_terms(query))
        allowed = {"code"} | {kind for kind, words in ASKED_BY.items() if asked & set(query_terms(words))}
        kinds = [kind_of(path, row.language) for path, row in zip(pieces.paths, index.rows, strict=True)]
        losses = np.array([0.0 if kind in allowed else OFF_TOPIC for kind in kinds])
        scores, self._competes = by_words(scaled(pieces.by_piece), scaled(pieces.by_file), pieces.file)
        self._by_words = scores - penalties(pieces, losses)
        self._bounds = np.append(0, np.cumsum(pieces.index.counts))
        self.order: IntArray = by_rank(self._by_words)

    def _scores(self, file: int) -> PieceScores:
        own = slice(*self._bounds[file : file + 2].tolist())
        return PieceScores(self.pieces.index.spans[own], self._by_words[own], self._competes[own])

    def best_files(self, terms: float) -> list[int]:
        """Return the files of the best pieces, best first: of pieces with so many terms."""
        sizes = np.cumsum(self.pieces.index.lengths[self.order] + 1)
        enough = max(int(np.searchsorted(sizes, terms)), _LEAST_PIECES)
        return list(dict.fromkeys(self.pieces.file[self.order[:enough]].tolist()))[:_MOST_FILES]

    def competitors(
        self, chosen: Sequence[tuple[int, SourceFile]], log_odds: Sequence[Float64Array | None]
    ) -> list[Competitor]:
        """Return files, by place, with their line scores; the line model has read the first of them."""
        scores = [self._scores(file) for file, _ in chosen]
        by_model = [
            None if said is None else own.by_model(said)
            for own, said in itertools.zip_longest(scores, log_odds)
        ]
        said = np.concatenate([np.zeros(0), *(each for each in by_model if each is not None)])
        usual = float(np.quantile(said, _USUAL)) if len(said) else 0.0
        competitors = []
        for (file, source), own, each in zip(chosen, scores, by_model, strict=True):
            lines = int(self.pieces.index.lines[file])
            piece = np.searchsorted(own.spans[:, 1], np.arange(lines), side="right")
            competitors.append(Competitor(source, own.of_lines(lines, each, usual), piece))
        return competitors

    def outlines(self) -> Iterator[Outlined]:
        """Yield the files that define something, by their best piece."""
        index = self.pieces.index
        bounds = np.append(0, np.cumsum(index.outlined))
        for file in dict.fromkeys(self.pieces.file[self.order].tolist()):
            if index.outlined[file]:
                definitions = index.definitions[bounds[file] : bounds[file + 1]]
                yield Outlined(self.pieces.paths[file], definitions)
