"""Fits a model's `Scoring` (how its outputs become line scores) on whole files of validation projects.

The model is asked once about each file; to try a scoring then costs little. Line scores come from the contract's
`DocumentScorer`, which also serves them. This module knows records, answers and scorings; it trains no weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from lamr_contract.encoding import PromptEncoder
from lamr_contract.layout import line_layout
from lamr_contract.model_io import ChunkRequest, ChunkResult
from lamr_contract.scoring.named_lines import named_lines
from lamr_contract.scoring.rules import BLOCK, LEXICAL, RELEVANCE, SEMANTIC, Scoring
from lamr_contract.scoring.scorer import DocumentScorer, QueriedDocument
from lamr_evaluation.metrics import recall_curve
from lamr_evaluation.records import Record
from lamr_postprocess import prune_lines, split_lines
from numpy.typing import NDArray

from lamr_training.recipes.keep_bias import bisect

Ask = Callable[[Sequence[ChunkRequest]], Sequence[ChunkResult]]

GRID = {
    RELEVANCE: (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0),
    LEXICAL: (0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0),
    BLOCK: (0.0, 0.15, 0.3, 0.45, 0.6, 0.75),
}
"""The values that are tried for each weight of a scoring."""
ASKED_SHARE = 0.34
"""The share of the lines that is kept for a question on average, repair included."""
NAMED_ODDS = 4.0
"""What the log-odds of a line gain whose number the query names. From 2 to 6 ranks are alike, and too few files have
such a query to fit it closer (docs/lab/lamr-mini.md)."""
START = Scoring("relative", {SEMANTIC: 1.0, RELEVANCE: 1.0, LEXICAL: 4.0, BLOCK: 0.3})
"""The scoring that a fit begins with."""


@dataclass(frozen=True, eq=False)
class ScoredFile:
    """A model's answers about one whole file.

    Attributes:
        record: query, code and gold lines.
        ranges: each chunk's token range in the file.
        results: each chunk's outputs.
        document: the file's lines and what they share with the query.
    """

    record: Record
    ranges: list[tuple[int, int]]
    results: Sequence[ChunkResult]
    document: QueriedDocument

    def scorer(self, scoring: Scoring, rubrics: Sequence[str]) -> DocumentScorer:
        """Return a scorer that has all answers about the file."""
        scorer = DocumentScorer(scoring, rubrics, self.document)
        for tokens, result in zip(self.ranges, self.results, strict=True):
            scorer.add(tokens, result)
        return scorer

    def line_scores(self, scoring: Scoring, rubrics: Sequence[str]) -> NDArray[np.float32]:
        """Return the scores float32 [L] that a client computes for the file."""
        return self.scorer(scoring, rubrics).finish().scores

    def features(self, names: Sequence[str], rubrics: Sequence[str]) -> NDArray[np.float64]:
        """Return features of the file's lines by their names, float64 [L, F] (`lamr_contract.scoring.features`)."""
        return self.scorer(Scoring("lines", dict.fromkeys(names, 0.0)), rubrics).features().matrix(names)

    def gold(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which lines answer the query and which lines count (hold ink), bool [L] each."""
        lines = split_lines(self.record.code)
        gold = np.zeros(len(lines), np.bool_)
        gold[np.array(self.record.kept_frags, np.int64) - 1] = True
        return gold, np.array([bool(line.strip()) for line in lines], np.bool_)


@dataclass(frozen=True)
class ScoringReport:
    """How well a scoring ranks and selects: means over files with gold lines.

    Attributes:
        recall_25, recall_50, area: figures of the ranking of inked lines.
        recall, kept: figures of the selection at a threshold, before any repair.
    """

    recall_25: float
    recall_50: float
    area: float
    recall: float
    kept: float


def score_files(ask: Ask, encoder: PromptEncoder, records: Iterable[Record]) -> list[ScoredFile]:
    """Ask a model about whole files.

    Args:
        ask: gives the answers to requests in their order, as `LocalModel.infer_many` does.
        encoder: the model's encoder.
        records: the files and their queries.
    """
    files = []
    for record in records:
        requests, ranges, document = requests_of(encoder, record)
        if requests:
            files.append(ScoredFile(record, ranges, ask(requests), document))
    return files


def requests_of(
    encoder: PromptEncoder, record: Record
) -> tuple[list[ChunkRequest], list[tuple[int, int]], QueriedDocument]:
    """Return what a client asks about a record's file: the requests, each one's token range, and the document."""
    ids, offsets = encoder.encode_document(record.code)
    reading, layout = encoder.read_query(record.query, record.task, record.code), line_layout(record.code)
    chunks = encoder.chunk(encoder.encode_query(reading.text), ids, offsets, record.code)
    requests = [ChunkRequest(c.input_ids, c.document_span, want_rubrics=True) for c in chunks]
    return (
        requests,
        [c.tokens for c in chunks],
        QueriedDocument(
            reading.text,
            record.code,
            offsets,
            layout=layout,
            path=record.path,
            associations=encoder.associations,
            named=named_lines(record.words, record.path, len(layout.spans)),
        ),
    )


def compare(
    files: Sequence[ScoredFile], scoring: Scoring, rubrics: Sequence[str], threshold: float
) -> ScoringReport:
    """Measure how well a scoring ranks and selects."""
    rows = []
    for file in files:
        gold, counted = file.gold()
        if not (gold & counted).any():
            continue
        scores = file.line_scores(scoring, rubrics)
        curve = recall_curve(scores, gold, counted)
        kept = (scores >= threshold) & counted
        quarter, half = curve.at([0.25, 0.5])
        recall = (kept & gold).sum() / (gold & counted).sum()
        rows.append((quarter, half, curve.area, recall, kept.sum() / counted.sum()))
    return ScoringReport(*(round(float(value), 4) for value in np.mean(rows, axis=0)))


def fit_scoring(
    files: Sequence[ScoredFile], rubrics: Sequence[str], *, threshold: float = 0.4, kept: float = ASKED_SHARE
) -> Scoring:
    """Fit the weights to the best ranking, out of `GRID`, and then the bias to the share of lines to keep.

    Weights are tried one after another, each with the best found of the others, in two rounds. The semantic weight
    stays 1, because ranks depend on ratios only. A ranking is as good as its area and its recall at a quarter kept.

    Args:
        files: from `score_files`.
        rubrics: the names of the model's rubrics.
        threshold: the model's threshold.
        kept: share of the inked lines that pruning at the threshold keeps on average, repair included.
    """
    best = START
    goodness = _goodness(files, best, rubrics)
    for _ in range(2):
        for name, values in GRID.items():
            for value in values:
                trial = replace(best, weights={**best.weights, name: value})
                worth = _goodness(files, trial, rubrics)
                if worth > goodness:
                    best, goodness = trial, worth
    return with_kept_share(files, best, rubrics, threshold, kept)


def _goodness(files: Sequence[ScoredFile], scoring: Scoring, rubrics: Sequence[str]) -> float:
    report = compare(files, scoring, rubrics, 0.5)
    return report.area + report.recall_25


def selection(
    files: Sequence[ScoredFile], scoring: Scoring, rubrics: Sequence[str], threshold: float
) -> tuple[float, float]:
    """Return means of what pruning keeps, repair included: recall (of files that hold an answer), share of lines."""
    recalls, shares = [], []
    for file in files:
        gold, inked = file.gold()
        lines = file.scorer(scoring, rubrics).finish()
        pruned = prune_lines(
            file.record.code,
            lines.scores,
            path=file.record.path or None,
            threshold=lines.adapted(threshold),
        )
        kept = np.zeros(len(inked), np.bool_)
        kept[np.array(pruned.kept_lines, np.int64) - 1] = True
        kept &= inked
        shares.append(kept.sum() / max(1, inked.sum()))
        if (gold & inked).any():
            recalls.append((kept & gold).sum() / (gold & inked).sum())
    return float(np.mean(recalls)), float(np.mean(shares))


def with_kept_share(
    files: Sequence[ScoredFile], scoring: Scoring, rubrics: Sequence[str], threshold: float, kept: float
) -> Scoring:
    """Return the scoring with the bias at which pruning keeps a share of the lines, found by bisection."""
    bias = bisect(lambda trial: selection(files, replace(scoring, bias=trial), rubrics, threshold)[1], kept)
    return replace(scoring, bias=bias)
