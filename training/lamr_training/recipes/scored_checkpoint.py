"""Writes a checkpoint whose Viterbi path keeps a share of the tokens and whose scoring is fitted on whole files.

Both are fitted on the int8 export of the checkpoint, which is what users are served. This module ties fits and files
together; what is fitted is `keep_bias`'s and `scoring_fit`'s matter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from lamr_contract.encoding import PromptEncoder
from lamr_contract.local_model import LocalModel
from lamr_contract.query_kind import asks
from lamr_contract.scoring import Scoring
from lamr_decoding import Decoder
from lamr_evaluation.records import Record
from lamr_export.checkpoint import CHECKPOINT_WEIGHTS, save_checkpoint
from lamr_export.config import LamrConfig
from lamr_export.model import LamrModel
from lamr_export.repository_writer import export_repository, weights_digest
from lamr_export.verify import standard_texts

from lamr_training.loop.work_folder import WorkFolder
from lamr_training.recipes.keep_bias import Margins, fit_keep_bias
from lamr_training.recipes.line_fit import fit_lines
from lamr_training.recipes.network_fit import (
    ASSOCIATED_FEATURES,
    ENOUGH,
    NETWORK_FEATURES,
    fit_network,
    network_files,
)
from lamr_training.recipes.presence_fit import fit_presence
from lamr_training.recipes.scoring_fit import (
    ASKED_SHARE,
    ScoredFile,
    ScoringReport,
    compare,
    fit_scoring,
    requests_of,
    score_files,
    with_kept_share,
)

SHARE = 0.27
"""The share of a file's tokens that Viterbi's path keeps on average."""
LEAST_TOLD = 40
"""How many files with a query that asks nothing are enough to fit a scoring for such queries."""
TOLD_SHARE = 0.4
"""The share of the lines that is kept for such a query on average, repair included."""
BIASED = 40
"""How many files the bias is fitted on; it is one number."""


def write_scored(model: LamrModel, work: WorkFolder, out: Path, records: Sequence[Record]) -> ScoringReport:
    """Write a model into a folder, with a bias and a scoring that are fitted on records of whole files.

    Its version says which weights they are, so that no client takes them for those that were shipped or begun with.
    """
    save_checkpoint(model, out, work.tokenizer_file)
    exported = _exported(out, work)
    encoder = PromptEncoder.from_repository(exported)
    with torch.no_grad():
        model.heads.emission.bias[1::2] += _keep_bias(model, LocalModel(exported), encoder, records[-BIASED:])
    local = LocalModel(exported, weights=model.decoder_weights())
    files = score_files(local.infer_many, encoder, records)
    config = model.config
    scoring = _fitted(files, config)
    began = config.version.partition("+")[0]
    model.config = replace(config, scoring=scoring, version=f"{began}+{weights_digest(model)[:8]}")
    save_checkpoint(model, out, work.tokenizer_file)
    return compare(files, scoring, config.rubrics, config.threshold)


def _fitted(files: Sequence[ScoredFile], config: LamrConfig) -> Scoring:
    """Return a scoring fitted on files, with one of its own for what isn't asked, if there is enough of it."""
    told = [file for file in files if not asks(file.document.query)]
    asked = [file for file in files if asks(file.document.query)]
    if len(told) < LEAST_TOLD:
        return replace(_question_scoring(files, config), presence=fit_presence(files))
    lines = line_scoring(told, config)
    lines = with_kept_share(told, lines, config.rubrics, config.threshold, TOLD_SHARE)
    scoring = _question_scoring(asked or files, config)
    everywhere = fit_presence(files)
    return replace(
        scoring,
        told=replace(lines, presence=fit_presence(told) or everywhere),
        presence=fit_presence(asked) or everywhere,
    )


def _question_scoring(files: Sequence[ScoredFile], config: LamrConfig) -> Scoring:
    """Return the scoring of questions: the network of lines that the model has for them, or a fitted one of tokens."""
    before = config.scoring
    if before.network is None:
        return fit_scoring(files, config.rubrics, threshold=config.threshold)
    return with_kept_share(files, replace(before, told=None), config.rubrics, config.threshold, ASKED_SHARE)


def line_scoring(told: Sequence[ScoredFile], config: LamrConfig) -> Scoring:
    """Return the scoring of lines for what isn't asked, with a bias that says nothing yet.

    Few files don't teach a network, and a regression over them ranks worse than a network that many have taught. So a
    model that has one keeps it: its features are relative to the file, which other weights hardly change.

    Args:
        told: files whose query asks nothing.
        config: the model's configuration; its scoring is that of the model that training began with.
    """
    if len(told) >= ENOUGH:
        names = NETWORK_FEATURES if told[0].document.associations is None else ASSOCIATED_FEATURES
        return fit_network(network_files(told, config.rubrics, names), names=names)
    before = config.scoring.told
    if before is not None and before.network is not None:
        return replace(before, bias=0.0)
    return fit_lines(told, config.rubrics)


def _keep_bias(
    model: LamrModel, local: LocalModel, encoder: PromptEncoder, records: Sequence[Record]
) -> float:
    decoder = Decoder(model.decoder_weights())
    files = []
    for record in records:
        requests, _, _ = requests_of(encoder, record)
        batches = [local.encode([requests[place] for place in batch]) for batch in local.batches(requests)]
        lengths = np.concatenate([np.diff(bounds) for _, bounds, _ in batches])
        margins = [np.asarray(decoder.decode(code, bounds).margin) for code, bounds, _ in batches]
        files.append(Margins(np.concatenate(margins), np.concatenate([[0], np.cumsum(lengths)])))
    return fit_keep_bias(files, decoder.weights.fused_crf, SHARE)


def mean_weights(models: Sequence[LamrModel]) -> LamrModel:
    """The first of the models, with the mean of all their weights."""
    weights = [model.state_dict() for model in models]
    mean = {
        name: torch.stack([each[name] for each in weights]).mean(dim=0)
        if value.is_floating_point()
        else value
        for name, value in weights[0].items()
    }
    models[0].load_state_dict(mean)
    return models[0]


def _exported(checkpoint: Path, work: WorkFolder) -> Path:
    """The int8 export of a checkpoint, which is what the shipped model serves; an export of the same weights is reused.

    Nobody reads the export's report, so a single text is enough for it.
    """
    digest = hashlib.sha256((checkpoint / CHECKPOINT_WEIGHTS).read_bytes()).hexdigest()
    folder = work.path / f"exported-{digest[:12]}"
    if not folder.exists():
        export_repository(checkpoint, folder, "int8", texts=standard_texts()[:1])
    return folder
