"""`Prepared`: a repository's files, ranked for one query, from which packs of any budget are made.

This module knows the order of the stages, each of which is a module of its own: walk and index, rank by words, ask the
line model about the best files, share the budget and write. The encoder isn't asked for packs: what it reads finds no
more whole answers there (docs/lab/repositories.md)."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from lamr_base.arrays import Float64Array, logit
from lamr_base.cache import Cache
from lamr_base.errors import InvalidInputError, unseen_lines, visible
from lamr_base.records import dataclass
from lamr_model.counters import Counter
from lamr_model.encoding import PromptEncoder
from lamr_model.query_truncation import Query, TruncatedQuery, bounded
from lamr_model.scoring.query_document import NO_TOKENS, QueryDocument
from lamr_model.scoring.scorer import DocumentScorer, Scorer
from lamr_model.words import TermIndex, query_terms
from lamr_postprocess import SourceFile, decode
from lamr_postprocess.encodings import UTF_8
from lamr_postprocess.layout import line_layout
from lamr_postprocess.prune import UNSEEN_SHOWN
from lamr_postprocess.source_file import SourceFiles

from lamr_repositories.formats import FORMATS, PackHead
from lamr_repositories.indexing import Row, index_repository, key_of
from lamr_repositories.options import OnProgress, PackOptions
from lamr_repositories.ranked import Ranked
from lamr_repositories.result import PackCounts, PackedFile, PackResult, StageSeconds
from lamr_repositories.sources import FileSource
from lamr_repositories.walk import WalkCount
from lamr_repositories.writing import Writer, WrittenPart

MOST_FILES = 16
"""The best files by words, which the model reads."""
_MOST_CHARACTERS = 1 << 18  # of a file; a longer one keeps the scores of its words


@dataclass(frozen=True, eq=False)
class PackLineModel:
    """A line model and one question."""

    scorer: Scorer
    encoder: PromptEncoder
    query: Query

    @property
    def reads(self) -> bool:
        """Whether there is such a model, and it knows the question's language."""
        return self.scorer.instant and self.scorer.reads(self.query.text)

    def read_query(self, files: Sequence[SourceFile]) -> TruncatedQuery:
        """Return what is read of the question by the words of some files: of a long one the rarest sentences.

        All files share one reading, since they compete."""
        begun = "\n".join(each.text for each in files)[:_MOST_CHARACTERS]
        return self.encoder.read_query(self.query, lambda: TermIndex.of(begun, line_layout(begun)))

    def log_odds(self, source: SourceFile, reading: TruncatedQuery) -> Float64Array | None:
        """Return the log-odds [L] that each line of a file answers; None for a file that can't be read."""
        if len(source.text) > _MOST_CHARACTERS:
            return None
        try:
            asked = QueryDocument.of(self.encoder, self.query, source, reading=reading, tokens=NO_TOKENS)
        except InvalidInputError:  # the question has no word that the model knows
            return None
        scores = DocumentScorer(self.scorer, asked).finish().scores
        return np.asarray(logit(scores.astype(np.float64)), np.float64)


_ROOM = 3.0  # how many times the budget the competing pieces may have, in about as many terms as tokens
_NAMED = 5  # files that a note names
_FILES = SourceFiles(1 << 21)
"""The texts that this process asked for last, with all that was found out about them."""


@dataclass(frozen=True, eq=False)
class Tools:
    """What a pack is made with."""

    counter: Counter
    cache: Cache
    model: PackLineModel
    on_progress: OnProgress
    notes: list[str]  # sentences about what was not done as usual
    fetch_seconds: float = 0.0


