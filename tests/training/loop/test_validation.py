"""The figures that are printed while a model trains."""

from lamr_training.backbone import Vocabulary
from lamr_training.loop.examples import ExampleSet
from lamr_training.loop.trainer import validate

from tests.training.samples import tiny_model


def test_figures_are_shares(words: Vocabulary, data: ExampleSet) -> None:
    metrics = validate(tiny_model(words), data, 512)
    assert all(0 <= value <= 1 for value in (metrics.f1, metrics.recall_25, metrics.area))
