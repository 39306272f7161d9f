"""A scoring is one rule, which reads back equal, adapts to a document's scores, and says what is wrong with it."""

import dataclasses

import numpy as np
import pytest
from lamr_model.rules import BEST, TOGETHER, AnswerPrior, LineRule, Scoring, adapted

from tests.tiny import BERT_PROMPT, lines_scoring, make_spec, wordpiece

ASKED = LineRule(bias=-1.0, shares=(0.2, 0.5), presence=AnswerPrior({TOGETHER: 3.0}, bias=-1.0))
TOLD = LineRule(presence=AnswerPrior({BEST: 1.0}, prior=0.9))


@pytest.mark.parametrize("scoring", [Scoring(), Scoring("emission"), Scoring("lines", ASKED, TOLD)])
def test_it_reads_back_equal(scoring: Scoring) -> None:
    assert Scoring.from_dict(scoring.to_dict()) == scoring


def test_a_query_gets_its_rule() -> None:
    scoring = Scoring("lines", ASKED, TOLD)
    assert scoring.for_query("how is the pool fixed?") == ASKED
    assert scoring.for_query("Fix the pool") == TOLD
    assert Scoring().for_query("Fix the pool") == LineRule(), "rules over tokens do nothing to lines"


def test_a_model_without_a_chain_is_another_model() -> None:
    spec = make_spec(wordpiece(), BERT_PROMPT)
    paper, lines, emission = (
        dataclasses.replace(spec, scoring=scoring).fingerprint
        for scoring in (Scoring(), lines_scoring(), Scoring("emission"))
    )
    assert paper == lines != emission


@pytest.mark.parametrize(
    ("kind", "rules", "message"),
    [
        ("relative", (), "kind must be one of paper, emission, lines"),
        ("lines", (), "has the rules"),
        ("lines", (ASKED,), "has the rules"),
        ("paper", (ASKED, TOLD), "has the rules"),
    ],
)
def test_what_is_no_rule_is_refused(kind: str, rules: tuple[LineRule, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Scoring(kind, *rules)


def test_an_older_models_entry_that_nothing_reads_is_passed_over() -> None:
    assert Scoring.from_dict({"kind": "paper", "usual": {"keep": [-10.9, 2.3]}}) == Scoring()


@pytest.mark.parametrize("shares", [(0.5, 0.2), (-0.1, 0.2), (0.5, 1.1), (0.5, float("nan"))])
def test_shares_that_bound_nothing_are_refused(shares: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="must rise"):
        LineRule(shares=shares)


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
