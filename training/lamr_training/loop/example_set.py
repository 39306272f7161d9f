"""Examples in flat arrays, so that a set is one file and an epoch copies nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Example:
    """One chunk with its labels."""

    input_ids: NDArray[np.int32]  # int32 `[t]`
    span: tuple[int, int]  # the first and one-past-last code token
    rubrics: NDArray[np.uint8]  # uint8 `[m, K]`
    relevance: float
    evidence: NDArray[np.float32]  # float32 `[m]`, the lexical evidence of each code token
    group: int = 0  # chunks of one group compete with each other; they are of one file and asked for the same


_SAVED = ("ids", "rubrics", "starts", "spans", "relevance", "groups", "evidence")


@dataclass(frozen=True, eq=False)
class ExampleSet:
    """N examples of T tokens in all."""

    ids: NDArray[np.int32]  # int32 `[T]`, all sequences end to end
    rubrics: NDArray[np.uint8]  # uint8 `[T, K]`, 0 outside the code
    starts: IntArray  # int64 `[N + 1]`, where each sequence starts and the last one ends
    spans: IntArray  # int64 `[N, 2]`, the first and one-past-last code token within each sequence
    relevance: NDArray[np.float32]  # float32 `[N]`
    groups: IntArray  # int64 `[N]`, ascending
    evidence: NDArray[np.float16]  # float16 `[T]`, lexical evidence, 0 outside the code

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
        part = path.with_name(path.name + ".part")
        with part.open("wb") as stream:
            np.savez(stream, **{name: getattr(self, name) for name in _SAVED})
        part.replace(path)

    @classmethod
    def load(cls, path: Path) -> ExampleSet:
        """Read what `save` wrote."""
        with np.load(path) as data:
            return cls(*(data[name] for name in _SAVED))
