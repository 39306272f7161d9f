"""From chunks' outputs to one score a token of the whole document.

Knows `Scoring` (which of a chunk's outputs count, and how) and overlaps; what a line or a block is, others know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from lamr_postprocess import line_scores_from_tokens
from numpy.typing import NDArray

from lamr_contract.blocks import with_blocks
from lamr_contract.errors import ModelMismatchError
from lamr_contract.layout import LineLayout
from lamr_contract.model_io import ChunkResult
from lamr_contract.names import KEEP_PROB, RELEVANCE
from lamr_contract.odds import logit, sigmoid
from lamr_contract.spec import ModelSpec, Scoring

# A file whose parts are all alike has no ranking to be blown up.
_SPREAD = 0.1
# Of chunks that wait to be added together: an array operation costs as much for one chunk as for ten.
_HELD_TOKENS = 4096


@dataclass(frozen=True, eq=False)
class Outputs:
    """A model's outputs for m code tokens of one or several chunks, one after another.

    Attributes:
        keep, keep_prob, rubric_prob: see `ChunkResult`.
        relevance: float64 [m], that of each token's chunk.
    """

    keep: NDArray[np.uint8]
    keep_prob: NDArray[np.float32]
    rubric_prob: NDArray[np.float32] | None
    relevance: NDArray[np.float64]

    @classmethod
    def of(cls, results: Sequence[ChunkResult]) -> Outputs:
        """Join results; all with `rubric_prob`, or it is left out."""
        rubrics = [result.rubric_prob for result in results if result.rubric_prob is not None]
        return cls(
            np.concatenate([result.keep for result in results]),
            np.concatenate([result.keep_prob for result in results]),
            np.concatenate(rubrics) if len(rubrics) == len(results) else None,
            np.repeat([float(result.relevance) for result in results], [len(each.keep) for each in results]),
        )


def token_scores(outputs: Outputs, scoring: Scoring, rubrics: Sequence[str]) -> NDArray[np.float64]:
    """Scores float64 [m] in [0, 1] of code tokens, for a scoring that needs no other chunk.

    Args:
        outputs: with `rubric_prob` if `scoring` gives a rubric weight.
        scoring: `paper` takes Viterbi's decisions (paper section 3.4); `calibrated` see `Scoring`.
        rubrics: names, in the order of the K axis.
    """
    if scoring.kind == "paper":
        return outputs.keep.astype(np.float64)
    return _combined(token_logits(outputs, scoring, rubrics), scoring)


def _by_column(rows: int, columns: int) -> NDArray[np.float64]:
    """Zeros [rows, columns] whose columns lie together in memory: they are averaged and weighed one by one."""
    return np.zeros((columns, rows)).T


def token_logits(outputs: Outputs, scoring: Scoring, rubrics: Sequence[str]) -> NDArray[np.float64]:
    """The log-odds float64 [m, F] of the outputs that a scoring weighs, in the order of its weights."""
    columns = _by_column(len(outputs.keep), len(scoring.weights))
    for place, name in enumerate(scoring.weights):
        if name == KEEP_PROB:
            columns[:, place] = logit(outputs.keep_prob)
        elif name == RELEVANCE:
            columns[:, place] = logit(outputs.relevance)
        else:
            assert outputs.rubric_prob is not None
            columns[:, place] = logit(outputs.rubric_prob[:, rubrics.index(name)])
    return columns


def standardized(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each column of a document's log-odds [n, F], less its mean, in units of its spread (of at least `_SPREAD`)."""
    if not len(logits):
        return logits
    centred = logits - np.add.reduce(logits, axis=0) / len(logits)
    spread = np.sqrt(np.add.reduce(centred * centred, axis=0) / len(logits))
    scaled: NDArray[np.float64] = centred / (spread + _SPREAD)
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
    return smoothed(line_scores_from_tokens(tokens, offsets, text), layout, scoring)


def smoothed(lines: NDArray[np.float32], layout: LineLayout, scoring: Scoring) -> NDArray[np.float32]:
    """Means over tokens float32 [L] with the part of their blocks that a scoring gives them."""
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
        relative = scoring.kind == "relative"
        self._sums = _by_column(tokens, len(scoring.weights)) if relative else np.zeros(tokens)
        self._rubrics = _by_column(tokens, len(rubrics)) if self.want_rubrics else None
        self._spans: list[tuple[int, int]] = []
        self._waiting: list[ChunkResult] = []
        self._held = 0
        self._relevance = 0.0

    def add(self, tokens: tuple[int, int], result: ChunkResult) -> None:
        """Take in one chunk. Its values are looked at with others', when some thousand tokens have come together.

        Args:
            tokens: the chunk's range in the document.
            result: for exactly these tokens.

        Raises:
            ModelMismatchError: shapes that no model of these rubrics gives; or values, of this or an earlier chunk.
        """
        first, last = tokens
        self._check_shapes(result, last - first)
        self._spans.append(tokens)
        self._waiting.append(result)
        self._held += last - first
        if self._held >= _HELD_TOKENS:
            self._take()

    def merged(self) -> DocumentScores:
        """The averages; every token must have been in a chunk.

        Raises:
            ModelMismatchError: values that no model gives.
        """
        self._take()
        counts = self._counts()
        rubrics = None if self._rubrics is None else self._rubrics / counts[:, None]
        if self._scoring.kind == "relative":
            tokens = _combined(standardized(self._sums / counts[:, None]), self._scoring)
        else:
            tokens = self._sums / counts
        return DocumentScores(tokens, rubrics, self._relevance)

    def _take(self) -> None:
        """Add what is waiting to the sums."""
        if not self._waiting:
            return
        results, spans = self._waiting, self._spans[-len(self._waiting) :]
        self._waiting, self._held = [], 0
        outputs = Outputs.of(results)
        _check_values(outputs)
        self._relevance = max(self._relevance, *(result.relevance for result in results))
        of_chunk = token_logits if self._scoring.kind == "relative" else token_scores
        _add_spans(self._sums, spans, of_chunk(outputs, self._scoring, self._names))
        if self._rubrics is not None and outputs.rubric_prob is not None:
            _add_spans(self._rubrics, spans, outputs.rubric_prob.astype(np.float64, order="F"))

    def _counts(self) -> NDArray[np.int64]:
        """How many chunks hold each token [n]."""
        spans = np.array(self._spans, np.int64).reshape(-1, 2)
        n = len(self._sums)
        changes = np.bincount(spans[:, 0], minlength=n + 1) - np.bincount(spans[:, 1], minlength=n + 1)
        counts: NDArray[np.int64] = np.cumsum(changes)[:n]
        return counts

    def _check_shapes(self, result: ChunkResult, m: int) -> None:
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


def _check_values(outputs: Outputs) -> None:
    values = (outputs.keep_prob, outputs.relevance, outputs.rubric_prob)
    if not all(value is None or np.isfinite(value).all() for value in values):
        raise ModelMismatchError("the model answers NaN or infinity: its weights are broken; export it again")


def _add_spans(
    sums: NDArray[np.float64], spans: Sequence[tuple[int, int]], values: NDArray[np.float64]
) -> None:
    """Add values, those of one span after those of another, to their places in `sums`; spans may overlap."""
    begin = 0
    for first, last in spans:
        end = begin + last - first
        sums[first:last] += values[begin:end]
        begin = end
