"""What recipes have in common: three stages from records to a checkpoint folder, and how the last one ends.

Each stage leaves files for the next. A stage that finds its files in the work folder goes on from them, so the same
calls take up a run that was broken off. Bias and scoring are fitted on the int8 export of the checkpoint, which is what
users are served."""

import hashlib
import shutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from lamr_base.private_files import replaced
from lamr_evaluation.records import Record
from lamr_export.checkpoint import CHECKPOINT_WEIGHTS, save_checkpoint
from lamr_export.model import LamrModel
from lamr_export.repository_writer import export_repository, weights_digest
from lamr_export.verify import standard_texts
from lamr_model.crf import Decoder
from lamr_model.encoder.local_model import LocalModel
from lamr_model.encoding import PromptEncoder
from lamr_model.names import SCORING_FILE
from lamr_model.scoring.scorer import Scorer
from lamr_model.scoring.weights import load_weights
from lamr_model.spec import bundled_repository, client_files

from lamr_training.fits.scoring import (
    Margins,
    ScoringReport,
    asked_document,
    compare,
    fit_keep_bias,
    fit_scoring,
    requests_of,
    score_files,
)
from lamr_training.loop.run_folder import TrainingSettings
from lamr_training.loop.work_folder import WorkFolder

SHARE = 0.27  # The share of a file's tokens that Viterbi's path keeps on average
BIASED = 40  # How many files the bias is fitted on; it is one number


def write_scored(model: LamrModel, work: WorkFolder, out: Path, records: Sequence[Record]) -> ScoringReport:
    """Write a model into a folder, with a bias and a scoring that are fitted on records of whole files. The line model
    is that which training began with, or else the bundled one: few files don't teach one, and it reads so little of an
    encoder that other weights hardly change what it needs. Its version says which weights they are, so that no client
    takes them for those that were shipped or begun with."""
    save_checkpoint(model, out, work.tokenizer_file)
    if not (out / SCORING_FILE).exists():
        with replaced(out / SCORING_FILE) as part:
            shutil.copyfile(client_files(bundled_repository()) / SCORING_FILE, part)
    weights = load_weights(out / SCORING_FILE)
    exported = _exported(out, work)
    encoder = PromptEncoder.from_repository(exported)
    with torch.no_grad():
        model.heads.emission.bias[1::2] += _keep_bias(model, LocalModel(exported), encoder, records[-BIASED:])
    local = LocalModel(exported, weights=model.decoder_weights())
    files = score_files(local.infer_many, encoder, records)
    config = model.config
    scoring = fit_scoring(files, weights, config.rubrics, config.threshold, before=config.scoring)
    began = config.version.partition("+")[0]
    model.config = replace(config, scoring=scoring, version=f"{began}+{weights_digest(model)[:8]}")
    save_checkpoint(model, out, work.tokenizer_file)
    return compare(files, Scorer(scoring, config.rubrics, weights), config.threshold)


def _keep_bias(
    model: LamrModel, local: LocalModel, encoder: PromptEncoder, records: Sequence[Record]
) -> float:
    decoder = Decoder(model.decoder_weights())
    files = []
    for record in records:
        requests, _ = requests_of(encoder, asked_document(encoder, record))
        batches = [local.encode([requests[place] for place in batch]) for batch in local.batches(requests)]
        lengths = np.concatenate([np.diff(bounds) for _, bounds, _ in batches])
        margins = [np.asarray(decoder.decode(code, bounds).margin) for code, bounds, _ in batches]
        files.append(Margins(np.concatenate(margins), np.concatenate([[0], np.cumsum(lengths)])))
    return fit_keep_bias(files, decoder.weights.fused_crf, SHARE)


def mean_weights(models: Sequence[LamrModel]) -> LamrModel:
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
    Nobody reads the export's report, so a single text is enough for it."""
    digest = hashlib.sha256((checkpoint / CHECKPOINT_WEIGHTS).read_bytes()).hexdigest()
    folder = work.path / f"exported-{digest[:12]}"
    if not folder.exists():
        export_repository(checkpoint, folder, "int8", texts=standard_texts()[:1])
    return folder


@dataclass(frozen=True, kw_only=True)
class Recipe(ABC):
    """How a preset is trained."""

    settings: TrainingSettings  # the settings of training
    base: Path | None = None  # the folder of the backbone, for recipes that don't bring their own
    workers: int = 1  # how many processes the recipe is to start for training

    @property
    def runs(self) -> int:
        """How many runs follow each other."""
        return 1

    @abstractmethod
    def check(self) -> None:
        """Refuse what can't work, before anything is computed."""

    @abstractmethod
    def prepare(self, data: Path, work: WorkFolder) -> None:
        """Write the start checkpoint and the examples, as far as they are missing."""

    @abstractmethod
    def fit(self, work: WorkFolder) -> None:
        """Train on what `prepare` wrote, going on from the last checkpoint."""

    @abstractmethod
    def finish(self, data: Path, work: WorkFolder, out: Path) -> ScoringReport | None:
        """Write the trained model's checkpoint folder."""
