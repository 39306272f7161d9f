"""`pack`: a question, a repository and a budget in, the code that matters out.

This module knows the order of the stages, each of which is a module of its own: walk and index, rank by words, ask the
model about the best candidates, share the budget and write.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from lamr_client import Pruner
from lamr_client.inputs import check_query
from lamr_contract.encoding import PromptEncoder
from lamr_contract.errors import InvalidInputError
from lamr_contract.spec import bundled_repository
from lamr_contract.words import query_terms
from lamr_postprocess.lines import IntArray, line_spans

from lamr_repositories.allocation import Competitor
from lamr_repositories.cache import Cache
from lamr_repositories.formats import FORMATS, About
from lamr_repositories.indexing import Indexed, OnProgress, RepositoryIndex, index_repository, same_content
from lamr_repositories.judging import Judge, JudgeCount, Judged, model_key
from lamr_repositories.kinds import is_code, is_test
from lamr_repositories.lexical import Pieces, by_rank, scaled
from lamr_repositories.line_scores import NEEDS_MODEL, OFF_TOPIC, RANKERS, PieceScores, coarse
from lamr_repositories.result import PackCounts, PackedFile, PackResult, StageSeconds
from lamr_repositories.sources import Folder, NamedFiles, Revision, Source
from lamr_repositories.tokens import Counter, token_counter
from lamr_repositories.walk import WalkCount, WalkOptions, decode, walk
from lamr_repositories.writing import Outlined, Writer, WrittenPart

MOST_CHUNKS = 256
"""Chunks that the model judges, unless a caller says otherwise: about half a minute of two CPU cores."""
_ROOM = 3.0  # how many times the budget the competing pieces may have, in about as many terms as tokens
_LEAST_PIECES, _MOST_FILES = 50, 400


@dataclass(frozen=True, kw_only=True)
class PackOptions:
    """What a caller may ask of a pack; `pack` explains each.

    Raises:
        InvalidInputError: a value can't be used.
    """

    max_tokens: int = 32_000
    revision: str | None = None
    names: tuple[str, ...] | None = None
    walk: WalkOptions = field(default_factory=WalkOptions)
    ranker: str = next(iter(RANKERS))
    form: str = next(iter(FORMATS))
    line_numbers: bool = False
    tokenizer: Path | None = None
    most_chunks: int = MOST_CHUNKS

    def __post_init__(self) -> None:
        for name, value, known in (("ranker", self.ranker, RANKERS), ("form", self.form, FORMATS)):
            if value not in known:
                raise InvalidInputError(
                    f"{name} must be one of {', '.join(known)}, not {value!r}", argument=name
                )
        for name, least in (("max_tokens", 1), ("most_chunks", 0)):
            if getattr(self, name) < least:
                raise InvalidInputError(f"{name} must be at least {least}", argument=name)
        if self.revision is not None and self.names is not None:
            raise InvalidInputError("give a revision or a list of files, not both", argument="revision")


def pack(  # noqa: PLR0913  # what is packed, with what, and how
    root: str | os.PathLike[str],
    query: str,
    max_tokens: int = 32_000,
    *,
    pruner: Pruner | None = None,
    model: str | os.PathLike[str] | None = None,
    server: str | None = None,
    cache: Path | None = None,
    on_progress: OnProgress | None = None,
    options: PackOptions | None = None,
) -> PackResult:
    """Choose the lines of a repository that a question is about, within a budget of tokens.

    Args:
        root: the repository's folder; with a revision also a bare repository.
        query: what is looked for.
        max_tokens: the most tokens of the finished text, everything in it included; `options` has its own, which this
            takes the place of.
        pruner: asks the model; without one, one is made for the call (not for the ranker `bm25`, which needs none).
        model, server: of the pruner, as in `Pruner`; they name the model's answers in the cache.
        cache: a file that keeps indexes and answers for later questions; None keeps nothing. A broken one is set
            aside, and the result's notes say so.
        on_progress: called with a stage's name, what is done of it and how much there is.
        options: everything else.

    Raises:
        RepositoryError: the root, the revision or a pattern can't be used.
        InvalidInputError: the query or an option can't be used.
        BudgetError: not even the head of the pack fits into the budget.
        ServerError, ModelMismatchError, MissingPackageError: see `Pruner`.
    """
    options = replace(options or PackOptions(), max_tokens=max_tokens)
    with prepare(
        root,
        query,
        pruner=pruner,
        model=model,
        server=server,
        cache=cache,
        on_progress=on_progress,
        options=options,
    ) as prepared:
        return prepared.pack()


@contextlib.contextmanager
def prepare(  # noqa: PLR0913  # as `pack`
    root: str | os.PathLike[str],
    query: str,
    *,
    pruner: Pruner | None = None,
    model: str | os.PathLike[str] | None = None,
    server: str | None = None,
    cache: Path | None = None,
    on_progress: OnProgress | None = None,
    options: PackOptions | None = None,
) -> Iterator[Prepared]:
    """Do all of `pack` but the sharing of the budget, so that several budgets, rankers and formats share the rest.

    Arguments and errors are those of `pack`; the budget of `options` is the largest that will be asked for.
    """
    check_query(query)
    options = options or PackOptions()
    notes: list[str] = []
    with contextlib.ExitStack() as stack:
        kept = stack.enter_context(Cache(cache, notes.append))
        repository = bundled_repository() if model is None else Path(model)
        if pruner is None and options.ranker in NEEDS_MODEL:
            pruner = stack.enter_context(Pruner(server, model=repository, timeout=math.inf))
        judge = None
        if pruner is not None and options.ranker in NEEDS_MODEL:
            judge = Judge(pruner, query, kept, model_key(pruner, repository, server))
        encoder = pruner.encoder if pruner is not None else PromptEncoder.from_repository(repository)
        counter = token_counter(options.tokenizer, encoder)
        yield Prepared(
            Path(root), query, options, kept, on_progress or (lambda *_: None), notes, judge, counter
        )


async def pack_async(*args: object, **named: object) -> PackResult:
    """`pack` without blocking the event loop: it runs in a thread. Arguments and errors are the same."""
    return await asyncio.to_thread(functools.partial(pack, *args, **named))  # type: ignore[arg-type]


class Prepared:
    """A repository's files, ranked and judged for one query, ready for budgets. `prepare` makes them.

    Attributes:
        counter: counts tokens as budgets are counted.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # what `prepare` has put together
        self,
        root: Path,
        query: str,
        options: PackOptions,
        cache: Cache,
        on_progress: OnProgress,
        notes: list[str],
        judge: Judge | None,
        counter: Counter,
    ) -> None:
        self._root, self._query, self._options = root, query, options
        self._on_progress, self._notes, self.counter = on_progress, notes, counter
        self._walked, self._judgements = WalkCount(), JudgeCount()
        marks = [time.perf_counter()]
        source = self._source()
        files = walk(source, options.walk, self._walked, self._stage("files"))
        self._index = index_repository(files, query, cache)
        marks.append(time.perf_counter())
        if not self._index.table.terms:
            notes.append("the query has no word that code could name: files are ranked by the model alone")
        self._ranked = _Ranked(self._index, query)
        marks.append(time.perf_counter())
        self._chosen = self._choose(source)
        self._judged = self._judge(judge)
        marks.append(time.perf_counter())
        index, rank, judge_seconds = np.diff(marks).tolist()
        self._seconds = StageSeconds(index, rank, judge_seconds)

    def pack(
        self, max_tokens: int | None = None, ranker: str | None = None, form: str | None = None
    ) -> PackResult:
        """Share a budget and write.

        Args:
            max_tokens, ranker, form: take the place of those of the options.

        Raises:
            BudgetError: not even the head of the pack fits into the budget.
        """
        begin = time.perf_counter()
        options = replace(
            self._options,
            max_tokens=max_tokens or self._options.max_tokens,
            ranker=ranker or self._options.ranker,
            form=form or self._options.form,
        )
        ranked = self._ranked
        competitors = [
            ranked.competitor(file, text, self._judged.get(place), options.ranker)
            for place, (file, text) in enumerate(self._chosen)
        ]
        languages = {each.listed.path: each.language for each in self._index.files}
        writer = Writer(
            FORMATS[options.form], self.counter, options.max_tokens, options.line_numbers, languages
        )
        written = writer.write(
            About(self._query, self._root.absolute().name),
            [each.listed.path for each in self._index.files],
            competitors,
            list(_outlined(ranked)),
            self._stage("tokens"),
        )
        return PackResult(
            text=written.text,
            query=self._query,
            files=tuple(_packed(part, self._index.files, ranked.place) for part in written.parts),
            outlined=written.outlined,
            tokens=written.tokens,
            max_tokens=options.max_tokens,
            tokens_in=self._index.tokens,
            ranker=options.ranker,
            counts=self._counts(),
            seconds=replace(self._seconds, allocate=time.perf_counter() - begin),
            notes=tuple(self._notes),
        )

    def _source(self) -> Source:
        if self._options.names is not None:
            return NamedFiles(self._root, self._options.names)
        revision = self._options.revision
        return Folder(self._root) if revision is None else Revision(self._root, revision)

    def _choose(self, source: Source) -> list[tuple[int, str]]:
        """Return the files whose lines compete, best first, with their texts."""
        files = self._ranked.best_files(self._options.max_tokens * _ROOM, self._options.most_chunks)
        texts: dict[int, str] = {}
        listed = [self._index.files[file].listed for file in files]
        for file, (_, data) in zip(files, source.read_all(listed), strict=True):
            text = decode(data)
            if data is not None and text is not None and same_content(self._index.files[file], data):
                texts[file] = text
        changed = len(files) - len(texts)
        if changed:
            self._notes.append(f"left out {changed} of the best files: they changed while the pack was made")
        return [(file, texts[file]) for file in files if file in texts]

    def _judge(self, judge: Judge | None) -> dict[int, Judged]:
        if judge is None:
            return {}
        place = {file: number for number, (file, _) in enumerate(self._chosen)}
        return judge.judge(
            [text for _, text in self._chosen],
            self._ranked.candidates(place),
            self._options.most_chunks,
            self._judgements,
            self._stage("chunks"),
        )

    def _counts(self) -> PackCounts:
        return PackCounts(
            files=self._walked.files,
            left_out=dict(self._walked.left_out.most_common()),
            ranked=len(self._index.files),
            pieces=len(self._ranked.pieces.file),
            lines=self._index.lines,
            chunks=self._judgements.chunks,
            cached_files=self._index.cached,
            cached_chunks=self._judgements.cached,
        )

    def _stage(self, name: str) -> Callable[[int, int], None]:
        return lambda done, total: self._on_progress(name, done, total)


