"""One pruning without the waiting: all that happens before chunks are sent and after their answers came back.

`Pruner` and `AsyncPruner` share this module, which knows neither threads nor event loops. A `PruneJob` holds one
document:

    job = PruneJob(encoder, scorer, query, text, options, call)     # checks
    for group in job.groups(pace, most):                            # tokenizes, plans chunks
        for chunk in group: job.add(chunk.tokens, ask(chunk))
    result = job.finish()                               # line scores, selection, repair, rendering
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from lamr_base.errors import DeadlineExceededError, InvalidInputError, LamrError, unseen_lines
from lamr_model.counters import counted_by, token_counter
from lamr_model.encoding import Chunk, Chunks, PromptEncoder
from lamr_model.model_io import ChunkResult
from lamr_model.scoring.query_document import QueryDocument
from lamr_model.scoring.scorer import DocumentScorer, LineScores, Scorer
from lamr_postprocess import BudgetError, PrunedCode, prune_lines
from lamr_postprocess.analyses import Analyses
from lamr_postprocess.clock import OutOfTimeError, ending_at
from lamr_postprocess.prune import UNSEEN_SHOWN
from lamr_postprocess.repair import GAP, REASONS
from numpy.typing import NDArray

from lamr_client.deadline import Deadline
from lamr_client.dispatch import OnResult, grouped
from lamr_client.effort import (
    AUTO_CHUNKS,
    LINE_MODEL,
    MOST,
    SETTLED,
    TIME,
    WORDS,
    Effort,
    why_degraded,
)
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
    """What the jobs of one pruner share.

    Attributes:
        preparing: how long it takes to make tokens and chunks, and to judge what reading each would bring; like the
            next one by characters, at first a guess for a slow machine.
        finishing: how long line scores, selection, repair and rendering take.
        analyses: what is known of the last files, so that another question about one needs no parse.
    """

    preparing: Pace = field(default_factory=lambda: Pace(overhead=10_000, guess=2e-6))
    finishing: Pace = field(default_factory=lambda: Pace(overhead=10_000, guess=2e-6))
    analyses: Analyses = field(default_factory=Analyses)


class PruneJob:
    """A query, a document, the document's chunks and what is known of them so far.

    Attributes:
        want_rubrics: whether answers must carry `rubric_prob`.
        uses_encoder: whether the encoder reads any of the code.
        may_stop_early: whether reading ends at the deadline with an answer, whatever the encoder is at.
        preload: whether what the encoder needs is loaded before the clock of its reading starts.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # a model, what is asked of it, and how
        self,
        encoder: PromptEncoder,
        scorer: Scorer,
        query: str,
        text: str,
        options: PruneOptions,
        call: PruneCall,
        shared: Shared,
    ) -> None:
        """Check a query and a text.

        Args:
            encoder: the model's prompt and tokenizer.
            scorer: the model's way from answers to line scores.
            query, text, options: what the caller gave.
            call: its deadlines are checked between slices of text and between steps, here, in `groups` and in `finish`.
            shared: the time that the rest of the job needs is left for it, and measured.

        Raises:
            InvalidInputError: the query or the code can't be used, or the model can't do without the encoder.
            DeadlineExceededError: the text is too large for the time.
        """
        check_query(query)
        check_words(options.task, "task")
        check_words(options.history, "history")
        check_code(text)
        if options.effort == "instant" and not scorer.instant:
            raise InvalidInputError(
                f"{encoder.spec.name} has no line model, so it can't answer without its encoder; leave out "
                "effort=instant, or take a model with one",
                argument="effort",
            )
        self._encoder, self._text, self._options = encoder, text, options
        self._call, self._shared, self._until = call, shared, call.deadline
        self._by_lines = scorer.instant
        self._counter = token_counter(options.tokenizer, encoder)
        self._asked = QueryDocument.of(
            encoder,
            query,
            text,
            task=options.task,
            history=options.history,
            path="" if options.path is None else os.fspath(options.path),
            listed=options.listed,
            judge_data=not options.repair,  # without repair the caller wants the model's own selection
            check=self._check,
        )
        blank = bool(self._asked.layout.blank.all())
        self._judged = not (blank or self._asked.minified or self._is_small())
        self._check()
        self._scorer: DocumentScorer | None = DocumentScorer(scorer, self._asked)
        self.want_rubrics = scorer.want_rubrics
        self._by_keywords = self._judged and self._scorer.by_keywords
        self._keywords = self._scorer.keywords if self._by_keywords else ()
        self.uses_encoder = self._judged and options.effort != "instant" and not self._by_keywords
        self.may_stop_early = self.uses_encoder and self._by_lines and self._is_limited
        self.preload = self.uses_encoder and not (self.may_stop_early and options.within is not None)
        self._plan: ReadingPlan | None = None
        self._chunks: int | None = None
        self._read = 0
        self._why = self._trouble = ""
        self._encoding = time.perf_counter() - call.begin

    def begin_reading(self) -> Deadline:
        """Start the clock of the encoder's reading, and return when its answers must be there."""
        options, until = self._options, self._call.wanted
        if self._by_lines and (options.degrade or self._is_limited):
            until = until.earlier(self._shared.finishing.seconds(len(self._text)) or 0.0)
        self._until = until
        return until

    def groups(self, pace: Pace, most: int, work: Work = len) -> Iterator[list[Chunk]]:
        """Yield the chunks of one call after another, each made when it is taken; none for code that isn't read.

        Args:
            pace: seconds for a token that is encoded.
            most: chunks of one call.
            work: see `Transport.work`.

        Raises:
            DeadlineExceededError: the text is too large for the time.
        """
        if not self.uses_encoder:
            return
        begin, preparing, size = time.perf_counter(), self._shared.preparing, len(self._text)
        if self.may_stop_early and not preparing.fits(size, self._until.seconds()):
            self._why = TIME
            return
        chunks = self._asked.chunks(self._encoder)
        self._chunks = len(chunks)
        if self._is_limited and self._options.within is None and self._by_lines:
            best = self._most_promising(chunks)
            self._encoding += time.perf_counter() - begin
            yield from grouped(best, most)
            return
        if self.may_stop_early:
            self._plan = ReadingPlan(
                chunks, lambda places: self._gains(chunks.ranges[places]), pace, self._until, work
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

    def add(self, tokens: tuple[int, int], result: ChunkResult) -> None:
        """Take in the answer about the chunk of this token range, in any order.

        Raises:
            ModelMismatchError: the answer doesn't fit.
        """
        assert self._scorer is not None, "a job without chunks gets no answers"
        self._scorer.add(tokens, result)
        self._read += 1
        if self._plan is not None:
            self._plan.answered()

    def reporting(self, on_progress: OnProgress | None) -> OnResult:
        """Return `add`, or if somebody wants to know how far the job is, a function that also tells them."""
        if on_progress is None:
            return self.add

        def add(tokens: tuple[int, int], result: ChunkResult) -> None:
            self.add(tokens, result)
            every = len(self._asked.ids)
            on_progress(every * self._read // max(1, self._chunks or 0), every)

        return add

    def stops(self, error: LamrError) -> bool:
        """Take in an error of reading, and return whether the line model answers all the same.

        Args:
            error: what ended the reading. It is to be raised if the answer is no.
        """
        why = why_degraded(error) if self.uses_encoder and self._by_lines else None
        late = isinstance(error, DeadlineExceededError)
        over = self._is_limited and not self._until.allows(0)
        if why is None or not (self._options.degrade or (late and over)):
            return False
        self._why, self._trouble = why, "" if late else f"{type(error).__name__}: {error}"
        return True

    def finish(self) -> PruneResult:
        """Return the result, by the chunks that were added.

        Raises:
            InvalidInputError: the text shows that an option can't be used.
            BudgetError: the smallest valid output exceeds `max_tokens`.
            ModelMismatchError: an answer holds NaN or infinity.
            DeadlineExceededError: the text is too large for the time.
        """
        answered = time.perf_counter()
        self._until = self._call.deadline
        if not self._judged or self._chunks == 0:
            result = unjudged(self._encoder, self._asked, self._options, self._tokens, self._count)
        else:
            scores = self._final_scores()
            self._check()
            threshold = self._threshold(scores)
            result = self._result(scores, threshold, self._prune_in_time(scores, threshold))
            self._shared.finishing.measured(len(self._text), time.perf_counter() - answered)
        end, begin = time.perf_counter(), self._call.begin
        timings = Timings(self._encoding, answered - begin - self._encoding, end - answered, end - begin)
        unseen = unseen_lines(result.text)
        said = UNSEEN_SHOWN.format(unseen=unseen) if unseen else None
        reason = "; ".join(filter(None, (result.reason, said))) or None
        return dataclasses.replace(result, unseen=unseen, reason=reason, timings=timings)

    def _final_scores(self) -> LineScores:
        """Return the line scores, and give up what they were computed from: a large file's takes much memory."""
        assert self._scorer is not None, "a job is finished once"
        scores, self._scorer = self._scorer.finish(), None
        return scores

    @property
    def _is_limited(self) -> bool:
        """Whether the caller wants no more of the encoder than it has time for."""
        return self._options.effort == "auto" or self._options.within is not None

    def _check(self) -> None:
        """Raise if the time of what the job is at is over."""
        self._until.remaining()

    def _gains(self, ranges: NDArray[np.int64]) -> NDArray[np.float64]:
        assert self._scorer is not None, "only a job that reads has chunks"
        gains = self._scorer.gains(ranges, self._threshold)
        return gains + _NEVER_SETTLED if self._options.effort == "full" else gains

    @property
    def _effort(self) -> Effort:
        never_begun = TIME if self.may_stop_early and self._chunks is None else ""
        planned = self._plan.why if self._plan is not None else never_begun
        alone = WORDS if self._by_keywords else LINE_MODEL
        return Effort(self._read, self._chunks, self._why or planned, alone)

    @property
    def _counts_exactly(self) -> bool:
        """Whether tokens are counted, and not estimated: for a limit, or where the model's were made anyway."""
        options = self._options
        limited = options.min_tokens or options.ratio is not None or options.max_tokens is not None
        return bool(limited) or not self._judged or self._chunks is not None

    @cached_property
    def _tokens(self) -> int:
        """How many tokens the code has, as it was given."""
        if not self._counts_exactly:
            return self._estimated(self._text)
        return self._counter.count_tokens(self._text)

    def _estimated(self, text: str) -> int:
        """Return about how many tokens a text has that was made of the code, by samples of the code."""
        return round(len(text) * self._tokens_a_character)

    @cached_property
    def _tokens_a_character(self) -> float:
        text, size = self._text, _SAMPLE_CHARS
        if len(text) <= _SAMPLES * size:
            return self._counter.count_tokens(text) / len(text)
        begins = [at * (len(text) - size) // (_SAMPLES - 1) for at in range(_SAMPLES)]
        counts = self._counter.count_each([text[begin : begin + size] for begin in begins])
        return float(counts.sum()) / (_SAMPLES * size)

    def _is_small(self) -> bool:
        """Return whether `min_tokens` lets the code pass; a budget that the code exceeds forbids it."""
        least, budget = self._options.min_tokens, self._options.max_tokens
        return bool(least) and self._tokens < least and (budget is None or self._tokens <= budget)

    @property
    def _has_budget(self) -> bool:
        return self._options.ratio is not None or self._options.max_tokens is not None

    def _threshold(self, scores: LineScores) -> float:
        """Return the caller's threshold, or without one the model's as it adapts to the scores."""
        given = self._options.threshold
        return scores.adapted(self._encoder.spec.threshold) if given is None else given

    def _least_score(self, threshold: float) -> float | None:
        """Return the score below which no line is selected; None where lines are selected in another way."""
        if self._has_budget:
            return self._options.threshold
        return None if self._options.repair else threshold

    def _prune_in_time(self, scores: LineScores, threshold: float) -> PrunedCode:
        """Return what is kept, without repair where there is no time for it."""
        try:
            with ending_at(self._call.wanted.moment(_LEAST_FOR_REPAIR)):
                return self._prune(scores, threshold, self._options.cutting)
        except OutOfTimeError:
            self._check()
            pruned = self._prune(scores, threshold, {**self._options.cutting, "repair": False})
            return dataclasses.replace(pruned, note="; ".join(filter(None, (pruned.note, _NO_TIME))))

    def _prune(self, scores: LineScores, threshold: float, cutting: Mapping[str, Any]) -> PrunedCode:
        options = self._options
        try:
            return prune_lines(
                self._text,
                scores.scores,
                path=None if options.path is None else os.fspath(options.path),
                language=options.language,
                threshold=self._least_score(threshold),
                answering=threshold,
                count_tokens=self._count,
                price_lines=self._counter.line_costs,
                dependency=scores.dependency,
                analyses=self._shared.analyses,
                **cutting,
            )
        except BudgetError:
            raise
        except ValueError as error:
            raise InvalidInputError(str(error)) from error

    def _count(self, text: str) -> int:
        """Return how many tokens a text has. A search for a budget counts many texts, so each checks the deadline."""
        self._check()
        return self._counter.count_tokens(text)

    def _result(self, scores: LineScores, threshold: float, pruned: PrunedCode) -> PruneResult:
        data, reading = self._asked.data, self._asked.reading
        unchanged = pruned.text == self._text
        before = self._tokens
        count = self._counter.count_tokens if self._counts_exactly else self._estimated
        tokens = before if unchanged else count(pruned.text)
        fits = self._has_budget and unchanged
        said = (
            self._said_of_keywords(),
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
            model=model_name(self._encoder),
            tokenizer=counted_by(self._options.tokenizer),
            threshold=self._options.threshold if self._has_budget else threshold,
            query_read=None if reading.whole else reading.text,
            effort=self._effort,
        )
        # Line numbers are wanted for themselves, whatever they cost, and without repair the selection as it is.
        as_asked = self._options.line_numbers or not self._options.repair
        return self._uncut(result) if tokens > before and not as_asked else result

    def _said_of_keywords(self) -> str:
        """Return what is to be known of a query in a language that the model doesn't read; empty of any other."""
        if not self._by_keywords:
            return ""
        words = ", ".join(self._keywords[:_MOST_KEYWORDS])
        found = f"lines were found by the words {words}" if words else "no word of it occurs in the code"
        return f"the model doesn't read the query's language: {found}; ask in English for a better answer"

    def _uncut(self, result: PruneResult) -> PruneResult:
        """Return a result with every line kept, for a cut whose markers cost more than its lines."""
        lines = range(1, len(result.line_scores) + 1)
        reason = "kept whole: markers would make it longer than the original"
        return dataclasses.replace(
            result,
            text=self._text,
            kept_lines=tuple(lines),
            reasons={line: result.reasons.get(line, REASONS[GAP]) for line in lines},
            tokens_out=result.tokens_in,
            reason=f"{result.reason}; {reason}" if result.reason else reason,
            cuts=(),
            status="passthrough",
        )
