"""A reader that goes on from another one says the same at first, and learns what tells needed lines apart."""

import random

import numpy as np
import pytest
import torch
from lamr_model.scoring.fusion import ScoreFusion
from lamr_model.scoring.scorer import Scorer
from lamr_model.scoring.weights import LineWeights
from lamr_training.fits import line_training
from lamr_training.fits.line_training import ReadFile, train_reader
from lamr_training.fits.scoring import ScoredFile, compare

from tests.tiny import line_weights, lines_scoring
from tests.training.fits.files import RUBRICS, files

WEIGHTS = line_weights(own=2.0, semantic=0.3)
READER = WEIGHTS.fusion


def scorer(reader: ScoreFusion) -> Scorer:
    return Scorer(lines_scoring(), RUBRICS, LineWeights(WEIGHTS.model, reader))


def read(scored: list[ScoredFile]) -> list[ReadFile]:
    return [ReadFile.of(file, scorer(READER), random.Random(3)) for file in scored]


def test_what_is_trained_says_at_first_what_the_reader_says() -> None:
    scored = files(3, "area = ")
    taught = read(scored)
    module = line_training._ReaderModule(READER, READER.members[0], taught).eval()
    for file, answers in zip(taught, scored, strict=True):
        with torch.no_grad():
            found = module(file, file.ways[0]).numpy()
        document = answers.finished(scorer(READER))
        said = READER.logits(document._asked_lines, document._by_words.logits, document._reading)
        gaps = (found - said)[file.inked]
        assert np.ptp(gaps) < 0.05, "but for what is the same for all lines"
        assert np.ptp(found[file.inked]) > 1


def test_a_reader_learns_which_lines_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_training, "LEAST_FILES", 5)
    monkeypatch.setattr(line_training, "_RATE", 0.05)
    monkeypatch.setattr(line_training, "_EPOCHS", 12)
    scored = files(40, "# name")
    reader = train_reader(READER, read(scored[:30]))
    before, after = (compare(scored[30:], scorer(each), 0.4).recall_25 for each in (READER, reader))
    assert after > before + 0.3


def test_few_files_teach_nothing() -> None:
    assert train_reader(READER, read(files(3, "area = "))) is READER
