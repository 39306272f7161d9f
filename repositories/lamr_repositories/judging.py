"""Asks the model about the chunks that hold the best candidates, and gives what it says of their lines.

Files are cut into chunks as in pruning, with the lines around them, and only the chunks that touch a candidate are
encoded: those of the first candidates first, as long as there is time. Answers are kept by model, query and chunk, and
those that are kept cost no time.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from lamr_client import ChunkResult, Pruner
from lamr_client.effort import TIME, why_degraded
from lamr_contract.arrays import Float64Array, logit
from lamr_contract.asked import AskedDocument
from lamr_contract.cache import Cache
from lamr_contract.encoding import Chunk, PromptEncoder
from lamr_contract.errors import LamrError
from lamr_contract.names import DECODER, ENCODER, ONNX_FILE, WEIGHTS_FILE, version_folder
from lamr_contract.scoring.rules import SEMANTIC, Usual
from lamr_postprocess.layout import line_layout, token_lines
from lamr_postprocess.lines import BoolArray, TokenLines, split_lines
from numpy.typing import NDArray

from lamr_repositories.reading_time import JudgeCount, Reading
from lamr_repositories.tokenized import tokenized

KIND = "answer"
_READ_CHARACTERS = 1 << 18  # of the best candidates
_LEAST_SPREAD = 0.1
_PUT_SECONDS = 2.0  # between two writes of answers, which is what a kill can lose


@dataclass(frozen=True, eq=False)
class Judged:
    """What the model says of a file of L lines.

    Attributes:
        judged: bool [L], lines that an encoded chunk holds.
        relevance: float64 [L], log-odds of the chunk's relevance, the largest where chunks overlap.
        keep: float64 [L], mean log-odds over the line's characters that they answer the query.
        usual: what the model says of lines usually.
    """

    judged: BoolArray
    relevance: Float64Array
    keep: Float64Array
    usual: Usual = field(default_factory=Usual)


class Judge:
    """One model and one query."""

    def __init__(  # noqa: PLR0913, PLR0917  # a model, what is asked of it, and for how long
        self,
        pruner: Pruner,
        query: str,
        cache: Cache,
        model: str,
        task: str = "",
        reading: Reading | None = None,
    ) -> None:
        """Ask nothing yet, but begin to load the model, which takes about as long as indexing files.

        Args:
            pruner: asks the model.
            query: what is looked for.
            cache: keeps answers.
            model: names the model's weights in the cache; see `model_key`.
            task: what the query serves.
            reading: how much is read; default all.
        """
        self._pruner, self._cache, self._query, self._task = pruner, cache, query, task
        self._reading = reading or Reading()
        self._encoder = pruner.encoder
        rubrics = self._encoder.spec.rubrics
        self._rubric = rubrics.index(SEMANTIC) if len(rubrics) > 1 and SEMANTIC in rubrics else None
        self._model = model
        self._prefix = f"{model}\0{self._rubric}\0".encode()
        self._loading = threading.Thread(target=self._load, daemon=True)
        self._loading.start()

    def _load(self) -> None:
        with contextlib.suppress(LamrError):  # whoever asks meets it, too
            self._pruner.warm()

    def judge(
        self,
        texts: Sequence[str],
        wanted: Iterable[tuple[int, int, int]],
        most_chunks: int,
        count: JudgeCount,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> dict[int, Judged]:
        """Ask about the chunks that hold candidates.

        Args:
            texts: the files.
            wanted: for each candidate its file's place in `texts`, its first and its one-past-last row; best first.
            most_chunks: chunks that are encoded or found in the cache, over all files.
            count: is brought up to date.
            on_progress: called with the chunks answered and their number.

        Returns:
            what is known of each file that has an encoded chunk, by its place in `texts`.

        Raises:
            ServerError, ModelMismatchError, MissingPackageError: see `Pruner.ask`; `Reading.degrade` lets only those
                come out that no pruning takes an answer without the encoder for.
        """
        wanted = list(wanted)
        begun = _beginning(texts, wanted)
        reading = self._encoder.read_query(self._query, self._task, begun, line_layout(begun))
        count.query_read = None if reading.whole else reading.text

        @functools.cache
        def laid_out(file: int) -> _FileChunks:
            tokens = tokenized(self._encoder, texts[file], self._cache, self._model)
            asked = AskedDocument.of(self._encoder, self._query, texts[file], reading=reading, tokens=tokens)
            return _FileChunks(asked, self._encoder)

        chosen = _chosen(laid_out, wanted, most_chunks)
        chunks = [laid_out(file).chunks[place] for file, place in chosen]
        keys = list(map(self._key, chunks))
        sizes = {key: np.diff(chunk.tokens).item() for key, chunk in zip(keys, chunks, strict=True)}
        answers = {key: _unpack(data, sizes[key]) for key, data in self._cache.get(KIND, keys).items()}
        known = {key: answer for key, answer in answers.items() if answer is not None}
        waiting = {key: chunk for key, chunk in zip(keys, chunks, strict=True) if key not in known}
        count.chosen, count.cached = len(chosen), sum(key in known for key in keys)
        if waiting:
            self._read(waiting, known, count, on_progress)
        by_file: dict[int, list[tuple[Chunk, _Answer]]] = {}
        for (file, _), key, chunk in zip(chosen, keys, chunks, strict=True):
            if key in known:
                count.chunks += 1
                by_file.setdefault(file, []).append((chunk, known[key]))
        judged = {file: laid_out(file).lines(found) for file, found in by_file.items()}
        usual = self._encoder.spec.scoring.usual or _usual(judged.values())
        return {file: replace(each, usual=usual) for file, each in judged.items()}

    def _key(self, chunk: Chunk) -> str:
        span = np.array(chunk.document_span, np.int64).tobytes()
        return hashlib.sha256(self._prefix + span + chunk.input_ids.tobytes()).hexdigest()

    def _read(
        self,
        waiting: Mapping[str, Chunk],
        known: dict[str, _Answer],
        count: JudgeCount,
        on_progress: Callable[[int, int], None] | None,
    ) -> None:
        """Ask about chunks, as many as there is time for, and add the answers to those that are known."""
        try:
            self._loading.join(self._reading.until.seconds())  # before the clock of the reading starts
            count.why = self._ask(waiting, known, count.chosen, on_progress)
        except LamrError as error:
            why = why_degraded(error) if self._reading.degrade else None
            if why is None:
                raise
            count.why = why
            if why != TIME:
                count.trouble = f"{type(error).__name__}: {error}"

    def _ask(
        self,
        waiting: Mapping[str, Chunk],
        known: dict[str, _Answer],
        total: int,
        on_progress: Callable[[int, int], None] | None,
    ) -> str:
        """Ask about chunks; answers are kept as they come, so that an interrupted question goes on later.

        Returns:
            why not all were read; empty where they were.
        """
        keys = list(waiting)

        fresh: dict[str, bytes] = {}
        last, done = time.monotonic(), total - len(keys)

        def take(place: int, result: ChunkResult) -> None:
            nonlocal last, done
            marginal = result.keep_prob
            if self._rubric is not None and result.rubric_prob is not None:
                marginal = result.rubric_prob[:, self._rubric]
            # Rounded as it is kept, so that a second question gives the same pack.
            answer = _Answer(float(np.float32(result.relevance)), marginal.astype(np.float16))
            known[keys[place]], fresh[keys[place]] = answer, answer.to_bytes()
            if time.monotonic() - last > _PUT_SECONDS:
                self._cache.put(KIND, fresh)
                fresh.clear()
                last = time.monotonic()
            if on_progress:
                done += 1
                on_progress(done, total)

        try:
            return self._pruner.ask(
                waiting.values(),
                take,
                want_rubrics=self._rubric is not None,
                within=self._reading.seconds(),
            )
        finally:
            self._cache.put(KIND, fresh)


@dataclass(frozen=True, eq=False)
class _Answer:
    """A chunk's relevance, and the marginal float16 [m] of each of its code tokens."""

    relevance: float
    marginal: NDArray[np.float16]

    def to_bytes(self) -> bytes:
        return np.float32(self.relevance).tobytes() + self.marginal.tobytes()


