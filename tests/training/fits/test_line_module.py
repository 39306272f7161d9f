"""What is trained says what is served."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from lamr_evaluation.records import Record
from lamr_model.scoring.line_model import LineModel
from lamr_model.scoring.line_vectors import WordTable
from lamr_model.scoring.weights import LineWeights, load_weights, weights_bytes
from lamr_training.fits.line_module import LineModule, LineSizes

from tests.tiny import line_weights, program
from tests.training.fits.lines import WORDS, asked, example, records
from tests.training.samples import CACHE

RECORDS = [
    *records(2),
    Record("Where are entries of the cache removed? See line 12", CACHE, (45, 46), path="cache.py"),
    Record("colour " * 9 + "area of a shape", program(20), (3,), task="name the timeout", path="a/area.py"),
    Record("wholly unlike", "one = 1", (1,)),
    Record("...", "\n\n  x = 1\n", (3,)),
    Record(" ".join(f"word{number} area{number}" for number in range(900)), program(100), (7,)),
]


@pytest.fixture
def module() -> LineModule:
    """A module whose parameters are all random, with words enough that some queries have too many vectors."""
    torch.manual_seed(4)
    words = (*WORDS, *(f"area{number}" for number in range(150)))
    module = LineModule(
        words, torch.randn(len(words), 6), LineSizes(words=6, states=5, strides=(1, 4))
    ).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.2)
    return module


def unrounded(module: LineModule) -> LineModel:
    """What is served, but for the rounding of vectors."""
    model, tables = module.model(), module.tables

    def table(name: str) -> WordTable:
        vectors, alone = (tables[each].detach().numpy() for each in (name, f"{name}_alone"))
        return WordTable(vectors, np.ones((len(vectors), 1), np.float32), alone[:, 0])

    return replace(model, query=table("query"), line=table("line"))


def differences(module: LineModule, model: LineModel) -> list[float]:
    """How far the log-odds of lines are apart at most, for each record."""
    apart = []
    for record in RECORDS:
        given = example(record, module.words)
        with torch.no_grad():
            odds = module(given).logits.numpy()
        served = model.score(asked(record).asked_lines(model)[0]).logits[given.positions.lines]
        apart.append(float(np.abs(np.clip(odds, -13.8, 13.8) - served).max()))
    return apart


def test_inputs_are_those_of_the_served_model(module: LineModule) -> None:
    model = unrounded(module)
    for record in RECORDS:
        with torch.no_grad():
            inputs = module.inputs(example(record, module.words)).numpy()
        lines = asked(record).asked_lines(model)[0]
        np.testing.assert_allclose(inputs, lines.inputs(0, len(lines.positions)), atol=1e-4)


def test_log_odds_are_those_of_the_served_model(module: LineModule, tmp_path) -> None:
    assert max(differences(module, unrounded(module))) < 1e-2
    path = tmp_path / "scoring.npz"
    path.write_bytes(weights_bytes(LineWeights(module.model(), line_weights().fusion)))
    assert max(differences(module, load_weights(path).model)) < 0.3, "int8 vectors and float16 layers"


def test_standardizing_changes_nothing_and_training_goes_on_from_a_model(module: LineModule) -> None:
    before = unrounded(module)
    module.standardize([example(record, module.words) for record in RECORDS])
    assert module.mean.abs().max() > 0.1
    assert max(differences(module, before)) < 1e-2
    assert max(differences(module, unrounded(module))) < 1e-2
    model = module.model()
    again = LineModule.of(model).eval()
    assert again.sizes == module.sizes
    assert max(differences(again, model)) < 1e-3
