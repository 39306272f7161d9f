"""The figures that are printed while a model trains."""

from __future__ import annotations

from lamr_training.loop.example_set import ExampleSet
from lamr_training.loop.validation import validate
from lamr_training.model.vocabulary import Vocabulary

from tests.training.samples import tiny_model


def test_figures_are_shares_and_half_of_the_tokens_hold_no_less_than_a_quarter(
    words: Vocabulary, data: ExampleSet
) -> None:
    metrics = validate(tiny_model(words), data, 512)
    assert 0 <= metrics.recall_25 <= metrics.recall_50 <= 1
    assert all(0 <= value <= 1 for value in (metrics.f1, metrics.area, metrics.relevance_auc, metrics.gate))
