"""Fits how a chunk's outputs become line scores (`lamr_client.spec.Scoring`) on whole files of validation projects.

The model's outputs are computed once per file; fits and comparisons of scorings then cost little. Scores are merged
and averaged over lines by the very code that serves them. Knows records, a model and scorings; trains no weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from lamr_client.encoding import PromptEncoder
from lamr_client.layout import line_layout
from lamr_client.lexical import token_evidence
from lamr_client.scoring import token_scores, with_evidence
from lamr_client.spec import Scoring
from lamr_client.transport import ChunkResult
from lamr_decoding import LinearChainCrf, marginals, viterbi
from lamr_evaluation.metrics import recall_curve
from lamr_export.model import LamrModel
from lamr_postprocess.lines import line_scores_from_tokens
from numpy.typing import NDArray

from lamr_training.examples import encode_record, token_lines
from lamr_training.labels import LabelSettings
from lamr_training.records import Record

FloatArray = NDArray[np.float64]
FEATURES = ("keep_prob", "semantic", "dependency", "relevance")
LEXICAL_WEIGHTS = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0)


@dataclass(frozen=True, eq=False)
class ScoredFile:
    """A model's answers on one whole file.

    Attributes:
        record: query, code and gold.
        ranges: each chunk's token range in the file.
        results: each chunk's outputs.
        offsets: int64 `[n, 2]` of the file's tokens.
        evidence: float64 `[n]`, their lexical evidence.
    """

    record: Record
    ranges: list[tuple[int, int]]
    results: list[ChunkResult]
    offsets: NDArray[np.int64]
    evidence: NDArray[np.float64]

    def line_scores(self, scoring: Scoring, rubrics: Sequence[str]) -> FloatArray:
        """Scores float `[L]`, as a client computes them."""
        sums, counts = np.zeros(len(self.offsets)), np.zeros(len(self.offsets))
        for (first, last), result in zip(self.ranges, self.results, strict=True):
            sums[first:last] += token_scores(result, scoring, rubrics)
            counts[first:last] += 1
        tokens = (
            with_evidence(sums / counts, self.evidence, scoring.lexical) if scoring.lexical else sums / counts
        )
        lines = line_scores_from_tokens(tokens, self.offsets, self.record.code)
        return np.asarray(lines, np.float64)

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


def score_files(
    model: LamrModel, encoder: PromptEncoder, records: Iterable[Record], tokens: int = 4096
) -> list[ScoredFile]:
    """Run a model over whole files; records that can't be encoded are left out."""
    files = []
    for record in records:
        encoded = encode_record(record, encoder, LabelSettings())
        if encoded is None or not encoded.chunks:
            continue
        _, offsets = encoder.encode_document(record.code)
        evidence = token_evidence(record.query, record.code, offsets, line_layout(record.code))
        results: list[ChunkResult] = []
        batch: list[tuple[NDArray[np.int64], tuple[int, int]]] = []
        for chunk in encoded.chunks:
            if sum(len(ids) for ids, _ in batch) + len(chunk.input_ids) > tokens and batch:
                results += _run(model, batch)
                batch = []
            batch.append((chunk.input_ids, chunk.document_span))
        results += _run(model, batch)
        files.append(ScoredFile(record, [c.tokens for c in encoded.chunks], results, offsets, evidence))
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
    files: Sequence[ScoredFile],
    rubrics: Sequence[str],
    *,
    features: Sequence[str] = FEATURES,
    threshold: float = 0.4,
    kept: float = 0.28,
) -> Scoring:
    """Logistic regression of "this token's line is gold" on the outputs' logits, every file weighing the same. Then
    the lexical weight of the best area, out of `LEXICAL_WEIGHTS`; then the bias is moved so that `kept` of the inked
    lines pass the threshold on average."""
    inputs, targets, weights = [], [], []
    for file in files:
        gold, _ = file.gold()
        lines = np.minimum(token_lines(file.record.code, file.offsets), len(gold) - 1)
        for (first, last), result in zip(file.ranges, file.results, strict=True):
            inputs.append(_logits(result, rubrics))
            targets.append(gold[lines[first:last]])
            weights.append(np.full(last - first, 1.0 / len(lines)))
    x = np.concatenate(inputs)[:, [FEATURES.index(name) for name in features]]
    found, bias = _logistic(x, np.concatenate(targets), np.concatenate(weights))
    scoring = Scoring(
        "calibrated", {n: round(float(w), 4) for n, w in zip(features, found, strict=True)}, bias
    )
    mixed = (replace(scoring, lexical=weight) for weight in LEXICAL_WEIGHTS)
    best = max(mixed, key=lambda each: compare(files, each, rubrics, threshold).area)
    return _with_kept_share(files, best, rubrics, threshold, kept)