def _unpack(data: bytes, tokens: int) -> _Answer | None:
    """Return what `to_bytes` was given; None for an entry that is no answer about a chunk of so many code tokens."""
    if len(data) != 4 + 2 * tokens:
        return None
    relevance, marginal = float(np.frombuffer(data, np.float32, 1)[0]), np.frombuffer(data, np.float16, -1, 4)
    likely = 0 <= relevance <= 1 and ((marginal >= 0) & (marginal <= 1)).all()  # NaN is none of these
    return _Answer(relevance, marginal) if likely else None


class _FileChunks:
    """A file's chunks and the rows that each holds."""

    def __init__(self, asked: AskedDocument, encoder: PromptEncoder) -> None:
        self.chunks = chunks = list(asked.chunks(encoder))
        self._layout, self._offsets = asked.layout, asked.offsets
        self._line = token_lines(asked.offsets, asked.layout)
        bounds = np.array([chunk.tokens for chunk in chunks], np.int64).reshape(-1, 2)
        self.first = self._line[bounds[:, 0]] if len(bounds) else bounds[:, 0]
        self.last = self._line[bounds[:, 1] - 1] if len(bounds) else bounds[:, 0]

    def touching(self, first: int, stop: int) -> list[int]:
        """Return the chunks that hold a row from the first to before the last."""
        numbers: list[int] = np.flatnonzero((self.first < stop) & (self.last >= first)).tolist()
        return numbers

    def lines(self, found: Sequence[tuple[Chunk, _Answer]]) -> Judged:
        """Return the lines' scores from the answers about some of the chunks."""
        points, spans = self._layout.points, self._layout.spans
        relevance = np.full(len(spans), -np.inf)
        total, times = np.zeros(len(self._line)), np.zeros(len(self._line), np.int64)
        for chunk, answer in found:
            held = slice(*chunk.tokens)
            total[held] += logit(answer.marginal.astype(np.float64))
            times[held] += 1
            own = np.unique(self._line[held])
            relevance[own] = np.maximum(relevance[own], logit(np.array([answer.relevance]))[0])
        seen = times > 0
        keep = TokenLines(self._offsets[seen], points, spans).means(total[seen] / times[seen])
        judged = np.isfinite(relevance)
        return Judged(judged, np.where(judged, relevance, 0.0), keep.astype(np.float64))


