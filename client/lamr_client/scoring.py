"""From chunks' outputs to one score a token of the whole document.

Knows `Scoring` (which of a chunk's outputs count, and how) and overlaps; what a line or a block is, others know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from lamr_postprocess import line_scores_from_tokens
from numpy.typing import NDArray

from lamr_client.blocks import with_blocks
from lamr_client.errors import ModelMismatchError
from lamr_client.layout import LineLayout
from lamr_client.odds import logit, sigmoid
from lamr_client.spec import ModelSpec, Scoring
from lamr_client.transport import ChunkResult

KEEP_PROB, RELEVANCE = "keep_prob", "relevance"
# A file whose parts are all alike has no ranking to be blown up.
_SPREAD = 0.1


def token_scores(result: ChunkResult, scoring: Scoring, rubrics: Sequence[str]) -> NDArray[np.float64]:
    """Scores float64 [m] in [0, 1] of one chunk's code tokens, for a scoring that needs no other chunk.

    Args:
        result: with `rubric_prob` if `scoring` gives a rubric weight.
        scoring: `paper` takes Viterbi's decisions (paper section 3.4); `calibrated` see `Scoring`.
        rubrics: names, in the order of the K axis.
    """
    if scoring.kind == "paper":
        return result.keep.astype(np.float64)
    return _combined(token_logits(result, scoring, rubrics), scoring)


def token_logits(result: ChunkResult, scoring: Scoring, rubrics: Sequence[str]) -> NDArray[np.float64]:
    """The log-odds float64 [m, F] of the outputs that a scoring weighs, in the order of its weights."""
    columns = np.empty((len(result.keep), len(scoring.weights)))
    for place, name in enumerate(scoring.weights):
        if name == KEEP_PROB:
            columns[:, place] = logit(result.keep_prob)
        elif name == RELEVANCE:
            columns[:, place] = logit(np.float64(result.relevance))
        else:
            assert result.rubric_prob is not None
            columns[:, place] = logit(result.rubric_prob[:, rubrics.index(name)])
    return columns


def standardized(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each column of a document's log-odds [n, F], less its mean, in units of its spread (of at least `_SPREAD`)."""
    if not len(logits):
        return logits
    scaled: NDArray[np.float64] = (logits - logits.mean(axis=0)) / (logits.std(axis=0) + _SPREAD)
    return scaled


def _combined(logits: NDArray[np.float64], scoring: Scoring) -> NDArray[np.float64]:
    weights = np.fromiter(scoring.weights.values(), np.float64)
    return sigmoid(logits @ weights + scoring.bias)


def with_evidence(
    scores: NDArray[np.float64], evidence: NDArray[np.float64], weight: float
) -> NDArray[np.float64]:
    """Averaged scores float64 [n] moved by lexical evidence [n]: sigmoid(logit(score) + weight * evidence)."""
    return sigmoid(logit(scores) + weight * evidence)


def line_scores(
    tokens: NDArray[np.float64], offsets: NDArray[np.int64], text: str, layout: LineLayout, scoring: Scoring
) -> NDArray[np.float32]:
    """Scores float32 [L] of a document's lines: means over their tokens, and their block's part.

    Args:
        tokens: float64 [n], final scores of its tokens.
        offsets: int64 [n, 2].
        text, layout: the document and its lines.
        scoring: whose `block` counts.
    """
    lines = line_scores_from_tokens(tokens, offsets, text)
    if not scoring.block:
        return lines
    return with_blocks(lines.astype(np.float64), layout, scoring.block).astype(np.float32)


def check_scoring(spec: ModelSpec) -> None:
    """Refuse a scoring that the model's outputs can't feed.

    Raises:
        ModelMismatchError: a weight's name is no output.
    """
    unknown = spec.scoring.weights.keys() - {KEEP_PROB, RELEVANCE, *spec.rubrics}
    if unknown:
        raise ModelMismatchError(
            f"the scoring of {spec.name} weighs {sorted(unknown)}, which is neither {KEEP_PROB}, {RELEVANCE} "
            f"nor a rubric of {list(spec.rubrics)}; export the model again"
        )


