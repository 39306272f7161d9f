"""Examples in flat arrays, so that a set is one file and an epoch copies nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from lamr_contract.private_files import replaced
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Example:
    """One chunk with its labels.

    Attributes:
        input_ids: int32 `[t]`.
        span: the first and one-past-last code token.
        rubrics: uint8 `[m, K]`, the label of each code token by each rubric: semantic, dependency.
        relevance: what the relevance head should say: the document's score if the chunk holds gold lines, else 0.
        evidence: float32 `[m]`, the lexical evidence of each code token, which a pruner adds to what the model says.
        group: chunks of one group compete with each other; they are of one file and asked for the same.
    """

    input_ids: NDArray[np.int32]
    span: tuple[int, int]
    rubrics: NDArray[np.uint8]
    relevance: float
    evidence: NDArray[np.float32]
    group: int = 0


_SAVED = ("ids", "rubrics", "starts", "spans", "relevance", "groups", "evidence")


@dataclass(frozen=True, eq=False)
class ExampleSet:
    """N examples of T tokens in all.

    Attributes:
        ids: int32 `[T]`, all sequences end to end.
        rubrics: uint8 `[T, K]`, 0 outside the code.
        starts: int64 `[N + 1]`, where each sequence starts and the last one ends.
        spans: int64 `[N, 2]`, the first and one-past-last code token within each sequence.
        relevance: float32 `[N]`.
        groups: int64 `[N]`, ascending.
        evidence: float16 `[T]`, lexical evidence, 0 outside the code.
        aggregate: uint8 `[T]`, the label of the fused decision; None for the union of the rubrics. It isn't saved.
    """

    ids: NDArray[np.int32]
    rubrics: NDArray[np.uint8]
    starts: IntArray
    spans: IntArray
    relevance: NDArray[np.float32]
    groups: IntArray
    evidence: NDArray[np.float16]
    aggregate: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.relevance)

    @property
    def lengths(self) -> IntArray:
        """The number of tokens of each sequence, int64 `[N]`."""
        return np.diff(self.starts)

    @classmethod
    def of(cls, examples: Sequence[Example]) -> ExampleSet:
        """Lay examples end to end."""
        starts = np.concatenate([[0], np.cumsum([len(e.input_ids) for e in examples])]).astype(np.int64)
        rubrics = np.zeros((starts[-1], examples[0].rubrics.shape[1] if examples else 2), np.uint8)
        evidence = np.zeros(starts[-1], np.float16)
        for start, example in zip(starts, examples, strict=False):
            code = slice(start + example.span[0], start + example.span[1])
            rubrics[code], evidence[code] = example.rubrics, example.evidence
        ids = np.concatenate([e.input_ids for e in examples]) if examples else np.zeros(0, np.int32)
        spans = np.array([e.span for e in examples], np.int64).reshape(-1, 2)
        relevance = np.array([e.relevance for e in examples], np.float32)
        groups = np.array([e.group for e in examples], np.int64)
        return cls(ids, rubrics, starts, spans, relevance, groups, evidence)

    def save(self, path: Path) -> None:
        """Write one `.npz`, which appears when it is whole."""
        with replaced(path) as part, part.open("wb") as stream:
            np.savez(stream, **{name: getattr(self, name) for name in _SAVED})

    @classmethod
    def load(cls, path: Path) -> ExampleSet:
        """Read what `save` wrote."""
        with np.load(path) as data:
            return cls(*(data[name] for name in _SAVED))
