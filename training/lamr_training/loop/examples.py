"""Turns records into training examples: chunks as the client makes them, with a label for every code token.

A file gives its chunks that hold gold lines and a few that don't, hard ones first (those that share rare words with the
query), so that compute goes where something can be learned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from lamr_evaluation.records import Record
from lamr_model.encoding import Chunk, PromptEncoder
from lamr_model.query_truncation import Query
from lamr_model.scoring.evidence import lexical_views
from lamr_model.scoring.query_document import QueryDocument
from lamr_model.words import TermIndex, query_terms
from lamr_postprocess import SourceFile
from lamr_postprocess.layout import token_lines
from numpy.typing import NDArray

from lamr_training.labels.rubrics import label_lines
from lamr_training.loop.example_set import Example

IntArray = NDArray[np.int64]


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
    """Yield the examples of all records, in their order.

    Args:
        records: the records; each is a group of its own.
        encoder: the prompt encoder of the model that is to be trained.
        rarity: float32 `[V]`, the rarity of each token, by which chunks are compared with the query.
        choice: how many chunks of a file are used.
        seed: the seed of the choice of chunks.
    """
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
    """The numbers of the chunks that are used, without repeats."""
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
