"""`Prepared`: a repository's files, ranked and judged for one query, from which packs of any budget are made.

This module knows the order of the stages, each of which is a module of its own: walk and index, rank by words, ask the
model about the best candidates, share the budget and write.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from lamr_client.effort import WORDS, Effort
from lamr_contract.cache import Cache
from lamr_contract.counters import Counter
from lamr_contract.errors import InvalidInputError
from lamr_contract.reading import bounded
from lamr_postprocess import decode
from lamr_postprocess.encodings import UTF_8

from lamr_repositories.allocation import Competitor
from lamr_repositories.foreseeing import Foreseer
from lamr_repositories.formats import FORMATS, About
from lamr_repositories.indexing import Indexed, index_repository, same_content
from lamr_repositories.judging import Judge, Judged
from lamr_repositories.line_scores import NEEDS_MODEL, NEEDS_SCORER
from lamr_repositories.options import PackOptions
from lamr_repositories.progress import OnProgress
from lamr_repositories.ranked import Ranked
from lamr_repositories.reading_time import JudgeCount
from lamr_repositories.result import PackCounts, PackedFile, PackResult, StageSeconds
from lamr_repositories.sources import Source
from lamr_repositories.walk import WalkCount
from lamr_repositories.writing import Writer, WrittenPart

_ROOM = 3.0  # how many times the budget the competing pieces may have, in about as many terms as tokens
_NAMED = 5  # files that a note names


@dataclass(frozen=True, eq=False)
class Tools:
    """What a pack is made with.

    Attributes:
        counter: counts tokens as budgets are counted.
        cache: keeps indexes.
        judge: asks the encoder, or a causal model; None asks neither.
        on_progress: called with a stage's name, what is done of it and how much there is.
        notes: takes sentences about what was not done as usual.
        fetch_seconds: how long it took to fetch the repository.
    """

    counter: Counter
    cache: Cache
    judge: Judge | Foreseer | None
    on_progress: OnProgress
    notes: list[str]
    fetch_seconds: float = 0.0


class Prepared:
    """A repository's files, ranked and judged for one query, ready for budgets. `prepare` makes them.

    Attributes:
        counter: counts tokens as budgets are counted.
    """

    def __init__(self, source: Source, about: About, options: PackOptions, tools: Tools) -> None:
        """Index, rank and judge.

        Args:
            source: the repository.
            about: the query, and what the repository is called.
            options: the budget among them is the largest that will be asked for.
            tools: see `Tools`.

        Raises:
            RepositoryError: a pattern can't be used, or the repository can't be listed.
            ServerError, ModelMismatchError: see `Pruner.ask`.
        """
        self._about, self._options, self._tools = about, options, tools
        self.counter = tools.counter
        self._walked, self._judgements = WalkCount(), JudgeCount()
        marks = [time.perf_counter()]
        words = f"{about.query}\n{bounded(options.task)}"
        self._index = index_repository(
            source, options.walk, self._walked, words, tools.cache, on_progress=self._stage("files")
        )
        marks.append(time.perf_counter())
        if secret := self._walked.with_secrets:
            tools.notes.append(_of_secrets(secret))
        if not self._index.table.terms:
            tools.notes.append(
                "the query has no word that code could name: files are ranked by the model alone"
            )
        self._ranked = Ranked(self._index, words)
        marks.append(time.perf_counter())
        self._chosen = self._choose(source)
        self._judged = self._judge(tools.judge)
        marks.append(time.perf_counter())
        index, rank, judge_seconds = np.diff(marks).tolist()
        self._seconds = StageSeconds(tools.fetch_seconds, index, rank, judge_seconds)

    def pack(
        self, max_tokens: int | None = None, ranker: str | None = None, form: str | None = None
    ) -> PackResult:
        """Share a budget and write.

        Args:
            max_tokens, ranker, form: take the place of those of the options.

        Raises:
            BudgetError: not even the head of the pack fits into the budget.
            InvalidInputError: the ranker asks another kind of model than the one that was prepared with.
        """
        begin = time.perf_counter()
        options = replace(
            self._options,
            max_tokens=max_tokens or self._options.max_tokens,
            ranker=ranker or self._options.ranker,
            form=form or self._options.form,
        )
        foreseen = isinstance(self._tools.judge, Foreseer)
        if options.ranker in (NEEDS_MODEL if foreseen else NEEDS_SCORER):
            raise InvalidInputError(
                f"this was prepared for the ranker {self._options.ranker!r}, and {options.ranker!r} asks another "
                "model: prepare again",
                argument="ranker",
            )
        ranked = self._ranked
        competitors = [
            ranked.competitor(file, text, self._judged.get(place), options.ranker)
            for place, (file, text) in enumerate(self._chosen)
        ]
        languages = {each.listed.path: each.language for each in self._index.files}
        writer = Writer(
            FORMATS[options.form],
            self.counter,
            options.max_tokens,
            options.line_numbers,
            languages,
            by_path=options.order == "path",
        )
        written = writer.write(
            self._about,
            [each.listed.path for each in self._index.files],
            competitors,
            ranked.outlines(),
            self._stage("tokens"),
        )
        return PackResult(
            text=written.text,
            query=self._about.query,
            files=tuple(_packed(part, self._index.files, ranked.place) for part in written.parts),
            outlined=written.outlined,
            tokens=written.tokens,
            max_tokens=options.max_tokens,
            tokens_in=self._index.tokens,
            ranker=options.ranker,
            counts=self._counts(),
            seconds=replace(self._seconds, allocate=time.perf_counter() - begin),
            effort=self._effort if options.ranker in NEEDS_MODEL else None,
            notes=(*self._tools.notes, *([] if written.parts else [self._why_empty(competitors)])),
        )

    def _why_empty(self, competitors: Sequence[Competitor]) -> str:
        """Say why a pack has no line."""
        if not self._index.files:
            return "no line is kept: there is no file to choose from"
        if not any(np.isfinite(each.scores).any() for each in competitors):
            return "no line is kept: no file has a word of the question"
        return "no line is kept: the budget has no room for the best ones; raise max_tokens (--max-tokens)"

    def _choose(self, source: Source) -> list[tuple[int, str]]:
        """Return the files whose lines compete, best first, with their texts."""
        files = self._ranked.best_files(self._options.max_tokens * _ROOM, self._options.chunks)
        texts: dict[int, str] = {}
        guessed: list[str] = []
        listed = [self._index.files[file].listed for file in files]
        for file, (_, data) in zip(files, source.read_all(listed), strict=True):
            if data is None or not same_content(self._index.files[file], data):
                continue
            if decoded := decode(data):
                texts[file] = decoded.text
                if decoded.encoding != UTF_8:
                    guessed.append(f"{self._index.files[file].listed.path} ({decoded.encoding.name})")
        if guessed:
            self._tools.notes.append(f"not UTF-8, and read as what seems likeliest: {_some(guessed)}")
        changed = len(files) - len(texts)
        if changed:
            self._tools.notes.append(
                f"left out {changed} of the best files: they changed while the pack was made"
            )
        return [(file, texts[file]) for file in files if file in texts]

    def _judge(self, judge: Judge | Foreseer | None) -> dict[int, Judged]:
        if judge is None:
            return {}
        place = {file: number for number, (file, _) in enumerate(self._chosen)}
        tokens = self._options.max_tokens if self._options.reads_undecided else None
        judged = judge.judge(
            [text for _, text in self._chosen],
            self._ranked.candidates(place, tokens),
            self._options.chunks,
            self._judgements,
            self._stage("chunks"),
        )
        if trouble := self._judgements.trouble:
            self._tools.notes.append(f"the encoder didn't read all that it should: {trouble}")
        if (read := self._judgements.query_read) is not None:
            self._tools.notes.append(f"of the question the model read: {' '.join(read.split())}")
        return judged

    @property
    def _effort(self) -> Effort:
        found = self._judgements
        instant = self._options.effort == "instant"
        return Effort(found.chunks, None if instant else found.chosen, found.why, WORDS)

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
        return lambda done, total: self._tools.on_progress(name, done, total)


def _of_secrets(paths: Sequence[str]) -> str:
    return f"left out for the secrets in them: {_some(paths)} (include_secrets, --include-secrets takes them)"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


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
        score=part.score,
        tokens=part.tokens,
    )