@dataclass(frozen=True, eq=False)
class DocumentScores:
    """A document's averages.

    Attributes:
        tokens: float64 [n], the score of each token.
        rubrics: float64 [n, K], each rubric's marginals; None if they weren't asked for.
        relevance: the maximum over chunks; 0 without any.
    """

    tokens: NDArray[np.float64]
    rubrics: NDArray[np.float64] | None
    relevance: float


class ScoreMerger:
    """Averages chunks as they arrive, in any order, in memory of the document's size."""

    def __init__(self, scoring: Scoring, rubrics: Sequence[str], tokens: int) -> None:
        """Args:
        scoring: what becomes of the outputs.
        rubrics: the model's. One rubric alone says nothing that the fused CRF doesn't, so it is asked for only if the
            scoring weighs it.
        tokens: n, of the document.
        """
        self._scoring, self._names = scoring, tuple(rubrics)
        weighed = scoring.kind != "paper" and bool(scoring.weights.keys() & set(rubrics))
        self.want_rubrics = len(rubrics) > 1 or weighed
        # float64, so that sums don't depend visibly on the order of arrival.
        parts = (len(scoring.weights),) if scoring.kind == "relative" else ()
        self._sums = np.zeros((tokens, *parts), np.float64)
        self._rubrics = np.zeros((tokens, len(rubrics)), np.float64) if self.want_rubrics else None
        self._counts = np.zeros(tokens, np.int32)
        self._relevance = 0.0

    def add(self, tokens: tuple[int, int], result: ChunkResult) -> None:
        """Take in one chunk.

        Args:
            tokens: the chunk's range in the document.
            result: for exactly these tokens.

        Raises:
            ModelMismatchError: shapes or values that no model of these rubrics gives.
        """
        first, last = tokens
        self._check(result, last - first)
        of_chunk = token_logits if self._scoring.kind == "relative" else token_scores
        self._sums[first:last] += of_chunk(result, self._scoring, self._names)
        self._counts[first:last] += 1
        if self._rubrics is not None and result.rubric_prob is not None:
            self._rubrics[first:last] += result.rubric_prob
        self._relevance = max(self._relevance, result.relevance)

    def merged(self) -> DocumentScores:
        """The averages; every token must have been in a chunk."""
        rubrics = None if self._rubrics is None else self._rubrics / self._counts[:, None]
        if self._scoring.kind == "relative":
            tokens = _combined(standardized(self._sums / self._counts[:, None]), self._scoring)
        else:
            tokens = self._sums / self._counts
        return DocumentScores(tokens, rubrics, self._relevance)

    def _check(self, result: ChunkResult, m: int) -> None:
        if result.keep.shape != (m,) or result.keep_prob.shape != (m,):
            raise ModelMismatchError(
                f"asked about {m} tokens, but keep has shape {list(result.keep.shape)} and keep_prob "
                f"{list(result.keep_prob.shape)}; the encoder and decoder served are not of this lamr"
            )
        expected = (m, len(self._names))
        if self.want_rubrics and (result.rubric_prob is None or result.rubric_prob.shape != expected):
            given = None if result.rubric_prob is None else list(result.rubric_prob.shape)
            raise ModelMismatchError(
                f"rubric_prob should have shape {list(expected)}, but is {given}; the served model has other rubrics "
                f"than {list(self._names)}"
            )
        finite = np.isfinite(result.relevance) and np.isfinite(result.keep_prob).all()
        if not finite or (self.want_rubrics and not np.isfinite(np.asarray(result.rubric_prob)).all()):
            raise ModelMismatchError(
                "the model answers NaN or infinity: its weights are broken; export it again"
            )
