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
    """Figures over all code tokens of a set of chunks; ranks are over the whole set, not per file."""

    f1: float  # the F1 of the fused decision at 0.5 against the union of the rubrics' labels
    recall_25: float  # the share of semantic tokens among the best quarter
    area: float  # the area under the recall of semantic tokens over the kept share


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
            features, _ = model(batch.input_ids, batch.cu_seqlens, batch.max_len)
            output = model.heads(features[batch.code])
            bounds = _array(batch.code_cu_seqlens)
            rows.append(
                (
                    marginals(_array(output.fused_emissions), bounds, fused),
                    marginals(_array(output.emissions[:, 0]), bounds, semantic),
                    _array(batch.labels),
                )
            )
    keep, score, labels = map(np.concatenate, zip(*rows, strict=True))
    needed, decided = labels.any(axis=1), keep > 0.5
    curve = np.cumsum(labels[np.argsort(-score, kind="stable"), 0]) / max(1, labels[:, 0].sum())
    return ChunkMetrics(
        f1=float(2 * (needed & decided).sum() / max(1, needed.sum() + decided.sum())),
        recall_25=float(curve[int(0.25 * (len(curve) - 1))]),
        area=float(curve.mean()),
    )


def _array(values: Tensor) -> NDArray[Any]:
    return values.detach().cpu().numpy()
