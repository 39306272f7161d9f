"""Measures a model on chunks while it trains: how well token scores rank evidence, and how well decisions hit it.

Quick figures to compare steps of one run by; what a pruner keeps of whole files is `lamr_evaluation`'s to say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from lamr_decoding import LinearChainCrf, marginals
from lamr_export.model import LamrModel
from numpy.typing import NDArray

from lamr_training.loop.batches import batch_plan, make_batch
from lamr_training.loop.example_set import ExampleSet


@dataclass(frozen=True)
class ChunkMetrics:
    """Figures over all code tokens of a set of chunks; ranks are over the whole set, not per file.

    Attributes:
        f1: of the fused decision at 0.5 against the aggregate label.
        recall_25, recall_50: share of semantic tokens among the best quarter and half.
        area: of recall over the kept share.
        relevance_auc: chance that a chunk with evidence has a higher relevance than one without.
        gate: mean gate weight of the semantic rubric.
    """

    f1: float
    recall_25: float
    recall_50: float
    area: float
    relevance_auc: float
    gate: float


def validate(model: LamrModel, data: ExampleSet, tokens: int) -> ChunkMetrics:
    """Run over a set of examples without training."""
    model.eval()
    columns: list[list[NDArray[np.float32]]] = [[], [], [], [], [], [], []]
    own = model.heads.rubric_crf
    device = own.transitions.device
    semantic = LinearChainCrf(own.transitions[0].detach(), own.start[0].detach(), own.end[0].detach())
    fused = LinearChainCrf(*(part.detach() for part in model.heads.fused_crf_tensors()))
    with torch.no_grad():
        for chosen in batch_plan(data.lengths, data.groups, tokens, 0):
            batch = make_batch(data, chosen).to(device)
            features, relevance = model(batch.input_ids, batch.cu_seqlens, batch.max_len)
            output = model.heads(features[batch.code])
            found = (
                marginals(output.fused_emissions, batch.code_cu_seqlens, fused),
                marginals(output.emissions[:, 0], batch.code_cu_seqlens, semantic),
                batch.labels,
                batch.aggregate,
                output.gate[:, 0],
                relevance[:, 0],
                batch.relevance,
            )
            for column, value in zip(columns, found, strict=True):
                column.append(value.cpu().numpy())
    keep, score, labels, aggregate, gate, relevance_all, wanted = (
        np.concatenate(column) for column in columns
    )
    aggregate, decided = aggregate == 1, keep > 0.5
    curve = np.cumsum(labels[np.argsort(-score, kind="stable"), 0]) / max(1, labels[:, 0].sum())
    quarter, half = (float(curve[int(share * (len(curve) - 1))]) for share in (0.25, 0.5))
    return ChunkMetrics(
        f1=float(2 * (aggregate & decided).sum() / max(1, aggregate.sum() + decided.sum())),
        recall_25=quarter,
        recall_50=half,
        area=float(curve.mean()),
        relevance_auc=_auc(relevance_all, wanted > 0),
        gate=float(gate.mean()),
    )


def _auc(scores: NDArray[np.float32], positive: NDArray[np.bool_]) -> float:
    if positive.all() or not positive.any():
        return float("nan")
    rank = np.argsort(np.argsort(scores, kind="stable"), kind="stable") + 1
    count = positive.sum()
    return float((rank[positive].sum() - count * (count + 1) / 2) / (count * (~positive).sum()))
