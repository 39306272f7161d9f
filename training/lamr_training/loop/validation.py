"""Measures a model on chunks while it trains: how well token scores rank gold lines, and how well decisions hit them.

The figures are quick and compare the steps of one run; `lamr_evaluation` measures what a pruner keeps of whole files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from lamr_decoding import LinearChainCrf, marginals
from lamr_export.model import LamrModel
from numpy.typing import NDArray
from torch import Tensor

from lamr_training.loop.batches import batch_plan, make_batch
from lamr_training.loop.example_set import ExampleSet


@dataclass(frozen=True)
class ChunkMetrics:
    """Figures over all code tokens of a set of chunks; ranks are over the whole set, not per file.

    Attributes:
        f1: the F1 of the fused decision at 0.5 against the aggregate label.
        recall_25, recall_50: the share of semantic tokens among the best quarter and half.
        area: the area under the recall of semantic tokens over the kept share.
        relevance_auc: the chance that a chunk with gold lines has a higher relevance than one without.
        gate: the mean gate weight of the semantic rubric.
    """

    f1: float
    recall_25: float
    recall_50: float
    area: float
    relevance_auc: float
    gate: float


def validate(model: LamrModel, data: ExampleSet, tokens: int) -> ChunkMetrics:
    """Measure a model, which is in eval mode afterwards."""
    model.eval()
    rows: list[tuple[NDArray[Any], ...]] = []
    own = model.heads.rubric_crf
    device = own.transitions.device
    semantic = LinearChainCrf(*map(_array, (own.transitions[0], own.start[0], own.end[0])))
    fused = LinearChainCrf(*map(_array, model.heads.fused_crf_tensors()))
    with torch.no_grad():
        for chosen in batch_plan(data.lengths, data.groups, tokens, 0):
            batch = make_batch(data, chosen).to(device)
            features, relevance = model(batch.input_ids, batch.cu_seqlens, batch.max_len)
            output = model.heads(features[batch.code])
            bounds = _array(batch.code_cu_seqlens)
            told = (batch.labels, batch.aggregate, output.gate[:, 0], relevance[:, 0], batch.relevance)
            rows.append(
                (
                    marginals(_array(output.fused_emissions), bounds, fused),
                    marginals(_array(output.emissions[:, 0]), bounds, semantic),
                    *map(_array, told),
                )
            )
    keep, score, labels, aggregate, gate, relevances, wanted = map(np.concatenate, zip(*rows, strict=True))
    aggregate, decided = aggregate == 1, keep > 0.5
    curve = np.cumsum(labels[np.argsort(-score, kind="stable"), 0]) / max(1, labels[:, 0].sum())
    quarter, half = (float(curve[int(share * (len(curve) - 1))]) for share in (0.25, 0.5))
    return ChunkMetrics(
        f1=float(2 * (aggregate & decided).sum() / max(1, aggregate.sum() + decided.sum())),
        recall_25=quarter,
        recall_50=half,
        area=float(curve.mean()),
        relevance_auc=_auc(relevances, wanted > 0),
        gate=float(gate.mean()),
    )


def _array(values: Tensor) -> NDArray[Any]:
    return values.detach().cpu().numpy()


def _auc(scores: NDArray[np.float32], positive: NDArray[np.bool_]) -> float:
    """The area under the ROC curve; NaN where all are positive or none is."""
    if positive.all() or not positive.any():
        return float("nan")
    rank = np.argsort(np.argsort(scores, kind="stable"), kind="stable") + 1
    count = positive.sum()
    return float((rank[positive].sum() - count * (count + 1) / 2) / (count * (~positive).sum()))
