"""Gives a served model a line model that has learned from one's own records; encoder and decoder stay as they are.

The fingerprint stays, too, because what is new is read by clients alone. Training goes on from the line model that the
repository has, or begins from nothing. This module ties stages and files together."""

import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path

import torch
from lamr_base.errors import ModelMismatchError
from lamr_evaluation.records import Record, read_records
from lamr_export.repository_writer import check_target, files_of, replacing, with_files
from lamr_model.encoder.local_model import LocalModel
from lamr_model.encoding import PromptEncoder
from lamr_model.names import ENCODER, MODELS, REPORT_FILE, SCORING_FILE, SPEC_FILE, version_folder
from lamr_model.query_kind import asks
from lamr_model.rules import LINES, LineRule, Scoring
from lamr_model.scoring.line_model import LineModel
from lamr_model.scoring.scorer import Scorer
from lamr_model.scoring.weights import LineWeights, load_fusion, load_weights, weights_bytes
from lamr_model.spec import ModelSpec, bundled_repository, client_files, load_spec

from lamr_training.errors import RunError
from lamr_training.fits.line_examples import (
    LineExample,
    WordCounts,
    asked_without_tokens,
    counted_words,
    line_example,
    start_vectors,
)
from lamr_training.fits.line_module import LineModule
from lamr_training.fits.line_training import MEASURED, LineSettings, ReadFile, fit_lines, train_reader
from lamr_training.fits.scoring import ScoredFile, ScoringReport, compare, fit_scoring, score_files


@dataclass(frozen=True, kw_only=True)
class LinesSettings:
    """Sizes."""

    training: LineSettings = field(default_factory=LineSettings)  # how the model is trained
    words: WordCounts = field(default_factory=WordCounts)
    fresh: bool = False  # whether it begins from nothing, whatever the repository has
    longest: int = 2_500  # files of more lines are left out


@dataclass(frozen=True)
class LinesReport:
    """What was made: how many words have vectors, from how many files, and how the scoring does on validation files."""

    words: int
    files: int
    told: ScoringReport | None
    asked: ScoringReport | None


def train_lines(
    base: Path,
    data: Path,
    out: Path,
    settings: LinesSettings | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> LinesReport:
    """Write a copy of a model repository with a line model that has learned from records.

    Raises `RunError`: there are too few records. Raises `ExportError`: `out` can't be written. Raises
    `ModelMismatchError`: `base` is no repository of a pruner."""
    settings = settings or LinesSettings()
    training = settings.training
    check_target(out, MODELS, client_files(out))
    spec = load_spec(base)
    records = _Records(data / "train.jsonl", PromptEncoder.from_repository(base), settings)
    progress("counting records")
    files = records.count()
    place = client_files(base if spec.scoring.kind == LINES else bundled_repository()) / SCORING_FILE
    reader, before = load_fusion(place), _model(place, settings.fresh)
    with torch.random.fork_rng():
        torch.manual_seed(training.seed)
        module = _start(records, before)
        vocabulary = {word: number for number, word in enumerate(module.words)}
        progress(f"learning from {files:,} files for {len(vocabulary):,} words")
        module.standardize(islice(records.examples(vocabulary), MEASURED))
        epochs = (records.examples(vocabulary) for _ in range(training.epochs))
        fit_lines(module, chain.from_iterable(epochs), files * training.epochs, training)
    model = module.eval().model()
    progress("fitting the scoring")
    checks = score_files(
        LocalModel(base).infer_many, records.encoder, read_records(data / "validation.jsonl")
    )
    rng = random.Random(training.seed)
    by_lines = Scorer(Scoring(LINES, LineRule(), LineRule()), spec.rubrics, LineWeights(model, reader))
    weights = LineWeights(model, train_reader(reader, [ReadFile.of(file, by_lines, rng) for file in checks]))
    scoring = fit_scoring(checks, weights, spec.rubrics, spec.threshold, before=spec.scoring)
    told, asked = _reports(checks, Scorer(scoring, spec.rubrics, weights), spec)
    _write(base, out, replace(spec, scoring=scoring), weights)
    return LinesReport(len(model.words), files, told, asked)


@dataclass(frozen=True, eq=False)
class _Records:
    """The records of a file that teach something; they are read again for each use, since there are many."""

    path: Path
    encoder: PromptEncoder
    settings: LinesSettings

    def __iter__(self) -> Iterator[Record]:
        for record in read_records(self.path):
            if record.kept_frags and len(record.lines) <= self.settings.longest:
                yield record

    def count(self) -> int:
        """How many there are."""
        if not (count := sum(1 for _ in self)):
            raise RunError(f"{self.path}: no record has lines that answer; give more records")
        return count

    def examples(self, vocabulary: dict[str, int]) -> Iterator[LineExample]:
        """What is learned from each."""
        for record in self:
            yield line_example(asked_without_tokens(self.encoder, record), record, vocabulary)


def _start(records: _Records, before: LineModel | None) -> LineModule:
    settings, training = records.settings, records.settings.training
    if before is not None and not settings.fresh:
        return LineModule.of(before, training.dropout)
    words, written = counted_words(records, settings.words)
    if not words:
        raise RunError(f"{records.path}: no word is frequent enough; give more records")
    return LineModule(words, start_vectors(written, training.sizes.words), training.sizes, training.dropout)


def _model(place: Path, fresh: bool) -> LineModel | None:
    """The line model of a file; None where a fresh one is wanted and this one reads other inputs than today's."""
    try:
        return load_weights(place).model
    except ModelMismatchError:
        if fresh:
            return None
        raise


def _reports(
    checks: list[ScoredFile], scorer: Scorer, spec: ModelSpec
) -> tuple[ScoringReport | None, ScoringReport | None]:
    answered = [file for file in checks if file.record.kept_frags]
    told, asked = ([file for file in answered if asks(file.asked.query) == sort] for sort in (False, True))
    first, second = (compare(files, scorer, spec.threshold) if files else None for files in (told, asked))
    return first, second


def _write(base: Path, out: Path, spec: ModelSpec, weights: LineWeights) -> None:
    with replacing(out) as folder:
        shutil.copytree(base, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        place = client_files(folder)
        (place / SPEC_FILE).write_text(spec.to_json(), encoding="utf-8")
        (place / SCORING_FILE).write_bytes(weights_bytes(weights))
        report = version_folder(folder, ENCODER) / REPORT_FILE
        sizes = files_of(folder)
        del sizes[report.relative_to(folder).as_posix()]
        report.write_text(with_files(report.read_text(encoding="utf-8"), sizes), encoding="utf-8")