class _Ranked:
    """All pieces of a repository in the order of their words' scores."""

    def __init__(self, index: RepositoryIndex, query: str) -> None:
        self.index = index
        self.place = {each.listed.path: number for number, each in enumerate(index.files)}
        self.pieces: Pieces = index.table.finish()
        self._lexical = scaled(self.pieces.by_piece)
        self._file = scaled(self.pieces.by_file)
        about_tests = any(term in ("test", "spec") for term in query_terms(query))
        self._penalty = np.array([_penalty(each, about_tests) for each in index.files])
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
            float(self._penalty[file]),
        )

    def best_files(self, terms: float, chunks: int) -> list[int]:
        """Return the files of the best pieces, best first: of so many pieces or of pieces with so many terms."""
        sizes = np.cumsum(self.pieces.lengths[self.order] + 1)
        enough = max(int(np.searchsorted(sizes, terms)), chunks, _LEAST_PIECES)
        return list(dict.fromkeys(self.pieces.file[self.order[:enough]].tolist()))[:_MOST_FILES]

    def all_files(self) -> list[int]:
        """Return all files that have a piece, by their best one."""
        return list(dict.fromkeys(self.pieces.file[self.order].tolist()))

    def candidates(self, place: dict[int, int]) -> Iterator[tuple[int, int, int]]:
        """Yield the pieces of some files, best first: the file's place, the first and the one-past-last row."""
        for piece in self.order.tolist():
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


def _penalty(each: Indexed, about_tests: bool) -> float:
    if not is_code(each.language):
        return OFF_TOPIC
    return OFF_TOPIC if is_test(each.listed.path) and not about_tests else 0.0


def _outlined(ranked: _Ranked) -> Iterator[Outlined]:
    for file in ranked.all_files():
        each = ranked.index.files[file]
        if each.outline:
            lines = tuple(f"{'  ' * (entry.depth + 1)}{entry.line}: {entry.text}" for entry in each.outline)
            yield Outlined(each.listed.path, lines)


def _packed(written: WrittenPart, files: Sequence[Indexed], place: dict[str, int]) -> PackedFile:
    part = written.part
    reasons = part.reasons
    each = files[place[part.competitor.path]]
    return PackedFile(
        path=each.listed.path,
        language=each.language,
        lines=each.lines,
        text=written.text,
        kept_lines=tuple(reasons),
        reasons=reasons,
        cuts=written.cuts,
        score=float(part.competitor.scores[part.kept].max(initial=-math.inf)),
        tokens=part.tokens,
    )
