"""`ScoreMerger`: averages a model's outputs over the overlapping chunks of one document.

This module knows chunks' places in a document and checks that answers fit them; what the averaged values mean, its
callers know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from lamr_base.arrays import Float64Array
from lamr_base.errors import ModelMismatchError
from lamr_base.records import dataclass
from numpy.typing import NDArray

from lamr_model.model_io import ChunkResult

# Chunks of so many tokens wait to be added together: an array operation costs as much for one chunk as for ten.
_HELD_TOKENS = 4096


@dataclass(frozen=True, eq=False)
class Outputs:
    """A model's outputs for the m code tokens of one or several chunks, one chunk after another."""

    keep: NDArray[np.uint8]  # keep, keep_prob, rubric_prob: see `ChunkResult`
    keep_prob: NDArray[np.float32]
    rubric_prob: NDArray[np.float32] | None
    relevance: Float64Array  # [m], the relevance of each token's chunk

    @classmethod
    def of(cls, results: Sequence[ChunkResult]) -> Outputs:
        """Join results; `rubric_prob` is left out unless all of them have it."""
        rubrics = [result.rubric_prob for result in results if result.rubric_prob is not None]
        return cls(
            np.concatenate([result.keep for result in results]),
            np.concatenate([result.keep_prob for result in results]),
            np.concatenate(rubrics) if len(rubrics) == len(results) else None,
            np.repeat([float(result.relevance) for result in results], [len(each.keep) for each in results]),
        )


Values = Callable[[Outputs], NDArray[Any]]
"""Gives the values [m, F] of m tokens that are averaged."""


@dataclass(frozen=True, eq=False)
class Averages:
    """What is known of a document's n tokens, averaged over chunks."""

    values: Float64Array  # [n, F], the averages; 0 for tokens that no chunk held
    read: NDArray[np.bool_]  # [n], which tokens a chunk held
    relevances: tuple[float, ...]  # the relevance of each chunk, in the order of their arrival


class ScoreMerger:
    """Averages chunks as they arrive, in any order, in memory of the document's size."""

    def __init__(
        self, values: Values, width: int, rubrics: Sequence[str], tokens: int, *, want_rubrics: bool
    ) -> None:
        """Begin with no chunk."""
        self._values, self._names = values, tuple(rubrics) if want_rubrics else None
        # float64, so that sums don't depend visibly on the order of arrival.
        self._sums = zeros_by_column(tokens, width)
        self._spans: list[tuple[int, int]] = []
        self._waiting: list[ChunkResult] = []
        self._held = 0
        self._relevances: list[float] = []

    def add(self, tokens: tuple[int, int], result: ChunkResult) -> None:
        """Take in one chunk. Its values are looked at together with others', a few thousand tokens at a time. Raises
        `ModelMismatchError`: no model of these rubrics gives such shapes, or a value of this chunk or an earlier one
        is NaN or infinite."""
        first, last = tokens
        self._check_shapes(result, last - first)
        self._spans.append(tokens)
        self._waiting.append(result)
        self._held += last - first
        if self._held >= _HELD_TOKENS:
            self._add_waiting()

    def merged(self) -> Averages:
        """Return the averages over the chunks so far. Raises `ModelMismatchError`: a value is NaN or
        infinite."""
        self._add_waiting()
        counts = self._counts()
        held = np.maximum(counts, 1)[:, None]
        return Averages(self._sums / held, counts > 0, tuple(self._relevances))

    def _add_waiting(self) -> None:
        """Add what is waiting to the sums."""
        if not self._waiting:
            return
        results, spans = self._waiting, self._spans[-len(self._waiting) :]
        self._waiting, self._held = [], 0
        outputs = Outputs.of(results)
        _check_values(outputs)
        self._relevances += [float(result.relevance) for result in results]
        _add_spans(self._sums, spans, self._values(outputs))

    def _counts(self) -> NDArray[np.int64]:
        """Return how many chunks hold each token, int64 [n]."""
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
        if self._names is None:
            return
        expected = (m, len(self._names))
        if result.rubric_prob is None or result.rubric_prob.shape != expected:
            given = None if result.rubric_prob is None else list(result.rubric_prob.shape)
            raise ModelMismatchError(
                f"rubric_prob should have shape {list(expected)}, but is {given}; the served model has other rubrics "
                f"than {list(self._names)}"
            )


def zeros_by_column(rows: int, columns: int) -> Float64Array:
    """Return zeros [rows, columns] whose columns lie together in memory, because they are averaged one by one."""
    return np.zeros((columns, rows)).T


def _check_values(outputs: Outputs) -> None:
    values = (outputs.keep_prob, outputs.relevance, outputs.rubric_prob)
    if not all(value is None or np.isfinite(value).all() for value in values):
        raise ModelMismatchError("the model answers NaN or infinity: its weights are broken; export it again")


def _add_spans(sums: Float64Array, spans: Sequence[tuple[int, int]], values: NDArray[Any]) -> None:
    """Add values, one span's after another's, to their places in `sums`; spans may overlap."""
    begin = 0
    for first, last in spans:
        end = begin + last - first
        sums[first:last] += values[begin:end]
        begin = end
