"""One pruning without the waiting: all that happens before chunks are sent and after their answers came back.

`Pruner` and `AsyncPruner` share this module, which knows neither threads nor event loops. Each step gives the next one:

    job = PruneJob(shared, query, code, options, call)      # checks: what is to be read, and by when
    reading = job.read(on_progress)                         # ChunkReading: gives chunks, takes their answers
    with reading.degrading():
        for group in reading.groups(pace, most):            # tokenizes, plans chunks
            for chunk in group: reading.add(chunk.tokens, ask(chunk))
    result = reading.finish()                               # line scores, selection, repair, rendering"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np
from lamr_base.errors import DeadlineExceededError, InvalidInputError, LamrError, unseen_lines
from lamr_base.records import dataclass
from lamr_model.counters import counted_by, token_counter
from lamr_model.encoding import Chunk, Chunks, PromptEncoder
from lamr_model.model_io import ChunkResult
from lamr_model.query_truncation import Query
from lamr_model.scoring.query_document import QueryDocument
from lamr_model.scoring.scorer import DocumentScorer, LineScores, Scorer
from lamr_postprocess import BudgetError, PrunedCode, SourceFile, language_named, prune_lines
from lamr_postprocess.clock import OutOfTimeError, ending_at
from lamr_postprocess.prune import UNSEEN_SHOWN
from lamr_postprocess.repair import GAP, REASONS
from lamr_postprocess.source_file import SourceFiles
from numpy.typing import NDArray

from lamr_client.dispatch import grouped
from lamr_client.effort import AUTO_CHUNKS, LINE_MODEL, MOST, SETTLED, TIME, WORDS, Effort, why_degraded
from lamr_client.prune_options import PruneCall, PruneOptions, check_code, check_query, check_words
from lamr_client.reading_plan import Pace, ReadingPlan, Work
from lamr_client.result import PruneResult, Timings, model_name, unjudged

OnProgress = Callable[[int, int], None]
"""Takes the number of tokens that are judged so far, and the number of all tokens."""

_SAMPLES, _SAMPLE_CHARS = 8, 1024
"""Pieces of a text, and their characters, by which its tokens are estimated."""
_MOST_KEYWORDS = 12
"""Words of a query that a result names."""
_FITS = "the code fits into the budget"
_ALL_KEPT = "every line is selected, or needed by a selected line"
_LEAST_FOR_REPAIR = 0.05
"""Seconds that repair gets even when an answer is already late; a file of 2,000 lines needs less."""
_NO_TIME = "no time was left for repair: the lines stand as they were selected"
_NEVER_SETTLED = 1e-9
"""What every chunk brings where all are to be read, as far as there is time."""


@dataclass(frozen=True)
class Shared:
    """What the jobs of one pruner share."""

    encoder: PromptEncoder  # the model's prompt and tokenizer
    scorer: Scorer  # the model's way from answers to line scores
    # how long it takes to make tokens and chunks, and to judge what reading each would bring; like the next one by
    # characters, at first a guess for a slow machine
    preparing: Pace = field(default_factory=lambda: Pace(overhead=10_000, guess=2e-6))
    # how long line scores, selection, repair and rendering take
    finishing: Pace = field(default_factory=lambda: Pace(overhead=10_000, guess=2e-6))
    # the last files, so that another question about one needs no parse
    files: SourceFiles = field(default_factory=SourceFiles)


class PruneJob:
    """A query and a file, and how much of the file is to be read.

    Attributes:
        until: when the encoder's answers must be there.
        want_rubrics: whether answers must carry `rubric_prob`.
        uses_encoder: whether the encoder reads any of the code.
        may_stop_early: whether reading ends at the deadline with an answer, whatever the encoder is at.
        preload: whether what the encoder needs is loaded before it reads.
        by_lines: whether the line model can answer without the encoder.
        is_limited: whether the caller wants no more of the encoder than it has time for.
        by_keywords: whether lines are found by the words of a query that the model doesn't read.
        judged: whether there are lines to choose from, and enough of them.
        document: the query and the file, prepared for the model.
        prepared_at: `time.perf_counter()` when all this was known."""

    def __init__(
        self, shared: Shared, query: str, code: str | SourceFile, options: PruneOptions, call: PruneCall
    ) -> None:
        """Check a query and a text.

        Args:
            shared: the time that the rest of the job needs is left for it, and measured.
            call: its deadlines are checked between slices of text and between steps: here and in the reading.

        Raises:
            InvalidInputError: the query or the code can't be used, or the model can't do without the encoder.
            DeadlineExceededError: the text is too large for the time."""
        check_query(query)
        check_words(options.task, "task")
        check_words(options.history, "history")
        check_code(code if isinstance(code, str) else code.text)
        encoder, scorer = shared.encoder, shared.scorer
        if options.effort == "instant" and not scorer.instant:
            raise InvalidInputError(
                f"{encoder.spec.name} has no line model, so it can't answer without its encoder; leave out "
                "effort=instant, or take a model with one",
                argument="effort",
            )
        self.shared, self.options, self.call = shared, options, call
        if isinstance(code, str):
            path = "" if options.path is None else os.fspath(options.path)
            language = language_named(options.language) if options.language is not None else None
            code = shared.files.of(code, path, language, listed=options.listed)
        self.source, self.text = code, code.text
        self.by_lines, self.want_rubrics = scorer.instant, scorer.want_rubrics
        self.is_limited = options.effort == "auto" or options.within is not None
        self.until = call.wanted
        if self.by_lines and (options.degrade or self.is_limited):
            self.until = self.until.earlier(shared.finishing.seconds(len(self.text)) or 0.0)
        self.counter = token_counter(options.tokenizer, encoder)
        self.document = QueryDocument.of(
            encoder,
            Query(query, options.task, options.history),
            code,
            judge_data=not options.repair,  # without repair the caller wants the model's own selection
            check=self.until.remaining,
        )
        blank = bool(code.layout.blank.all())
        self.judged = not (blank or self.document.minified or self._is_small())
        self.check()
        self.by_keywords = self.judged and not scorer.reads(query)
        self.uses_encoder = self.judged and options.effort != "instant" and not self.by_keywords
        self.may_stop_early = self.uses_encoder and self.by_lines and self.is_limited
        self.preload = self.uses_encoder and not (self.may_stop_early and options.within is not None)
        self.prepared_at = time.perf_counter()

    def read(self, on_progress: OnProgress | None = None) -> ChunkReading:
        """Return the reading of the file, which has begun with nothing."""
        return ChunkReading(self, on_progress)

    def check(self) -> None:
        """Raise if the time of the call is over."""
        self.call.deadline.remaining()

    @contextlib.contextmanager
    def in_time(self) -> Iterator[None]:
        """Let what looks at the clock raise once the time of the call is over."""
        try:
            with ending_at(self.call.deadline.moment(0.0)):
                yield
        except OutOfTimeError:
            raise self.call.deadline.exceeded() from None

    @cached_property
    def tokens(self) -> int:
        """How many tokens the code has, as it was given."""
        return self.counter.count_tokens(self.text)

    def estimated(self, characters: int) -> int:
        """Return about how many tokens a text of so many characters has that was made of the code, by samples of it."""
        return round(characters * self._tokens_a_character)

    @cached_property
    def _tokens_a_character(self) -> float:
        text, size = self.text, _SAMPLE_CHARS
        if len(text) <= _SAMPLES * size:
            return self.counter.count_tokens(text) / len(text)
        begins = [at * (len(text) - size) // (_SAMPLES - 1) for at in range(_SAMPLES)]
        counts = self.counter.count_each([text[begin : begin + size] for begin in begins])
        return float(counts.sum()) / (_SAMPLES * size)

    def count(self, text: str) -> int:
        """Return how many tokens a text has. A search for a budget counts many texts, so each checks the deadline."""
        self.check()
        return self.counter.count_tokens(text)

    def _is_small(self) -> bool:
        """Return whether `min_tokens` lets the code pass; a budget that the code exceeds forbids it."""
        least, budget = self.options.min_tokens, self.options.max_tokens
        return bool(least) and self.tokens < least and (budget is None or self.tokens <= budget)

    def threshold(self, scores: LineScores) -> float:
        """Return the caller's threshold, or without one the model's as it adapts to the scores."""
        given = self.options.threshold
        return scores.adapted(self.shared.encoder.spec.threshold) if given is None else given


class ChunkReading:
    """What is known of a job's file so far: its chunks, and the answers about them. `finish` gives the result."""

    def __init__(self, job: PruneJob, on_progress: OnProgress | None) -> None:
        """Begin without a chunk."""
        self._job, self._on_progress = job, on_progress
        self._scorer: DocumentScorer | None = DocumentScorer(job.shared.scorer, job.document)
        self._plan: ReadingPlan | None = None
        self._chunks: int | None = None
        self._read = 0
        self._why = self._trouble = ""
        self._encoding = job.prepared_at - job.call.begin

    def groups(self, pace: Pace, most: int, work: Work = len) -> Iterator[list[Chunk]]:
        """Yield the chunks of one call after another, each made when it is taken; none for code that isn't read.

        Args:
            pace: seconds for a token that is encoded.
            most: chunks of one call.
            work: see `Transport.work`.

        Raises:
            DeadlineExceededError: the text is too large for the time."""
        job = self._job
        if not job.uses_encoder:
            return
        begin, preparing, size = time.perf_counter(), job.shared.preparing, len(job.text)
        if job.may_stop_early and not preparing.fits(size, job.until.seconds()):
            self._why = TIME
            return
        chunks = job.document.chunks(job.shared.encoder)
        self._chunks = len(chunks)
        if job.may_stop_early and job.options.within is None:
            best = self._most_promising(chunks)
            self._encoding += time.perf_counter() - begin
            yield from grouped(best, most)
            return
        if job.may_stop_early:
            self._plan = ReadingPlan(
                chunks, lambda places: self._gains(chunks.ranges[places]), pace, job.until, work
            )
            self._plan.judge()
            preparing.measured(size, time.perf_counter() - begin)
        self._encoding += time.perf_counter() - begin
        yield from grouped(chunks, most) if self._plan is None else self._plan.groups(most)

    def _most_promising(self, chunks: Chunks) -> list[Chunk]:
        """Return the chunks of which most is expected by what the line model says, `AUTO_CHUNKS` at the most."""
        gains = self._gains(chunks.ranges)
        expected = int(np.count_nonzero(gains > 0))
        if expected < len(chunks):
            self._why = SETTLED
        if expected > AUTO_CHUNKS:
            self._why = MOST
        order = np.argsort(-gains, kind="stable")[: min(expected, AUTO_CHUNKS)]
        return [chunks[place] for place in order.tolist()]

    def _gains(self, ranges: NDArray[np.int64]) -> NDArray[np.float64]:
        assert self._scorer is not None, "a reading is finished once"
        with self._job.in_time():
            gains = self._scorer.gains(ranges, self._job.threshold)
        return gains + _NEVER_SETTLED if self._job.options.effort == "full" else gains

    def add(self, tokens: tuple[int, int], result: ChunkResult) -> None:
        """Take in the answer about the chunk of this token range, in any order. Raises `ModelMismatchError`: the
        answer doesn't fit."""
        assert self._scorer is not None, "a reading is finished once"
        self._scorer.add(tokens, result)
        self._read += 1
        if self._plan is not None:
            self._plan.answered()
        if self._on_progress is not None:
            every = len(self._job.document.ids)
            self._on_progress(every * self._read // max(1, self._chunks or 0), every)

    @contextlib.contextmanager
    def degrading(self) -> Iterator[None]:
        """End the reading by an error after which the line model answers all the same; raise any other one."""
        try:
            yield
        except LamrError as error:
            job = self._job
            why = why_degraded(error) if job.uses_encoder and job.by_lines else None
            late = isinstance(error, DeadlineExceededError)
            over = job.is_limited and not job.until.allows(0)
            if why is None or not (job.options.degrade or (late and over)):
                raise
            self._why, self._trouble = why, "" if late else f"{type(error).__name__}: {error}"

    def finish(self) -> PruneResult:
        """Return the result, by the chunks that were added.

        Raises:
            InvalidInputError: the text shows that an option can't be used.
            BudgetError: the smallest valid output exceeds `max_tokens`.
            ModelMismatchError: an answer holds NaN or infinity.
            DeadlineExceededError: the text is too large for the time."""
        job, answered = self._job, time.perf_counter()
        if not job.judged or self._chunks == 0:
            result = unjudged(job.shared.encoder, job.document, job.options, self._tokens, job.count)
        else:
            result = self._result(*self._scores())
            job.shared.finishing.measured(len(job.text), time.perf_counter() - answered)
        end, begin = time.perf_counter(), job.call.begin
        timings = Timings(self._encoding, answered - begin - self._encoding, end - answered, end - begin)
        unseen = unseen_lines(result.text)
        said = UNSEEN_SHOWN.format(unseen=unseen) if unseen else None
        reason = "; ".join(filter(None, (result.reason, said))) or None
        return dataclasses.replace(result, unseen=unseen, reason=reason, timings=timings)

    def _scores(self) -> tuple[LineScores, tuple[str, ...]]:
        """Return the line scores, and the words of a query that the model doesn't read.

        What they were computed from is given up, since a large file's takes much memory."""
        assert self._scorer is not None, "a reading is finished once"
        scorer, self._scorer = self._scorer, None
        with self._job.in_time():
            return scorer.finish(), scorer.keywords if self._job.by_keywords else ()

    def _result(self, scores: LineScores, keywords: tuple[str, ...]) -> PruneResult:
        job, options = self._job, self._job.options
        job.check()
        threshold = job.threshold(scores)
        pruned = self._prune_in_time(scores, threshold)
        data, reading = job.document.data, job.document.reading
        has_budget = options.ratio is not None or options.max_tokens is not None
        unchanged = pruned.text == job.text
        before = self._tokens
        if unchanged:
            tokens = before
        elif self._counts_exactly:
            tokens = job.counter.count_tokens(pruned.text)
        else:
            tokens = job.estimated(len(pruned.text))
        fits = has_budget and unchanged
        said = (
            self._said_of_keywords(keywords),
            self._trouble,
            pruned.note,
            data.note() if data else None,
            None if pruned.cuts else ("nothing was cut: " + (_FITS if fits else _ALL_KEPT)),
        )
        result = PruneResult(
            text=pruned.text,
            kept_lines=pruned.kept_lines,
            line_scores=tuple(scores.scores.tolist()),
            reasons=pruned.reasons,
            relevance=scores.relevance,
            tokens_in=before,
            tokens_out=tokens,
            status="pruned" if pruned.cuts else "passthrough",
            reason="; ".join(filter(None, said)) or None,
            language=pruned.language,
            cuts=pruned.cuts,
            failures=pruned.failures,
            model=model_name(job.shared.encoder),
            tokenizer=counted_by(options.tokenizer),
            threshold=options.threshold if has_budget else threshold,
            query_read=None if reading.whole else reading.text,
            effort=self._effort,
        )
        # Line numbers are wanted for themselves, whatever they cost, and without repair the selection as it is.
        as_asked = options.line_numbers or not options.repair
        return self._uncut(result) if tokens > before and not as_asked else result

    def _prune_in_time(self, scores: LineScores, threshold: float) -> PrunedCode:
        """Return what is kept, without repair where there is no time for it."""
        job = self._job
        try:
            with ending_at(job.call.wanted.moment(_LEAST_FOR_REPAIR)):
                return self._prune(scores, threshold, job.options.cutting)
        except OutOfTimeError:
            job.check()
            pruned = self._prune(scores, threshold, {**job.options.cutting, "repair": False})
            return dataclasses.replace(pruned, note="; ".join(filter(None, (pruned.note, _NO_TIME))))

    def _prune(self, scores: LineScores, threshold: float, cutting: Mapping[str, Any]) -> PrunedCode:
        job, options = self._job, self._job.options
        least = options.threshold  # within a budget; without one repair selects by `answering`
        if options.ratio is None and options.max_tokens is None:
            least = None if options.repair else threshold
        try:
            return prune_lines(
                job.source,
                scores.scores,
                threshold=least,
                answering=threshold,
                count_tokens=job.count,
                price_lines=job.counter.line_costs,
                dependency=scores.dependency,
                **cutting,
            )
        except BudgetError:
            raise
        except ValueError as error:
            raise InvalidInputError(str(error)) from error

    @property
    def _effort(self) -> Effort:
        job = self._job
        never_begun = TIME if job.may_stop_early and self._chunks is None else ""
        planned = self._plan.why if self._plan is not None else never_begun
        return Effort(
            self._read, self._chunks, self._why or planned, WORDS if job.by_keywords else LINE_MODEL
        )

    @property
    def _counts_exactly(self) -> bool:
        """Whether tokens are counted, and not estimated: for a limit, or where the model's were made anyway."""
        options = self._job.options
        limited = options.min_tokens or options.ratio is not None or options.max_tokens is not None
        return bool(limited) or not self._job.judged or self._chunks is not None

    @property
    def _tokens(self) -> int:
        """How many tokens the code has, as it was given."""
        return self._job.tokens if self._counts_exactly else self._job.estimated(len(self._job.text))

    def _said_of_keywords(self, keywords: tuple[str, ...]) -> str:
        """Return what is to be known of a query in a language that the model doesn't read; empty of any other."""
        if not self._job.by_keywords:
            return ""
        words = ", ".join(keywords[:_MOST_KEYWORDS])
        found = f"lines were found by the words {words}" if words else "no word of it occurs in the code"
        return f"the model doesn't read the query's language: {found}; ask in English for a better answer"

    def _uncut(self, result: PruneResult) -> PruneResult:
        """Return a result with every line kept, for a cut whose markers cost more than its lines."""
        lines = range(1, len(result.line_scores) + 1)
        reason = "kept whole: markers would make it longer than the original"
        return dataclasses.replace(
            result,
            text=self._job.text,
            kept_lines=tuple(lines),
            reasons={line: result.reasons.get(line, REASONS[GAP]) for line in lines},
            tokens_out=result.tokens_in,
            reason=f"{result.reason}; {reason}" if result.reason else reason,
            cuts=(),
            status="passthrough",
        )
