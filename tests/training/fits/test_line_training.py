"""The line model learns what goes with a query's words."""

import numpy as np
import pytest
import torch
from lamr_evaluation.records import Record
from lamr_training.fits.line_module import LineModule, LineOutput, LineSizes
from lamr_training.fits.line_training import LineSettings, file_loss, fit_lines

from tests.training.fits.lines import WORDS, asked, example, records

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
        logits = model.score(asked(Record(query, code, (4,))).asked_lines(model)[0]).logits
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


@pytest.mark.parametrize("framed", [False, True])
def test_a_loss_falls_where_lines_are_told_apart(framed: bool) -> None:
    gold = np.array([True, False, False, False])
    frame = np.array([False, framed, False, False])

    def loss(right: float) -> float:
        odds = torch.from_numpy(np.where(gold, right, -right)).float()
        other = torch.from_numpy(np.where(frame, right, -right)).float()
        return float(file_loss(LineOutput(odds, torch.stack([odds, other], dim=1)), gold, frame))

    assert loss(9.0) < 0.1 < loss(0.0) < loss(-9.0)
