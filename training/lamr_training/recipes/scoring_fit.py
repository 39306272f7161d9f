"""Fits how a chunk's outputs become line scores (`lamr_contract.spec.Scoring`) on whole files of validation projects.

The outputs are those of the exported model, asked for through a transport, once per file; fits and comparisons of
scorings then cost little. Scores are merged and averaged over lines by the very code that serves them. Knows records,
transports and scorings; trains no weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from lamr_client.transport import Transport
from lamr_contract.encoding import PromptEncoder
from lamr_contract.errors import InvalidInputError
from lamr_contract.layout import LineLayout, line_layout
from lamr_contract.lexical_evidence import token_evidence
from lamr_contract.model_io import ChunkRequest, ChunkResult
from lamr_contract.scoring import RELEVANCE, ScoreMerger, line_scores, with_evidence
from lamr_contract.spec import Scoring
from lamr_evaluation.metrics import recall_curve
from lamr_evaluation.records import Record
from lamr_postprocess import prune_lines
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
GRID = {
    RELEVANCE: (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0),
    "lexical": (0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0),
    "block": (0.0, 0.15, 0.3, 0.45, 0.6, 0.75),
}
"""Values that are tried for each part of a scoring."""


@dataclass(frozen=True, eq=False)
class ScoredFile:
    """A model's answers on one whole file.

    Attributes:
        record: query, code and gold.
        ranges: each chunk's token range in the file.
        results: each chunk's outputs.
        offsets: int64 `[n, 2]` of the file's tokens.
        layout: of its lines.
        evidence: float64 `[n]`, their lexical evidence.
    """

    record: Record
    ranges: list[tuple[int, int]]
    results: list[ChunkResult]
    offsets: NDArray[np.int64]
    layout: LineLayout
    evidence: NDArray[np.float64]

    def line_scores(self, scoring: Scoring, rubrics: Sequence[str]) -> FloatArray:
        """Scores float `[L]`, as a client computes them."""
        merger = ScoreMerger(scoring, rubrics, len(self.offsets))
        for tokens, result in zip(self.ranges, self.results, strict=True):
            merger.add(tokens, result)
        scores = merger.merged().tokens
        if scoring.lexical:
            scores = with_evidence(scores, self.evidence, scoring.lexical)
        return np.asarray(
            line_scores(scores, self.offsets, self.record.code, self.layout, scoring), np.float64
        )

    def gold(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which lines answer the query, and which count (hold ink), bool `[L]` each."""
        lines = self.record.code.split("\n")
        if lines and lines[-1] == "":
            lines.pop()
        gold = np.zeros(len(lines), np.bool_)
        chosen = np.array(self.record.kept_frags, np.int64) - 1
        gold[chosen[chosen < len(lines)]] = True
        return gold, np.array([bool(line.strip()) for line in lines])


@dataclass(frozen=True)
class ScoringReport:
    """Means over files with gold lines; the last two at a threshold, before any repair.

    Attributes:
        recall_25, recall_50, area: of the ranking of inked lines.
        recall, kept: of the selection.
    """

    recall_25: float
    recall_50: float
    area: float
    recall: float
    kept: float


def score_files(transport: Transport, encoder: PromptEncoder, records: Iterable[Record]) -> list[ScoredFile]:
    """Ask a model about whole files; records whose query doesn't fit the window are left out."""
    files = []
    for record in records:
        ids, offsets = encoder.encode_document(record.code)
        try:
            chunks = encoder.chunk(encoder.encode_query(record.query), ids, offsets, record.code)
        except InvalidInputError:
            continue
        if not chunks:
            continue
        layout = line_layout(record.code)
        evidence = token_evidence(record.query, record.code, offsets, layout)
        asked = [ChunkRequest(c.input_ids, c.document_span, want_rubrics=True) for c in chunks]
        results = transport.infer_many(asked)
        files.append(ScoredFile(record, [c.tokens for c in chunks], results, offsets, layout, evidence))
    return files


def compare(
    files: Sequence[ScoredFile], scoring: Scoring, rubrics: Sequence[str], threshold: float
) -> ScoringReport:
    """How well a scoring ranks and selects."""
    rows = []
    for file in files:
        gold, counted = file.gold()
        if not (gold & counted).any():
            continue
        scores = file.line_scores(scoring, rubrics)
        curve = recall_curve(scores, gold, counted)
        kept = (scores >= threshold) & counted
        quarter, half = curve.at([0.25, 0.5])
        rows.append(
            (
                quarter,
                half,
                curve.area,
                (kept & gold).sum() / (gold & counted).sum(),
                kept.sum() / counted.sum(),
            )
        )
    return ScoringReport(*(round(float(value), 4) for value in np.mean(rows, axis=0)))


def fit_scoring(
    files: Sequence[ScoredFile], rubrics: Sequence[str], *, threshold: float = 0.4, kept: float = 0.32
) -> Scoring:
    """The scoring of the best ranking, out of `GRID`; then the bias with which `kept` of the inked lines are kept at
    the threshold on average, what repair adds included.

    Weights are tried one after another, each with the best found of the others, two rounds. The semantic weight
    stays 1: ranks depend on ratios only. A ranking is as good as its area and its recall at a quarter kept.
    """
    best = Scoring("relative", {"semantic": 1.0, RELEVANCE: 1.0}, 0.0, 4.0, 0.3)
    found = _goodness(files, best, rubrics)
    for _ in range(2):
        for name, values in GRID.items():
            for value in values:
                trial = _changed(best, name, value)
                worth = _goodness(files, trial, rubrics)
                if worth > found:
                    best, found = trial, worth
    return _with_kept_share(files, best, rubrics, threshold, kept)


def _changed(scoring: Scoring, name: str, value: float) -> Scoring:
    if name == RELEVANCE:
        return replace(scoring, weights={**scoring.weights, RELEVANCE: value})
    return replace(scoring, **{name: value})


def _goodness(files: Sequence[ScoredFile], scoring: Scoring, rubrics: Sequence[str]) -> float:
    report = compare(files, scoring, rubrics, 0.5)
    return report.area + report.recall_25


def selection(
    files: Sequence[ScoredFile], scoring: Scoring, rubrics: Sequence[str], threshold: float
) -> tuple[float, float]:
    """Recall (of files that hold an answer) and share of inked lines that pruning keeps, repair included; means."""
    recalls, shares = [], []
    for file in files:
        gold, inked = file.gold()
        scores = file.line_scores(scoring, rubrics)
        pruned = prune_lines(file.record.code, scores, path=file.record.path or None, threshold=threshold)
        kept = np.zeros(len(scores), np.bool_)
        kept[np.array(pruned.kept_lines, np.int64) - 1] = True
        kept = kept[: len(inked)] & inked
        shares.append(kept.sum() / max(1, inked.sum()))
        if (gold & inked).any():
            recalls.append((kept & gold).sum() / (gold & inked).sum())
    return float(np.mean(recalls)), float(np.mean(shares))


def _with_kept_share(
    files: Sequence[ScoredFile], scoring: Scoring, rubrics: Sequence[str], threshold: float, kept: float
) -> Scoring:
    low, high = scoring.bias - 16.0, scoring.bias + 16.0
    for _ in range(12):
        middle = (low + high) / 2
        share = selection(files, replace(scoring, bias=middle), rubrics, threshold)[1]
        low, high = (middle, high) if share < kept else (low, middle)
    return replace(scoring, bias=round((low + high) / 2, 3))
