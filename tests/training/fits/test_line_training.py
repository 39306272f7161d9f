"""The line model learns what goes with a query's words, and when to believe an encoder."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from lamr_contract.model_io import ChunkResult
from lamr_contract.scoring.encoder_reading import READ
from lamr_evaluation.records import Record
from lamr_training.fits.line_examples import line_example
from lamr_training.fits.line_module import LineModule, LineOutput, LineSizes
from lamr_training.fits.line_training import LineSettings, ReadExample, file_loss, fit_lines, fit_reading
from lamr_training.fits.scored_files import ScoredFile

from tests.training.fits.files import RUBRICS, files
from tests.training.fits.lines import VOCABULARY, WORDS, asked, example, records

SETTINGS = LineSettings(sizes=LineSizes(words=8, states=8, strides=(1,)), files=4, rate=2e-2, word_rate=2e-2)


def begin(seed: int = 1) -> LineModule:
    torch.manual_seed(seed)
    return LineModule(WORDS, torch.randn(len(WORDS), 8), SETTINGS.sizes)


def learned(chosen: list[Record], epochs: int = 20) -> LineModule:
    module = begin()
    examples = [example(record) for record in chosen]
    fit_lines(module, examples * epochs, len(examples) * epochs, SETTINGS)
    return module.eval()


def test_a_word_of_code_is_found_by_another_word_of_the_query() -> None:
    model = learned(records(12)).model()
    for query, first in (("Mind the deadline", 3), ("deadline", 3)):
        code = "colour = 1\nshape = 2\nname = 3\ntimeout = 4\narea = 5"
        logits = model.score(asked(Record(query, code, (4,))).asked_lines(model)).logits
        assert logits.argmax() == first


def test_files_that_teach_nothing_are_passed_over() -> None:
    empty = [Record("Mind", "a = 1\nb = 2", ()), Record("Mind", "a = 1", (1,))]
    modules = [learned([*records(4), *more], 1) for more in ([], empty)]
    for one, other in zip(*(module.parameters() for module in modules), strict=True):
        torch.testing.assert_close(one, other)


def test_the_same_seed_learns_the_same() -> None:
    first, second = learned(records(4), 2).model(), learned(records(4), 2).model()
    np.testing.assert_array_equal(first.line.vectors, second.line.vectors)
    np.testing.assert_array_equal(first.layers.first, second.layers.first)


def test_what_the_encoder_says_is_believed_where_it_is_right_and_words_stay() -> None:
    right = [as_read(file) for file in files(24, "area = ")]
    module = begin()
    before = {name: table.clone() for name, table in module.tables.items()}
    # Every line's reading says what is needed, but words of half of them don't.
    read = [ReadExample(line_example(file.asked, file.record, VOCABULARY), file) for file in right]
    settings = replace(SETTINGS, read_rate=2e-2)
    fit_reading(module, read * 6, RUBRICS, iter([each.example for each in read] * 6), settings)
    for name, table in module.tables.items():
        torch.testing.assert_close(table, before[name])
    module.eval()
    needed, others = [], []
    for each in read[:6]:
        reading = each.file.reading(RUBRICS)[each.example.positions.lines]
        with torch.no_grad():
            gains = (
                module(each.example, torch.from_numpy(reading)).logits - module(each.example).logits
            ).numpy()
        needed.append(gains[each.example.gold].mean())
        others.append(gains[~each.example.gold].mean())
    assert np.mean(needed) > np.mean(others) + 0.5


def as_read(file: ScoredFile) -> ScoredFile:
    """The file as an encoder has read it that knows which lines are gold."""
    line = np.searchsorted(file.asked.layout.spans[:, 1], file.asked.offsets[:, 0], side="right")
    token = file.record.gold[line]
    results = []
    for first, last in file.ranges:
        keep = np.where(token[first:last], 0.9, 0.1).astype(np.float32)
        results.append(ChunkResult((keep > 0.5).astype(np.uint8), keep, np.stack([keep, keep], 1), None, 0.5))
    return replace(file, results=results)


def test_readings_are_of_nothing_some_or_all_chunks() -> None:
    [file] = files(1, "area = ")
    assert len(file.ranges) > 2
    read = ReadExample(line_example(file.asked, file.record, VOCABULARY), file)
    rng = random.Random(0)
    readings = [read.reading(rng, RUBRICS) for _ in range(60)]
    shares = {0.0 if each is None else float(each[:, -1].mean()) for each in readings}
    assert {0.0, 1.0} < shares
    assert {each.shape for each in readings if each is not None} == {(len(read.example.gold), READ)}


@pytest.mark.parametrize("framed", [False, True])
def test_a_loss_falls_where_lines_are_told_apart(framed: bool) -> None:
    gold = np.array([True, False, False, False])
    frame = np.array([False, framed, False, False])

    def loss(right: float) -> float:
        odds = torch.from_numpy(np.where(gold, right, -right)).float()
        other = torch.from_numpy(np.where(frame, right, -right)).float()
        return float(file_loss(LineOutput(odds, torch.stack([odds, other], dim=1)), gold, frame))

    assert loss(9.0) < 0.1 < loss(0.0) < loss(-9.0)