def _with_kept_share(
    files: Sequence[ScoredFile], scoring: Scoring, rubrics: Sequence[str], threshold: float, kept: float
) -> Scoring:
    low, high = scoring.bias - 16.0, scoring.bias + 16.0
    for _ in range(14):
        middle = (low + high) / 2
        share = compare(files, replace(scoring, bias=middle), rubrics, threshold).kept
        low, high = (middle, high) if share < kept else (low, middle)
    return replace(scoring, bias=round((low + high) / 2, 3))


def _run(model: LamrModel, batch: list[tuple[NDArray[np.int64], tuple[int, int]]]) -> list[ChunkResult]:
    lengths = [len(ids) for ids, _ in batch]
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    ids = torch.from_numpy(np.concatenate([ids for ids, _ in batch]))
    spans = [(int(start) + a, int(start) + b) for start, (_, (a, b)) in zip(bounds, batch, strict=False)]
    code_cu = torch.from_numpy(np.concatenate([[0], np.cumsum([b - a for a, b in spans])]).astype(np.int32))
    places = torch.cat([torch.arange(a, b) for a, b in spans])
    with torch.no_grad():
        fused, relevance = model(ids, torch.from_numpy(bounds.astype(np.int32)), torch.zeros(max(lengths)))
        output = model.heads(fused[places])
        chain = LinearChainCrf(*(part.detach() for part in model.heads.fused_crf_tensors()))
        own = model.heads.rubric_crf
        keep = viterbi(output.fused_emissions, code_cu, chain).numpy()
        prob = marginals(output.fused_emissions, code_cu, chain).numpy()
        rubric = np.stack(
            [
                marginals(
                    output.emissions[:, k],
                    code_cu,
                    LinearChainCrf(own.transitions[k].detach(), own.start[k].detach(), own.end[k].detach()),
                ).numpy()
                for k in range(output.emissions.shape[1])
            ],
            axis=1,
        )
    cuts = code_cu[1:-1].tolist()
    parts = zip(
        np.split(keep, cuts),
        np.split(prob, cuts),
        np.split(rubric, cuts),
        relevance[:, 0].tolist(),
        strict=True,
    )
    return [ChunkResult(k, p, r, None, s) for k, p, r, s in parts]


def _logits(result: ChunkResult, rubrics: Sequence[str]) -> FloatArray:
    assert result.rubric_prob is not None
    columns = [result.keep_prob, *(result.rubric_prob[:, rubrics.index(n)] for n in FEATURES[1:3])]
    columns.append(np.full(len(result.keep_prob), result.relevance))
    p = np.clip(np.stack(columns, axis=1).astype(np.float64), 1e-6, 1 - 1e-6)
    logits: FloatArray = np.log(p / (1 - p))
    return logits


def _logistic(x: FloatArray, y: NDArray[np.bool_], weights: FloatArray) -> tuple[FloatArray, float]:
    """Weighted logistic regression by Newton's method with a little ridge."""
    design = np.concatenate([x, np.ones((len(x), 1))], axis=1)
    weights = weights / weights.sum()
    beta = np.zeros(design.shape[1])
    ridge = 1e-3 * np.eye(len(beta))
    for _ in range(30):
        p = 1 / (1 + np.exp(-design @ beta))
        gradient = design.T @ (weights * (p - y)) + ridge @ beta
        curvature = (design * (weights * p * (1 - p))[:, None]).T @ design + ridge
        step = np.linalg.solve(curvature, gradient)
        beta -= step
        if np.abs(step).max() < 1e-8:
            break
    return beta[:-1], float(beta[-1])