def _usual(files: Iterable[Judged]) -> Usual:
    """Return what the model says of the lines of some files, for a model that says of none what is usual."""
    pairs = [(each.relevance[each.judged], each.keep[each.judged]) for each in files]
    relevance, keep = map(np.concatenate, zip(*pairs, strict=True)) if pairs else (np.zeros(1), np.zeros(1))
    return Usual(*((float(each.mean()), float(each.std()) + _LEAST_SPREAD) for each in (relevance, keep)))


def _beginning(texts: Sequence[str], wanted: Sequence[tuple[int, int, int]]) -> str:
    """Return the best candidates as one text, by which a long question is read."""
    lines: dict[int, list[str]] = {}
    found, size = [], 0
    for file, first, stop in wanted:
        if size >= _READ_CHARACTERS:
            break
        if file not in lines:
            lines[file] = split_lines(texts[file])
        found.append("".join(lines[file][first:stop]))
        size += len(found[-1])
    return "\n".join(found)


def _chosen(
    laid_out: Callable[[int], _FileChunks], wanted: Iterable[tuple[int, int, int]], most: int
) -> list[tuple[int, int]]:
    """Return file and place of the chunks to ask about; no file is laid out that holds none of them."""
    chosen: dict[tuple[int, int], None] = {}
    for file, first, stop in wanted:
        for place in laid_out(file).touching(first, stop) if len(chosen) < most else ():
            chosen[file, place] = None
    return list(chosen)[:most]


def model_key(pruner: Pruner, repository: Path, server: str | None) -> str:
    """Return what names the weights that answers come from: the specification, and the files or the server.

    A server's model has the fingerprint of the specification, which covers the weights. Models without
    `ModelSpec.weights_sha256` are told apart by their name, their version and the server's address alone.

    Args:
        pruner: the pruner that asks.
        repository: the model repository that it reads.
        server: its address; None in process.
    """
    digest = hashlib.sha256(pruner.spec.to_json().encode())
    if server is not None:
        digest.update(server.encode())
        return digest.hexdigest()[:16]
    for name, file in ((ENCODER, ONNX_FILE), (DECODER, WEIGHTS_FILE)):
        # No answer comes from a file that can't be read, so none is kept under this name.
        with contextlib.suppress(OSError), (version_folder(repository, name) / file).open("rb") as stream:
            for block in iter(lambda stream=stream: stream.read(1 << 20), b""):  # type: ignore[misc]
                digest.update(block)
    return digest.hexdigest()[:16]
