"""What a model says of whole files, and how well their lines are then ranked and selected.

The model is asked once about each file; to try a scoring then costs little. Line scores come from `lamr_model`'s
`DocumentScorer`, which also serves them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from lamr_evaluation.metrics import recall_curve
from lamr_evaluation.records import Record
from lamr_model.encoding import PromptEncoder
from lamr_model.model_io import ChunkRequest, ChunkResult
from lamr_model.query_truncation import Query
from lamr_model.scoring.query_document import QueryDocument
from lamr_model.scoring.scorer import DocumentScorer, Scorer
from lamr_postprocess import SourceFile, prune_lines
from numpy.typing import NDArray

Ask = Callable[[Sequence[ChunkRequest]], Sequence[ChunkResult]]


@dataclass(frozen=True, eq=False)
class ScoredFile:
    """A model's answers about one whole file."""

    record: Record  # query, code and gold lines
    asked: QueryDocument  # the file as a client prepares it
    ranges: list[tuple[int, int]]  # each chunk's token range in the file
    results: Sequence[ChunkResult]  # each chunk's outputs

    def finished(self, scorer: Scorer, chunks: Iterable[int] | None = None) -> DocumentScorer:
        """Return what has taken in the answers about the file, or those about some of its chunks."""
        document = DocumentScorer(scorer, self.asked)
        for chunk in range(len(self.results)) if chunks is None else chunks:
            document.add(self.ranges[chunk], self.results[chunk])
        return document

    def line_scores(self, scorer: Scorer) -> NDArray[np.float32]:
        """Return the scores float32 [L] that a client computes for the file."""
        return self.finished(scorer).finish().scores

    def unread(self, scorer: Scorer) -> DocumentScorer:
        """Return what has taken in no answer about the file."""
        return DocumentScorer(scorer, self.asked)


@dataclass(frozen=True)
class ScoringReport:
    """How well a scoring ranks and selects: means over files with gold lines."""

    recall_25: float  # figures of the ranking of inked lines
    recall_50: float
    area: float
    recall: float  # figures of the selection at a threshold, before any repair
    kept: float


def score_files(ask: Ask, encoder: PromptEncoder, records: Iterable[Record]) -> list[ScoredFile]:
    """Ask a model about whole files."""
    files = []
    for record in records:
        asked = asked_document(encoder, record)
        requests, ranges = requests_of(encoder, asked)
        if requests:
            files.append(ScoredFile(record, asked, ranges, ask(requests)))
    return files


def asked_document(encoder: PromptEncoder, record: Record) -> QueryDocument:
    """Return a record's file and query as a client prepares them."""
    return QueryDocument.of(encoder, Query(record.query, record.task), SourceFile(record.code, record.path))


def requests_of(
    encoder: PromptEncoder, asked: QueryDocument
) -> tuple[list[ChunkRequest], list[tuple[int, int]]]:
    """Return what a client asks about a document: the requests, and each one's token range."""
    chunks = list(asked.chunks(encoder))
    requests = [ChunkRequest(c.input_ids, c.document_span, want_rubrics=True) for c in chunks]
    return requests, [c.tokens for c in chunks]


def compare(files: Sequence[ScoredFile], scorer: Scorer, threshold: float) -> ScoringReport:
    """Measure how well a scorer ranks and selects."""
    rows = []
    for file in files:
        gold, counted = file.record.gold, file.record.counted
        if not (gold & counted).any():
            continue
        scores = file.line_scores(scorer)
        curve = recall_curve(scores, gold, counted)
        kept = (scores >= threshold) & counted
        quarter, half = curve.at([0.25, 0.5])
        recall = (kept & gold).sum() / (gold & counted).sum()
        rows.append((quarter, half, curve.area, recall, kept.sum() / counted.sum()))
    return ScoringReport(*(round(float(value), 4) for value in np.mean(rows, axis=0)))


def selection(
    files: Sequence[ScoredFile], scorer: Scorer, threshold: float, *, read: bool = True
) -> tuple[float, float]:
    """Return means of what pruning keeps, repair included: recall (of files that hold an answer), share of lines."""
    recalls, shares = [], []
    for file in files:
        gold, inked = file.record.gold, file.record.counted
        lines = (file.finished(scorer) if read else file.unread(scorer)).finish()
        pruned = prune_lines(
            file.record.code,
            lines.scores,
            path=file.record.path or None,
            answering=lines.adapted(threshold),
        )
        kept = np.zeros(len(inked), np.bool_)
        kept[np.array(pruned.kept_lines, np.int64) - 1] = True
        kept &= inked
        shares.append(kept.sum() / max(1, inked.sum()))
        if (gold & inked).any():
            recalls.append((kept & gold).sum() / (gold & inked).sum())
    return float(np.mean(recalls)), float(np.mean(shares))
