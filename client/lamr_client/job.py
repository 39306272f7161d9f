"""One pruning but for the waiting: everything before the chunks are sent and everything after they came back.

Shared by `Pruner` and `AsyncPruner`; knows neither threads nor event loops. `PruneJob` holds one document:

    job = PruneJob(encoder, query, text, options)       # checks, tokenizes, plans chunks
    for chunk in job.chunks: job.add(chunk.tokens, ask(chunk))
    result = job.finish()                               # line scores, selection, repair, rendering
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterator

import numpy as np
from lamr_contract.encoding import Chunk, PromptEncoder
from lamr_contract.errors import InvalidInputError, LamrError
from lamr_contract.layout import line_layout
from lamr_contract.lexical_evidence import line_evidence
from lamr_contract.model_io import ChunkResult
from lamr_contract.scoring import DocumentScores, ScoreMerger, smoothed, with_evidence
from lamr_postprocess import PrunedCode, line_spans, prune_lines
from lamr_postprocess.lines import TokenLines
from numpy.typing import NDArray

from lamr_client.inputs import check_code, check_query
from lamr_client.options import PruneOptions
from lamr_client.result import PruneResult, Timings


class PruneJob:
    """A query, a document, its chunks and what is known of them so far.

    Attributes:
        chunks: to be asked about, each made when it is taken.
        want_rubrics: whether answers must carry `rubric_prob`.
    """

    def __init__(self, encoder: PromptEncoder, query: str, text: str, options: PruneOptions) -> None:
        """Check and encode.

        Raises:
            InvalidInputError: the query or the code can't be used.
        """
        self._begin = time.perf_counter()
        check_query(query)
        check_code(text)
        self._encoder = encoder
        self._text = text
        self._options = options
        query_ids = encoder.encode_query(query)
        if not len(query_ids):
            raise InvalidInputError(
                "the query has no word that the model's tokenizer knows; say it differently"
            )
        encoder.code_room(len(query_ids))  # before time goes into the code
        ids, self._offsets = encoder.encode_document(text)
        self._small = len(ids) < options.min_tokens and len(ids) <= (options.max_tokens or len(ids))
        self.chunks: Iterator[Chunk] = iter(())
        if len(ids) and not self._small:
            self._layout = line_layout(text)
            self._lines = TokenLines(self._offsets, self._layout.points, self._layout.spans)
            self._evidence = self._lexical_evidence(query)
            self.chunks = encoder.iter_chunks(query_ids, ids, self._offsets, text, layout=self._layout)
        spec = encoder.spec
        self._merger = ScoreMerger(spec.scoring, spec.rubrics, len(ids))
        self.want_rubrics = self._merger.want_rubrics
        self._encoded = time.perf_counter()

    def add(self, tokens: tuple[int, int], result: ChunkResult) -> None:
        """Take in the answer to the chunk of this token range; any order.

        Raises:
            ModelMismatchError: the answer doesn't fit.
        """
        self._merger.add(tokens, result)

    def finish(self) -> PruneResult:
        """The result, after every chunk was added.

        Raises:
            InvalidInputError: an option that only the text shows to be wrong.
        """
        answered = time.perf_counter()
        if not len(self._offsets):
            result = self._nothing_to_judge()
        elif self._small:
            result = self._too_small()
        else:
            scores = self._merger.merged()
            tokens = scores.tokens
            if self._evidence is not None:
                tokens = with_evidence(tokens, self._evidence, self._encoder.spec.scoring.lexical)
            lines = smoothed(self._lines.means(tokens), self._layout, self._encoder.spec.scoring)
            result = self._result(lines, self._prune(lines, scores), scores.relevance)
        end = time.perf_counter()
        timings = Timings(
            self._encoded - self._begin, answered - self._encoded, end - answered, end - self._begin
        )
        return dataclasses.replace(result, timings=timings)

    def _lexical_evidence(self, query: str) -> NDArray[np.float64] | None:
        """Float64 [n]; None where the scoring gives it no weight."""
        if not self._encoder.spec.scoring.lexical:
            return None
        evidence: NDArray[np.float64] = line_evidence(query, self._text, self._layout)[self._lines.first]
        return evidence

    def _prune(self, lines: NDArray[np.float32], scores: DocumentScores) -> PrunedCode:
        options = self._options
        threshold = self._encoder.spec.threshold if options.threshold is None else options.threshold
        try:
            return prune_lines(
                self._text,
                lines,
                path=None if options.path is None else os.fspath(options.path),
                language=options.language,
                threshold=threshold,
                ratio=options.ratio,
                max_tokens=options.max_tokens,
                keep=options.keep,
                count_tokens=self._encoder.count_tokens,
                dependency=self._dependency(scores),
                line_numbers=options.line_numbers,
            )
        except ValueError as error:
            raise InvalidInputError(str(error)) from error

    def _dependency(self, scores: DocumentScores) -> NDArray[np.bool_] | None:
        """Which lines the dependency rubric speaks for more than the semantic one; None without the two."""
        names = self._encoder.spec.rubrics
        if scores.rubrics is None or not {"semantic", "dependency"} <= set(names):
            return None
        difference = scores.rubrics[:, names.index("dependency")] - scores.rubrics[:, names.index("semantic")]
        return self._lines.means(difference) > 0

    def _result(self, lines: NDArray[np.float32], pruned: PrunedCode, relevance: float) -> PruneResult:
        unchanged = pruned.text == self._text
        return PruneResult(
            text=pruned.text,
            kept_lines=pruned.kept_lines,
            line_scores=tuple(lines.tolist()),
            reasons=pruned.reasons,
            relevance=relevance,
            tokens_in=len(self._offsets),
            tokens_out=len(self._offsets) if unchanged else self._encoder.count_tokens(pruned.text),
            status="pruned",
            reason=pruned.note,
            language=pruned.language,
            cuts=pruned.cuts,
            model=model_name(self._encoder),
        )

    def _nothing_to_judge(self) -> PruneResult:
        result = unpruned(self._encoder, self._text, self._options, tokens=0)
        return dataclasses.replace(
            result,
            status="pruned",
            reason="the code holds nothing but white space: kept as it is"
            if self._text
            else "the code is empty",
        )

    def _too_small(self) -> PruneResult:
        tokens = len(self._offsets)
        reason = f"passed through: {tokens} tokens, fewer than min_tokens {self._options.min_tokens}"
        return dataclasses.replace(
            unpruned(self._encoder, self._text, self._options, tokens=tokens), reason=reason
        )


def unpruned(encoder: PromptEncoder, text: str, options: PruneOptions, tokens: int) -> PruneResult:
    """The text as it came, all lines kept, nothing scored."""
    count = len(line_spans(text))
    return PruneResult(
        text=text,
        kept_lines=tuple(range(1, count + 1)),
        line_scores=(0.0,) * count,
        reasons={},
        relevance=None,
        tokens_in=tokens,
        tokens_out=tokens,
        status="passthrough",
        reason=None,
        language=options.language,
        cuts=(),
        model=model_name(encoder),
    )


def passthrough(
    encoder: PromptEncoder, text: str, options: PruneOptions, error: LamrError, begin: float
) -> PruneResult:
    """What `on_error="passthrough"` gives for an error.

    Args:
        begin: `time.perf_counter()` when the call began.
    """
    result = unpruned(encoder, text, options, encoder.count_tokens(text))
    return dataclasses.replace(
        result,
        reason=f"{type(error).__name__}: {error}",
        timings=Timings(total=time.perf_counter() - begin),
    )


def model_name(encoder: PromptEncoder) -> str:
    """Name and version, as results carry them."""
    return f"{encoder.spec.name} {encoder.spec.version}"