class Prepared:
    """A repository's files, ranked for one query, ready for budgets. `prepare` makes them.

    Attributes:
        counter: counts tokens as budgets are counted."""

    def __init__(self, source: FileSource, about: PackHead, options: PackOptions, tools: Tools) -> None:
        """Index and rank. The budget of the options is the largest that will be asked for. Raises `RepositoryError`:
        a pattern can't be used, or the repository can't be listed."""
        self._about, self._options, self._tools = about, options, tools
        self.counter = tools.counter
        self._walked = WalkCount()
        marks = [time.perf_counter()]
        words = f"{about.query}\n{bounded(options.task)}"
        self._index = index_repository(
            source, options.walk, self._walked, words, tools.cache, on_progress=self._stage("files")
        )
        marks.append(time.perf_counter())
        if secret := self._walked.with_secrets:
            tools.notes.append(
                f"left out for the secrets in them: {_some(secret)} (include_secrets, --include-secrets takes them)"
            )
        if not query_terms(words):
            tools.notes.append(
                "the query has no word that code could name: say what the code is called or what it does"
            )
        self._ranked = Ranked(self._index, words)
        marks.append(time.perf_counter())
        self._source = source
        self._chosen = self._choose()
        self._competitors = self._ranked.competitors(self._chosen, self._log_odds())
        marks.append(time.perf_counter())
        index, rank, model = np.diff(marks).tolist()
        self._seconds = StageSeconds(tools.fetch_seconds, index, rank, model)

    def pack(self, max_tokens: int | None = None, form: str | None = None) -> PackResult:
        """Share a budget and write. Budget and format take the place of those of the options. Raises `BudgetError`:
        not even the head of the pack fits into the budget."""
        begin = time.perf_counter()
        options = replace(
            self._options, max_tokens=max_tokens or self._options.max_tokens, form=form or self._options.form
        )
        pieces = self._ranked.pieces
        rows = dict(zip(pieces.paths, self._index.rows, strict=True))
        writer = Writer(
            FORMATS[options.form],
            self.counter,
            options.max_tokens,
            options.line_numbers,
            {path: row.language for path, row in rows.items()},
            lambda paths: [source for source, _ in self._read([self._ranked.place[each] for each in paths])],
            by_path=options.order == "path",
        )
        written = writer.write(
            self._about, pieces.paths, self._competitors, self._ranked.outlines(), self._stage("tokens")
        )
        parts = tuple(_packed(part, rows) for part in written.parts)
        unseen = sum(unseen_lines(each.text) for each in parts)
        said = [UNSEEN_SHOWN.format(unseen=unseen)] if unseen else []
        return PackResult(
            text=written.text,
            query=self._about.query,
            files=parts,
            outlined=written.outlined,
            tokens=written.tokens,
            max_tokens=options.max_tokens,
            tokens_in=sum(row.tokens for row in rows.values()),
            counts=PackCounts(
                files=self._walked.files,
                left_out=dict(self._walked.left_out.most_common()),
                ranked=len(rows),
                pieces=len(pieces.file),
                lines=int(pieces.index.lines.sum()),
                cached_files=self._index.cached,
            ),
            seconds=replace(self._seconds, allocate=time.perf_counter() - begin),
            unseen=unseen,
            notes=(*self._tools.notes, *said, *([] if parts else [self._why_empty()])),
        )

    def _why_empty(self) -> str:
        """Say why a pack has no line."""
        if not self._index.files:
            return "no line is kept: there is no file to choose from"
        if not any(np.isfinite(each.scores).any() for each in self._competitors):
            return "no line is kept: no file has a word of the question"
        return "no line is kept: the budget has no room for the best ones; raise max_tokens (--max-tokens)"

    def _choose(self) -> list[tuple[int, SourceFile]]:
        """Return the files whose lines compete, best first."""
        files = self._ranked.best_files(self._options.max_tokens * _ROOM)
        read = self._read(files[::-1])[::-1]  # the best ones are kept for longest
        guessed = [f"{source.path} ({encoding})" for source, encoding in read if source and encoding]
        if guessed:
            self._tools.notes.append(f"not UTF-8, and read as what seems likeliest: {_some(guessed)}")
        chosen = [(file, source) for file, (source, _) in zip(files, read, strict=True) if source]
        if changed := len(files) - len(chosen):
            said = f"left out {changed} of the best files: they changed while the pack was made"
            self._tools.notes.append(said)
        return chosen

    def _read(self, files: Sequence[int]) -> list[tuple[SourceFile | None, str]]:
        """Return the texts of files, None for those that have changed, and the names of encodings that were guessed."""
        listed = [self._index.files[file] for file in files]
        found: list[tuple[SourceFile | None, str]] = []
        for file, (each, data) in zip(files, self._source.read_all(listed), strict=True):
            row = self._index.rows[file]
            decoded = decode(data) if data is not None and key_of(row.language, data) == row.key else None
            source = _FILES.of(decoded.text, each.path, listed=False) if decoded else None
            guessed = decoded is not None and decoded.encoding != UTF_8
            found.append((source, decoded.encoding.name if decoded and guessed else ""))
        return found

    def _log_odds(self) -> list[Float64Array | None]:
        """Return what the line model says of the best files."""
        model = self._tools.model
        if not model.reads or not self._ranked.pieces.by_piece.any():
            return []
        files = [source for _, source in self._chosen[:MOST_FILES]]
        reading = model.read_query(files)
        if not reading.whole:
            self._tools.notes.append(f"of the question the model read: {' '.join(reading.text.split())}")
        return [model.log_odds(each, reading) for each in files]

    def _stage(self, name: str) -> Callable[[int, int], None]:
        return lambda done, total: self._tools.on_progress(name, done, total)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(map(visible, names[:_NAMED])) + more


def _packed(written: WrittenPart, rows: Mapping[str, Row]) -> PackedFile:
    part = written.part
    source, reasons = part.competitor.source, part.reasons
    return PackedFile(
        path=source.path,
        language=rows[source.path].language,
        lines=len(source.lines),
        text=written.text,
        kept_lines=tuple(reasons),
        reasons=reasons,
        cuts=written.cuts,
        score=part.score,
        tokens=part.tokens,
    )
