"""Training examples: chunks as the client makes them, a label for every code token, and batches by a token budget.

A file gives its chunks that hold gold lines and a few that don't, hard ones first (those that share rare words with the
query). A set of examples is a few flat arrays, so it is one file and an epoch copies nothing. A batch holds sequences
of like length, because attention pads them to the longest. A seed and a step number determine the order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import torch
from lamr_base.private_files import replaced
from lamr_evaluation.records import Record
from lamr_model.encoding import Chunk, PromptEncoder
from lamr_model.query_truncation import Query
from lamr_model.scoring.evidence import lexical_views
from lamr_model.scoring.query_document import QueryDocument
from lamr_model.words import TermIndex, query_terms
from lamr_postprocess import SourceFile
from lamr_postprocess.layout import token_lines
from numpy.typing import NDArray
from torch import Tensor

from lamr_training.labels import label_lines

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
        return Batch(*(getattr(self, each.name).to(device) for each in fields(self)))


def batch_plan(
    lengths: NDArray[np.int64], groups: NDArray[np.int64], budget: int, seed: int
) -> list[NDArray[np.int64]]:
    """Cut one epoch into batches of at most `budget` tokens (a larger group goes alone). Shapes: `lengths` int64 `[N]`,
    `groups` int64 `[N]`."""
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


@dataclass(frozen=True)
class ChunkChoice:
    """How many chunks of a file are used."""

    positives: int = 2  # how many chunks with gold lines are used at most
    hard: float = 2.0  # how many hard negatives are drawn; 1.5 is one for sure and a second one half the time
    easy: float = 0.8  # how many negatives are drawn evenly from all, counted in the same way
    hardest: int = 4  # how many of the most similar chunks hard negatives are drawn from
    least_gold: int = 6  # the fewest semantic code tokens that make a chunk positive


HARD_CHOICE = ChunkChoice(positives=2, hard=2.0, easy=1.0, hardest=6)
"""Chunks that answer a real question, chunks that look as if they did, and a few of the rest."""


@dataclass(frozen=True, eq=False)
class EncodedRecord:
    """A record's chunks, and what is known of each of the n tokens of its document."""

    chunks: list[Chunk]  # the chunks that the client would send
    query_ids: IntArray  # int64 `[q]`, the query's tokens
    ids: IntArray  # int64 `[n]`, the document's tokens
    rubrics: NDArray[np.uint8]  # uint8 `[n, K]`, their labels
    evidence: NDArray[np.float32]  # float32 `[n]`, their lexical evidence


def distinct_files(records: Iterable[Record]) -> list[str]:
    """The text of each file that records ask about, once each, in their order."""
    return list({(record.project, record.path): record.code for record in records}.values())


def two_rubrics(record: Record) -> NDArray[np.uint8]:
    """The semantic and dependency labels of a record's lines, uint8 `[L, 2]`; its frame depends on the gold lines."""
    labels = label_lines(record.code, record.kept_frags, record.score)
    both = np.stack([labels.semantic, labels.dependency], axis=1).astype(np.uint8)
    both[np.array(record.frame, np.int64) - 1, 1] = 1
    return both


def encode_record(record: Record, encoder: PromptEncoder) -> EncodedRecord:
    """Tokenize and label a record."""
    by_line = two_rubrics(record)
    source = SourceFile(record.code, record.path)
    asked = QueryDocument.of(encoder, Query(record.query, record.task), source)
    line = token_lines(asked.offsets, source.layout)
    counts = TermIndex.of(source.body, source.layout).counts(query_terms(asked.query))
    views = lexical_views(counts, source.layout)
    evidence = views.mean()[line].astype(np.float32)
    return EncodedRecord(list(asked.chunks(encoder)), asked.query_ids, asked.ids, by_line[line], evidence)


def make_examples(
    records: Iterable[Record],
    encoder: PromptEncoder,
    rarity: NDArray[np.float32],
    *,
    choice: ChunkChoice | None = None,
    seed: int = 0,
) -> Iterator[Example]:
    """Yield the examples of all records, in their order. Shapes: `rarity` float32 `[V]`."""
    choice = choice or ChunkChoice()
    rng = np.random.default_rng(seed)
    for group, record in enumerate(records):
        encoded = encode_record(record, encoder)
        for number in _chosen(encoded, rarity, choice, rng):
            chunk = encoded.chunks[number]
            first, last = chunk.tokens
            labels = encoded.rubrics[first:last]
            relevance = record.score if labels[:, 0].sum() >= choice.least_gold else 0.0
            ids, evidence = chunk.input_ids.astype(np.int32), encoded.evidence[first:last]
            yield Example(ids, chunk.document_span, labels, relevance, evidence, group)


def _chosen(
    encoded: EncodedRecord, rarity: NDArray[np.float32], choice: ChunkChoice, rng: np.random.Generator
) -> list[int]:
    gold = np.array([encoded.rubrics[a:b, 0].sum() for a, b in (c.tokens for c in encoded.chunks)])
    positive = np.flatnonzero(gold >= choice.least_gold)
    negative = np.flatnonzero(gold == 0)
    chosen = rng.permutation(positive)[: choice.positives].tolist()
    if len(negative):
        query = np.unique(encoded.query_ids)
        likeness = [
            rarity[np.intersect1d(query, encoded.ids[c.tokens[0] : c.tokens[1]])].sum()
            for c in encoded.chunks
        ]
        hardest = negative[np.argsort(-np.array(likeness)[negative], kind="stable")][: choice.hardest]
        for pool, expected in ((hardest, choice.hard), (negative, choice.easy)):
            count = int(expected) + int(rng.random() < expected % 1)
            chosen += rng.permutation(pool)[:count].tolist()
    return list(dict.fromkeys(chosen))
