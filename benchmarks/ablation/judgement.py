"""Judges a trained variant by what matters: how well the lines of whole validation files are ranked.

Every variant ranks lines by the marginals of its fused chain, and all keep the same share of each file, so that none
gains by keeping more. A variant that has learned without the syntax tree still has to answer the same. This module
knows a model and its examples; it knows neither variants nor how they are trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from lamr_contract.encoding import PromptEncoder
from lamr_contract.model_io import ChunkRequest, ChunkResult
from lamr_contract.scoring.rules import EMISSION, Scoring
from lamr_contract.scoring.scorer import Scorer
from lamr_decoding import LinearChainCrf, marginals
from lamr_evaluation.metrics import Confusion, recall_curve
from lamr_evaluation.records import Record
from lamr_export.attention import PackedLayout
from lamr_export.model import LamrModel
from lamr_training.fits.scored_files import score_files
from lamr_training.loop.batches import batch_plan, make_batch
from lamr_training.loop.example_set import ExampleSet
from lamr_training.loop.torch_chains import nll
from lamr_training.loop.trainer import forward

KEPT = 0.25
"""The share of a file's lines with ink that every variant keeps."""
_SCORER = Scorer(Scoring(EMISSION), ())  # means of the probabilities, whatever chain they come from


@dataclass(frozen=True)
class Judged:
    """How well the lines of one file were ranked for one query.

    Attributes:
        file: project and path.
        recall, f1: of the gold lines, where `KEPT` of the lines are kept.
        area: the area under recall against the share of kept lines.
    """

    file: str
    recall: float
    f1: float
    area: float


@dataclass(frozen=True)
class Outcome:
    """The figures of one run.

    Attributes:
        variant, seed: which run it was.
        loss: the fused chain's negative log-likelihood per token of validation chunks.
        files: its figures for each judged record, in the order of the records.
    """

    variant: str
    seed: int
    loss: float
    files: tuple[Judged, ...]


def fused_loss(model: LamrModel, data: ExampleSet, tokens: int = 4096) -> float:
    """The fused chain's negative log-likelihood of the aggregate label, per code token.

    Args:
        model: the trained variant.
        data: the validation examples.
        tokens: how many tokens a batch may hold.
    """
    chain, loss, count = model.heads.fused_crf_tensors(), 0.0, 0
    with torch.no_grad():
        for chosen in batch_plan(data.lengths, data.groups, tokens, 0):
            batch = make_batch(data, chosen)
            emissions = forward(model, batch)[0].fused_emissions
            loss += float(nll(emissions, batch.aggregate, batch.code_cu_seqlens, chain))
            count += len(batch.aggregate)
    return round(loss / max(1, count), 5)


def judge_files(model: LamrModel, encoder: PromptEncoder, records: Sequence[Record]) -> tuple[Judged, ...]:
    """Rank the lines of whole files by the fused chain's marginals, and compare them with the gold lines.

    Args:
        model: the trained variant, in eval mode.
        encoder: makes the chunks that a client would send.
        records: the files, each with at least one gold line and text.
    """
    found = []
    for file in score_files(lambda requests: _answers(model, requests), encoder, records):
        gold, inked = file.record.gold, file.record.counted
        curve = recall_curve(file.line_scores(_SCORER), gold, inked)
        figures = Confusion.expected(curve, KEPT, gold, inked).metrics(curve)
        place = f"{file.record.project}/{file.record.path}"
        found.append(Judged(place, round(figures.recall, 5), round(figures.f1, 5), round(figures.area, 5)))
    return tuple(found)


def _answers(model: LamrModel, requests: Sequence[ChunkRequest]) -> list[ChunkResult]:
    """What a model says about the chunks of one file: the fused chain's marginals, and no path."""
    lengths = np.array([len(each.input_ids) for each in requests])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    spans = starts[:-1, None] + np.array([each.document_span for each in requests])
    code = torch.from_numpy(np.concatenate([np.arange(first, last) for first, last in spans]))
    bounds = np.concatenate([[0], np.cumsum(spans[:, 1] - spans[:, 0])])
    packing = PackedLayout.of(
        torch.from_numpy(starts.astype(np.int32)), torch.zeros(int(lengths.max())), int(starts[-1])
    )
    ids = torch.from_numpy(np.concatenate([each.input_ids for each in requests]))
    with torch.no_grad():
        with torch.autocast("cpu", torch.bfloat16):
            fused, relevance = model.features(ids, packing)
        emissions = model.heads(fused[code].float()).fused_emissions
        crf = LinearChainCrf(*(part.numpy() for part in model.heads.fused_crf_tensors()))
    keep = marginals(emissions.numpy(), bounds, crf)
    likely = relevance[:, 0].float().sigmoid().tolist()
    return [
        ChunkResult((part >= 0.5).astype(np.uint8), part.astype(np.float32), None, None, each)
        for part, each in zip(np.split(keep, bounds[1:-1]), likely, strict=True)
    ]
