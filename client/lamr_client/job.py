"""One pruning without the waiting: all that happens before chunks are sent and after their answers came back.

`Pruner` and `AsyncPruner` share this module, which knows neither threads nor event loops. A `PruneJob` holds one
document:

    job = PruneJob(encoder, scorer, query, text, options)       # checks, tokenizes, plans chunks
    for chunk in job.chunks: job.add(chunk.tokens, ask(chunk))
    result = job.finish()                               # line scores, selection, repair, rendering
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterator

from lamr_contract.asked import AskedDocument
from lamr_contract.encoding import Chunk, PromptEncoder
from lamr_contract.errors import InvalidInputError
from lamr_contract.model_io import ChunkResult
from lamr_contract.scoring.scorer import DocumentScorer, LineScores, Scorer
from lamr_postprocess import BudgetError, PrunedCode, prune_lines
from lamr_postprocess.repair import GAP, REASONS

from lamr_client.deadline import Deadline
from lamr_client.dispatch import OnResult
from lamr_client.inputs import check_code, check_query, check_task
from lamr_client.prune_options import PruneOptions
from lamr_client.result import PruneResult, Timings
from lamr_client.unjudged import model_name, unpruned

OnProgress = Callable[[int, int], None]
"""Takes the number of tokens that are judged so far, and the number of all tokens."""


class PruneJob:
    """A query, a document, the document's chunks and what is known of them so far.

    Attributes:
        chunks: the chunks to ask about, each made when it is taken; none for code that is not judged.
        want_rubrics: whether answers must carry `rubric_prob`.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # a model, what is asked of it, and how
        self,
        encoder: PromptEncoder,
        scorer: Scorer,
        query: str,
        text: str,
        options: PruneOptions,
        deadline: Deadline | None = None,
    ) -> None:
        """Check and encode a query and a text.

        Args:
            encoder: the model's prompt and tokenizer.
            scorer: the model's way from answers to line scores.
            query, text, options: what the caller gave.
            deadline: checked between slices of text and between steps, here and in `finish`; None for no end.

        Raises:
            InvalidInputError: the query or the code can't be used.
            DeadlineExceededError: the text is too large for the time.
        """
        self._check = (deadline or Deadline(None)).remaining
        self._begin = time.perf_counter()
        check_query(query)
        check_task(options.task)
        check_code(text)
        self._encoder = encoder
        self._text = text
        self._options = options
        self._asked = asked = AskedDocument.of(
            encoder,
            query,
            text,
            task=options.task,
            path="" if options.path is None else os.fspath(options.path),
            judge_data=not options.repair,  # without repair the caller wants the model's own selection
            check=self._check,
        )
        self._tokens = asked.length if asked.listing is None else encoder.count_tokens(text)
        self._scorer: DocumentScorer | None = None
        self.want_rubrics = False
        self.chunks: Iterator[Chunk] = iter(())
        if asked.length and not self._is_small():
            self._check()
            self._scorer, self.want_rubrics = DocumentScorer(scorer, asked), scorer.want_rubrics
            self.chunks = asked.chunks(encoder)
        self._encoded = time.perf_counter()

    def add(self, tokens: tuple[int, int], result: ChunkResult) -> None:
        """Take in the answer about the chunk of this token range, in any order.

        Raises:
            ModelMismatchError: the answer doesn't fit.
        """
        assert self._scorer is not None, "a job without chunks gets no answers"
        self._scorer.add(tokens, result)

    def reporting(self, on_progress: OnProgress | None) -> OnResult:
        """Return `add`, or if somebody wants to know how far the job is, a function that also tells them."""
        if on_progress is None:
            return self.add
        judged = 0

        def add(tokens: tuple[int, int], result: ChunkResult) -> None:
            nonlocal judged
            self.add(tokens, result)
            judged = max(judged, tokens[1])
            on_progress(judged, len(self._asked.ids))

        return add

    def finish(self) -> PruneResult:
        """Return the result, after every chunk was added.

        Raises:
            InvalidInputError: the text shows that an option can't be used.
            BudgetError: the smallest valid output exceeds `max_tokens`.
            ModelMismatchError: an answer holds NaN or infinity.
            DeadlineExceededError: the text is too large for the time.
        """
        answered = time.perf_counter()
        if self._scorer is None:
            result = self._too_small() if self._asked.length else self._nothing_to_judge()
        else:
            scores = self._scorer.finish()
            self._check()
            threshold = self._threshold(scores)
            result = self._result(scores, threshold, self._prune(scores, threshold))
        end = time.perf_counter()
        timings = Timings(
            self._encoded - self._begin, answered - self._encoded, end - answered, end - self._begin
        )
        return dataclasses.replace(result, timings=timings)

    def _is_small(self) -> bool:
        """Return whether `min_tokens` lets the code pass; a budget that the code exceeds forbids it."""
        budget = self._options.max_tokens
        return self._tokens < self._options.min_tokens and (budget is None or self._tokens <= budget)

    def _threshold(self, scores: LineScores) -> float:
        """Return the caller's threshold, or without one the model's as it adapts to the scores."""
        given = self._options.threshold
        return scores.adapted(self._encoder.spec.threshold) if given is None else given

    def _prune(self, scores: LineScores, threshold: float) -> PrunedCode:
        options = self._options
        try:
            return prune_lines(
                self._text,
                scores.scores,
                path=None if options.path is None else os.fspath(options.path),
                language=options.language,
                threshold=threshold,
                ratio=options.ratio,
                max_tokens=options.max_tokens,
                keep=options.keep,
                count_tokens=self._count,
                dependency=scores.dependency,
                repair=options.repair,
                markers=options.markers,
                line_numbers=options.line_numbers,
                min_cut=options.min_cut,
            )
        except BudgetError:
            raise
        except ValueError as error:
            raise InvalidInputError(str(error)) from error

    def _count(self, text: str) -> int:
        """Return how many tokens a text has. A search for a budget counts many texts, so each checks the deadline."""
        self._check()
        return self._encoder.count_tokens(text)

    def _result(self, scores: LineScores, threshold: float, pruned: PrunedCode) -> PruneResult:
        by_budget = self._options.ratio is not None or self._options.max_tokens is not None
        data, reading = self._asked.data, self._asked.reading
        unchanged = pruned.text == self._text
        tokens = self._tokens if unchanged else self._encoder.count_tokens(pruned.text)
        result = PruneResult(
            text=pruned.text,
            kept_lines=pruned.kept_lines,
            line_scores=tuple(scores.scores.tolist()),
            reasons=pruned.reasons,
            relevance=scores.relevance,
            tokens_in=self._tokens,
            tokens_out=tokens,
            status="pruned",
            reason="; ".join(filter(None, (pruned.note, data.note() if data else None))) or None,
            language=pruned.language,
            cuts=pruned.cuts,
            model=model_name(self._encoder),
            threshold=None if by_budget else threshold,
            query_read=None if reading.whole else reading.text,
        )
        # Line numbers are wanted for themselves, whatever they cost, and without repair the selection as it is.
        as_asked = self._options.line_numbers or not self._options.repair
        return self._uncut(result) if tokens > self._tokens and not as_asked else result

    def _uncut(self, result: PruneResult) -> PruneResult:
        """Return a result with every line kept, for a cut whose markers cost more than its lines."""
        lines = range(1, len(result.line_scores) + 1)
        reason = "kept whole: with markers in place of what could go it would be longer"
        return dataclasses.replace(
            result,
            text=self._text,
            kept_lines=tuple(lines),
            reasons={line: result.reasons.get(line, REASONS[GAP]) for line in lines},
            tokens_out=self._tokens,
            reason=f"{result.reason}; {reason}" if result.reason else reason,
            cuts=(),
        )

    def _nothing_to_judge(self) -> PruneResult:
        result = unpruned(self._encoder, self._text, self._options, self._tokens)
        return dataclasses.replace(
            result,
            status="pruned",
            reason="the code holds nothing but white space: kept as it is"
            if self._text
            else "the code is empty",
        )

    def _too_small(self) -> PruneResult:
        result = unpruned(self._encoder, self._text, self._options, self._tokens)
        minimum = self._options.min_tokens
        return dataclasses.replace(
            result, reason=f"passed through: {self._tokens} tokens, fewer than min_tokens {minimum}"
        )
