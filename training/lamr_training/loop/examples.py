"""Turns records into training examples: chunks as the client makes them, with a label for every code token.

A file gives its chunks that hold gold lines and a few that don't, hard ones first (those that share rare words with
the query), so that compute goes where something can be learned. Knows records, labels and the client's encoder; knows
no model and no batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from lamr_contract.document_scorer import QueriedDocument
from lamr_contract.encoding import Chunk, PromptEncoder
from lamr_contract.errors import InvalidInputError
from lamr_evaluation.records import Record
from numpy.typing import NDArray

from lamr_training.labels.rubrics import LabelSettings, label_lines

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Example:
    """One chunk with its labels.

    Attributes:
        input_ids: int32 `[t]`.
        span: first and one-past-last code token.
        rubrics: uint8 `[m, K]`, label of each code token by each rubric: semantic, dependency.
        relevance: what the relevance head should say: the document's score if the chunk holds evidence, else 0.
        evidence: float32 `[m]`, lexical evidence of each code token, which a pruner adds to what the model says.
        group: chunks of one group compete with each other: they are of one file and asked for the same.
    """

    input_ids: NDArray[np.int32]
    span: tuple[int, int]
    rubrics: NDArray[np.uint8]
    relevance: float
    evidence: NDArray[np.float32]
    group: int = 0


@dataclass(frozen=True)
class ChunkChoice:
    """How many chunks of a file are used.

    Attributes:
        positives: most chunks with gold lines.
        hard: chances of a hard negative, one after another (1.5 is one for sure and a second half the time).
        easy: the same for negatives drawn evenly.
        hardest: hard negatives are drawn from so many of the most similar chunks.
        least_gold: fewest gold code tokens that make a chunk positive.
    """

    positives: int = 2
    hard: float = 2.0
    easy: float = 0.8
    hardest: int = 4
    least_gold: int = 6


@dataclass(frozen=True, eq=False)
class EncodedRecord:
    """A record's chunks and, for each token of its document, id, labels and lexical evidence."""

    chunks: list[Chunk]
    query_ids: IntArray
    ids: IntArray
    rubrics: NDArray[np.uint8]
    evidence: NDArray[np.float32]


LineLabels = Callable[[Record, LabelSettings], NDArray[np.uint8]]
"""Labels of a record's lines `[L, K]`, the first column evidence."""


def two_rubrics(record: Record, settings: LabelSettings) -> NDArray[np.uint8]:
    """Semantic and dependency labels, `[L, 2]`."""
    labels = label_lines(record.code, record.kept_frags, record.score, settings)
    return np.stack([labels.semantic, labels.dependency], axis=1).astype(np.uint8)


def encode_record(
    record: Record, encoder: PromptEncoder, settings: LabelSettings, label: LineLabels = two_rubrics
) -> EncodedRecord | None:
    """Tokenize and label a record; None if its query doesn't fit the window."""
    by_line = label(record, settings)
    query = encoder.encode_query(record.query)
    ids, offsets = encoder.encode_document(record.code)
    document = QueriedDocument(record.query, record.code, offsets)
    try:
        chunks = list(encoder.iter_chunks(query, ids, offsets, record.code, layout=document.layout))
    except InvalidInputError:
        return None
    line = token_lines(offsets, document.layout.spans)
    return EncodedRecord(chunks, query, ids, by_line[line], document.evidence.astype(np.float32))


def token_lines(offsets: IntArray, spans: IntArray) -> IntArray:
    """The 0-based line of each token, int64 `[n]`: the line of the token's last character.

    A token of a line end and the indentation after it therefore belongs to the line that it opens.

    Args:
        offsets: int64 `[n, 2]`, first and one-past-last character of each token.
        spans: int64 `[L, 2]`, the characters of each line (`lamr_postprocess.lines`).
    """
    last = np.maximum(offsets[:, 1] - 1, 0)
    return np.searchsorted(spans[:, 0], last, side="right") - 1


def make_examples(  # noqa: PLR0913 - keywords with defaults
    records: Iterable[Record],
    encoder: PromptEncoder,
    rarity: NDArray[np.float32],
    *,
    choice: ChunkChoice | None = None,
    settings: LabelSettings | None = None,
    label: LineLabels = two_rubrics,
    seed: int = 0,
) -> Iterator[Example]:
    """Examples of all records, in their order; records whose query doesn't fit are passed over."""
    choice, settings = choice or ChunkChoice(), settings or LabelSettings()
    rng = np.random.default_rng(seed)
    for group, record in enumerate(records):
        encoded = encode_record(record, encoder, settings, label)
        if encoded is None:
            continue
        for number in _chosen(encoded, rarity, choice, rng):
            chunk = encoded.chunks[number]
            first, last = chunk.tokens
            labels = encoded.rubrics[first:last]
            relevant = record.score if labels[:, 0].sum() >= choice.least_gold else 0.0
            ids, evidence = chunk.input_ids.astype(np.int32), encoded.evidence[first:last]
            yield Example(ids, chunk.document_span, labels, relevant, evidence, group)


def _chosen(
    encoded: EncodedRecord, rarity: NDArray[np.float32], choice: ChunkChoice, rng: np.random.Generator
) -> list[int]:
    gold = np.array([encoded.rubrics[a:b, 0].sum() for a, b in (c.tokens for c in encoded.chunks)])
    positive = np.flatnonzero(gold >= choice.least_gold)
    negative = np.flatnonzero(gold == 0)
    chosen = rng.permutation(positive)[: choice.positives].tolist()
    if len(negative):
        asked = np.unique(encoded.query_ids)
        likeness = [
            rarity[np.intersect1d(asked, encoded.ids[c.tokens[0] : c.tokens[1]])].sum()
            for c in encoded.chunks
        ]
        hardest = negative[np.argsort(-np.array(likeness)[negative], kind="stable")][: choice.hardest]
        for pool, expected in ((hardest, choice.hard), (negative, choice.easy)):
            count = int(expected) + int(rng.random() < expected % 1)
            chosen += rng.permutation(pool)[:count].tolist()
    return list(dict.fromkeys(chosen))


_SAVED = ("ids", "rubrics", "starts", "spans", "relevance", "groups", "evidence")


class ExampleSet:
    """Examples in flat arrays, so that a set is one `.npz` and an epoch copies nothing."""

    def __init__(  # noqa: PLR0913, PLR0917 - one argument an array
        self,
        ids: NDArray[np.int32],
        rubrics: NDArray[np.uint8],
        starts: IntArray,
        spans: IntArray,
        relevance: NDArray[np.float32],
        groups: IntArray,
        evidence: NDArray[np.float16],
        aggregate: NDArray[np.uint8] | None = None,
    ) -> None:
        """Args:
        ids: `[T]`, all sequences end to end.
        rubrics: `[T, K]`, 0 outside the code.
        starts: `[N + 1]`.
        spans: `[N, 2]`, of the code within each sequence.
        relevance: `[N]`.
        groups: `[N]`, ascending.
        evidence: `[T]`, 0 outside the code.
        aggregate: `[T]`, label of the fused decision; by default the union of the rubrics. Isn't saved.
        """
        self.ids, self.rubrics, self.starts, self.spans = ids, rubrics, starts, spans
        self.relevance, self.groups = relevance, groups
        self.evidence, self.aggregate = evidence, aggregate

    def __len__(self) -> int:
        return len(self.relevance)

    @property
    def lengths(self) -> IntArray:
        """Tokens of each sequence, `[N]`."""
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
