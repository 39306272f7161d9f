"""Gives a served model associations: learns them from records, and fits a scoring of lines that weighs them.

The encoder and the decoder stay as they are, and so does the fingerprint, because what is new is read by clients alone.
What a network learns of associations must come from projects that they weren't learned from, or it would trust them too
much. So two more sets of associations are learned, each from one half of the projects, and the features of a file come
from the other half's. This module ties stages and files together.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from lamr_contract.asked import NO_TOKENS, AskedDocument
from lamr_contract.encoding import PromptEncoder
from lamr_contract.local_model import LocalModel
from lamr_contract.names import (
    ENCODER,
    MODELS,
    REPORT_FILE,
    SCORING_FILE,
    SPEC_FILE,
    version_folder,
)
from lamr_contract.scoring.associations import Associations
from lamr_contract.scoring.query_kind import asks
from lamr_contract.scoring.scorer import Scorer
from lamr_contract.scoring.weights import LineWeights
from lamr_contract.spec import ModelSpec, client_files, load_spec
from lamr_evaluation.records import Record, read_records
from lamr_export.report import with_files
from lamr_export.target import check_target, files_of, replacing

from lamr_training.errors import RunError
from lamr_training.fits.associations import AssociationSettings, fit_associations
from lamr_training.fits.network import NetworkFile, NetworkSettings, fit_network, network_file
from lamr_training.fits.scored_files import ScoredFile, ScoringReport, compare, score_files
from lamr_training.fits.scoring import fit_scoring
from lamr_training.fits.word_examples import WordExample, frequent_words, word_example
from lamr_training.fits.word_vectors import start_vectors, surfaces

HALVES = 2
# How much a file counts without and with a question, of which there are far fewer.
_WEIGHTS = (1.0, 2.0)


@dataclass(frozen=True, kw_only=True)
class BuildSettings:
    """Sizes.

    Attributes:
        associations, network: how either is learned.
        counted: the words of so many records are counted for the vocabulary.
        networked: the network learns from so many records, which the model has to read.
    """

    associations: AssociationSettings = field(default_factory=AssociationSettings)
    network: NetworkSettings = field(default_factory=lambda: NetworkSettings(epochs=8))
    counted: int = 9_000
    networked: int = 4_500


@dataclass(frozen=True)
class AssociatedReport:
    """What was made: how many words have vectors, from how many files, and how the scoring does on validation files."""

    words: int
    files: int
    told: ScoringReport | None
    asked: ScoringReport | None


def associate(
    base: Path,
    data: Path,
    out: Path,
    settings: BuildSettings | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> AssociatedReport:
    """Write a copy of a model repository that has associations and weighs them.

    Args:
        base: a model repository.
        data: a folder with `train.jsonl` and `validation.jsonl`, both in random order.
        out: the repository that is written, or written again.
        settings: sizes.
        progress: takes a line about each stage.

    Raises:
        RunError: there are too few records.
        ExportError: `out` can't be written.
        ModelMismatchError: `base` is no repository of a pruner.
    """
    settings = settings or BuildSettings()
    check_target(out, MODELS, client_files(out))
    train, spec = data / "train.jsonl", load_spec(base)
    progress("counting words")
    counted = list(islice(read_records(train), settings.counted))
    words = frequent_words(counted, settings.associations.words, settings.associations.least)
    if not words:
        raise RunError(f"{train}: no word is frequent enough; give more records")
    vectors = start_vectors(surfaces(_identifiers(counted), words), settings.associations.width)
    del counted
    progress(f"reading files for {len(words):,} words")
    vocabulary = {word: number for number, word in enumerate(words)}
    encoder = PromptEncoder.from_repository(base)
    examples = [
        word_example(_with_words(encoder, record), record, vocabulary)
        for record in read_records(train)
        if record.kept_frags
    ]

    def learn(chosen: Sequence[WordExample]) -> Associations:
        return fit_associations(words, vectors, chosen, settings.associations)

    progress(f"learning from {len(examples):,} files")
    others = [
        learn([example for example in examples if half_of(example.project) != half]) for half in range(HALVES)
    ]
    associations = learn(examples)
    progress(f"asking the model about {settings.networked:,} files")
    model = LocalModel(base)
    taught = islice((record for record in read_records(train) if record.kept_frags), settings.networked)
    files = [_network_file(file, others, spec) for file in score_files(model.infer_many, encoder, taught)]
    weights = LineWeights(fit_network(files, settings.network), associations)
    checks = score_files(model.infer_many, encoder, read_records(data / "validation.jsonl"))
    fitted = fit_scoring(checks, weights, spec.rubrics, spec.threshold, before=spec.scoring)
    scoring = replace(fitted, usual=spec.scoring.usual)  # the encoder stays as it is
    told, asked = _reports(checks, Scorer(scoring, spec.rubrics, weights), spec)
    _write(base, out, replace(spec, scoring=scoring), weights)
    return AssociatedReport(len(words), len(examples), told, asked)


def half_of(project: str) -> int:
    """The half of the projects that one belongs to, 0 or 1."""
    return hashlib.sha256(project.encode()).digest()[0] % HALVES


def _identifiers(records: Iterable[Record]) -> Iterator[str]:
    """The words of queries and of the beginnings of files, for how stems are written."""
    for record in records:
        yield from record.words.split()
        yield from record.code[:6_000].split()


def _with_words(encoder: PromptEncoder, record: Record) -> AskedDocument:
    """A record's file and query without tokens, since words need none and there are hundreds of thousands of files."""
    return AskedDocument.of(
        encoder, record.query, record.code, task=record.task, path=record.path, tokens=NO_TOKENS
    )


def _network_file(file: ScoredFile, others: Sequence[Associations], spec: ModelSpec) -> NetworkFile:
    """What the network learns from a file, with the associations that its project wasn't among."""
    weight = _WEIGHTS[asks(file.asked.query)]
    return network_file(file, spec.rubrics, others[half_of(file.record.project)], weight)


def _reports(
    checks: Sequence[ScoredFile], scorer: Scorer, spec: ModelSpec
) -> tuple[ScoringReport | None, ScoringReport | None]:
    """How the scoring does on validation files with other queries, and on those with questions."""
    answered = [file for file in checks if file.record.kept_frags]
    told, asked = ([file for file in answered if asks(file.asked.query) == sort] for sort in (False, True))
    return tuple(compare(files, scorer, spec.threshold) if files else None for files in (told, asked))


def _write(base: Path, out: Path, spec: ModelSpec, weights: LineWeights) -> None:
    with replacing(out) as folder:
        shutil.copytree(base, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        place = client_files(folder)
        (place / SPEC_FILE).write_text(spec.to_json(), encoding="utf-8")
        (place / SCORING_FILE).write_bytes(weights.to_bytes())
        report = version_folder(folder, ENCODER) / REPORT_FILE
        sizes = files_of(folder)
        del sizes[report.relative_to(folder).as_posix()]
        report.write_text(with_files(report.read_text(encoding="utf-8"), sizes), encoding="utf-8")
