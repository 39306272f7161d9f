"""Judges a trained variant by one question: which code tokens of validation chunks are gold or needed by gold lines.

A variant that has learned without the syntax tree still has to answer that. This module knows a model and its
examples; it knows neither variants nor how they are trained.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from lamr_decoding import LinearChainCrf, marginals, nll
from lamr_export.model import LamrModel
from numpy.typing import NDArray

from lamr_training.loop.batches import batch_plan, make_batch
from lamr_training.loop.example_set import ExampleSet
from lamr_training.loop.trainer import forward


@dataclass(frozen=True)
class Outcome:
    """The figures of one run on validation tokens.

    Attributes:
        variant, seed: which run it was.
        loss: the fused chain's negative log-likelihood per token.
        accuracy, precision, recall, f1: the quality of its decisions, in [0, 1].
    """

    variant: str
    seed: int
    loss: float
    accuracy: float
    precision: float
    recall: float
    f1: float


def judge(model: LamrModel, data: ExampleSet, name: str, seed: int, tokens: int = 4096) -> Outcome:
    """Compare the fused chain's marginals with the aggregate label, over all code tokens.

    A token is kept from the marginal on that gives the best F1 on the other half of the files: after few steps a chain
    knows which tokens rank high long before any of them reaches one half.

    Args:
        model: the trained variant.
        data: the validation examples.
        name, seed: which run it was.
        tokens: how many tokens a batch may hold.
    """
    model.eval()
    chain = LinearChainCrf(*(part.detach() for part in model.heads.fused_crf_tensors()))
    loss, columns = 0.0, []
    with torch.no_grad():
        for chosen in batch_plan(data.lengths, data.groups, tokens, 0):
            batch = make_batch(data, chosen)
            emissions = forward(model, batch)[0].fused_emissions
            loss += float(nll(emissions, batch.aggregate, batch.code_cu_seqlens, chain).sum())
            group = batch.groups.repeat_interleave(batch.code_cu_seqlens.diff())
            keep = marginals(emissions, batch.code_cu_seqlens, chain)
            columns.append(torch.stack([keep.double(), batch.aggregate.double(), group.double()]).numpy())
    keep, label, group = np.concatenate(columns, axis=1)
    odd, gold = group % 2 == 1, label == 1
    least = np.where(odd, best_threshold(keep[~odd], gold[~odd]), best_threshold(keep[odd], gold[odd]))
    decided = keep >= least
    hits = (decided & gold).sum()
    return Outcome(
        name,
        seed,
        loss=round(loss / len(gold), 5),
        accuracy=round(float((decided == gold).mean()), 5),
        precision=round(float(hits / max(1, decided.sum())), 5),
        recall=round(float(hits / max(1, gold.sum())), 5),
        f1=round(float(2 * hits / max(1, decided.sum() + gold.sum())), 5),
    )


def best_threshold(scores: NDArray[np.float64], gold: NDArray[np.bool_]) -> float:
    """The score from which on keeping gives the best F1; 1/2 without gold."""
    if not gold.any():
        return 0.5
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(gold[order])
    f1 = 2 * hits / (np.arange(1, len(scores) + 1) + gold.sum())
    last = np.append(np.diff(scores[order]) != 0, True)  # a threshold takes equal scores together
    return float(scores[order][np.argmax(np.where(last, f1, -1.0))])
