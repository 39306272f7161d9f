"""Examples in flat arrays, so that a set is one file and an epoch copies nothing; and batches by a token budget.

A batch holds sequences of like length, because attention pads them to the longest. A seed and a step number determine
the order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import torch
from lamr_base.private_files import replaced
from numpy.typing import NDArray
from torch import Tensor

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
        with replaced(path) as part, part.open("wb") as stream:
            np.savez(stream, **{name: getattr(self, name) for name in _SAVED})

    @classmethod
    def load(cls, path: Path) -> ExampleSet:
        """Read what `save` wrote."""
        with np.load(path) as data:
            return cls(*(data[name] for name in _SAVED))


_NEAR = 32  # batches' worth of groups that are sorted by their mean length together


@dataclass(frozen=True, eq=False)
class Batch:
    """A packed batch of B chunks with T tokens, C of which are code."""

    input_ids: Tensor  # int64 `[T]`, all chunks end to end
    cu_seqlens: Tensor  # int32 `[B + 1]`, where each chunk starts and the last one ends
    max_len: Tensor  # float32 `[L]`, L tokens being the longest chunk; only the shape counts
    code: Tensor  # int64 `[C]`, the places of the code tokens in `[T]`
    code_cu_seqlens: Tensor  # int32 `[B + 1]`
    labels: Tensor  # int64 `[C, K]`, the rubrics' labels
    relevance: Tensor  # float32 `[B]`, what the relevance head should say
    groups: Tensor  # int64 `[B]`, the same for chunks that compete with each other
    evidence: Tensor  # float32 `[C]`, lexical evidence

    def to(self, device: torch.device) -> Batch:
        """The batch on another device."""
        return Batch(*(getattr(self, each.name).to(device) for each in fields(self)))


def batch_plan(
    lengths: NDArray[np.int64], groups: NDArray[np.int64], budget: int, seed: int
) -> list[NDArray[np.int64]]:
    """Cut one epoch into batches of at most `budget` tokens (a larger group goes alone).

    Args:
        lengths: int64 `[N]`, the number of tokens of each example.
        groups: int64 `[N]`, ascending; the examples of one group stay in one batch.
        budget: how many tokens a batch may hold.
        seed: the seed of the order; give each epoch its own.

    Returns:
        For each batch the numbers of its examples.
    """
    if not len(lengths):
        return []
    rng = np.random.default_rng(seed)
    bounds = np.concatenate([[0], np.flatnonzero(np.diff(groups)) + 1, [len(groups)]])
    sums = np.add.reduceat(lengths, bounds[:-1])
    means = sums / np.diff(bounds)
    order = rng.permutation(len(sums))
    size = max(1, int(_NEAR * budget / sums.mean()))
    batches: list[NDArray[np.int64]] = []
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        chosen = chosen[np.argsort(means[chosen], kind="stable")]
        totals = np.cumsum(sums[chosen])
        first = 0
        while first < len(chosen):
            used = totals[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(totals, used + budget, "right")))
            batches.append(np.concatenate([np.arange(bounds[g], bounds[g + 1]) for g in chosen[first:last]]))
            first = last
    return [batches[i] for i in rng.permutation(len(batches))]


def epochs(data: ExampleSet, budget: int, seed: int, skip: int = 0) -> Iterator[NDArray[np.int64]]:
    """Yield the batches of all epochs, endlessly, but for the first `skip`, which a resumed run has done already."""
    epoch = 0
    while True:
        plan = batch_plan(data.lengths, data.groups, budget, seed + epoch)
        epoch += 1
        if skip >= len(plan):
            skip -= len(plan)
            continue
        yield from plan[skip:]
        skip = 0


def make_batch(data: ExampleSet, chosen: NDArray[np.int64]) -> Batch:
    """Lay the chosen examples end to end."""
    starts, lengths = data.starts[chosen], data.lengths[chosen]
    cu_seqlens = np.concatenate([[0], np.cumsum(lengths)])
    places = np.repeat(starts - cu_seqlens[:-1], lengths) + np.arange(cu_seqlens[-1])
    spans = data.spans[chosen]
    sizes = spans[:, 1] - spans[:, 0]
    code_cu = np.concatenate([[0], np.cumsum(sizes)])
    code = np.repeat(cu_seqlens[:-1] + spans[:, 0] - code_cu[:-1], sizes) + np.arange(code_cu[-1])
    labels = data.rubrics[places[code]].astype(np.int64)
    return Batch(
        input_ids=torch.from_numpy(data.ids[places].astype(np.int64)),
        cu_seqlens=torch.from_numpy(cu_seqlens.astype(np.int32)),
        max_len=torch.zeros(int(lengths.max())),
        code=torch.from_numpy(code),
        code_cu_seqlens=torch.from_numpy(code_cu.astype(np.int32)),
        labels=torch.from_numpy(labels),
        relevance=torch.from_numpy(data.relevance[chosen]),
        groups=torch.from_numpy(data.groups[chosen]),
        evidence=torch.from_numpy(data.evidence[places[code]].astype(np.float32)),
    )
