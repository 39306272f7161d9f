"""The model's threshold adapts to a document's scores, and rises where the document hardly holds anything."""

import numpy as np
import pytest
from lamr_model.rules import AnswerPrior, LineRule, adapted


@pytest.mark.parametrize(
    ("threshold", "scores", "selected"),
    [
        (0.4, np.linspace(0, 1, 101), 51),  # the largest share
        (0.95, np.linspace(0, 1, 101), 21),  # the least one
        (0.7, np.linspace(0, 1, 101), 31),  # the model's own threshold
        (0.9, np.full(10, 0.3), 0),  # all alike: none stands out
        (0.1, np.full(10, 0.3), 10),
        (0.9, np.array([0.3] * 80 + [0.5] * 19 + [0.6]), 20),
        (0.9, np.array([0.3] * 70 + [0.5] * 29 + [0.6]), 1),
        (0.9, np.zeros(0), 0),
    ],
)
def test_a_threshold_adapts_to_the_shares(threshold: float, scores: np.ndarray, selected: int) -> None:
    scores = scores.astype(np.float32)
    assert (scores >= adapted(threshold, LineRule(shares=(0.2, 0.5)), scores)).sum() == selected
    assert adapted(threshold, LineRule(), scores) == threshold


def test_a_document_that_hardly_holds_anything_keeps_its_least_share() -> None:
    scores = np.arange(0.005, 1, 0.01, dtype=np.float32)
    rule = LineRule(shares=(0.05, 0.7), presence=AnswerPrior(prior=0.9))
    kept = [(scores >= adapted(0.4, rule, scores, relevance)).sum() for relevance in (1.0, 0.5, 0.1, 0.001)]
    assert kept == [60, 56, 20, 5]
    unmoved = LineRule(shares=(0.05, 0.7), presence=AnswerPrior())
    assert adapted(0.4, unmoved, scores, 0.001) == pytest.approx(0.4)
