"""How likely a document holds an answer: features of the whole document, and what a scoring makes of them."""

import numpy as np
import pytest
from lamr_model.encoding import PromptEncoder
from lamr_model.query_truncation import Query
from lamr_model.rules import BEST, MEAN, NAMED, PATHLESS, TOGETHER, AnswerPrior
from lamr_model.scoring.query_document import NO_TOKENS, QueryDocument
from lamr_model.scoring.scorer import DocumentScorer, Scorer, best_lines, document_features
from lamr_postprocess import SourceFile

from tests.tiny import line_weights, lines_scoring

CODE = "def load(cache):\n    return cache\n\n\ndef save(key):\n    cache = key\n"


def test_features_of_a_document_speak_by_the_best_tenth_of_its_lines() -> None:
    terms = ("look", "retry", "policy")
    features = document_features(np.array([0.0, -1.0, 2.0]), 0.4, terms, "src/RetryPolicy.test.ts")
    assert features[BEST] == 2
    assert features[MEAN] == pytest.approx(1 / 3)
    assert features[TOGETHER] == 0.4
    assert features[NAMED] == pytest.approx(2 / 3), "of retry, policy and retrypolicy"
    assert features[PATHLESS] == 0
    without = document_features(np.zeros(1), 0.4, ("retry",), "")
    assert (without[NAMED], without[PATHLESS]) == (0, 1)
    assert best_lines(np.arange(20.0)).tolist() == [18.0, 19.0]
    assert best_lines(np.array([-1.0, -3.0])).tolist() == [-1.0]


def test_a_rule_that_knows_presence_gives_its_probability(bert: PromptEncoder) -> None:
    def relevance(path: str, presence: AnswerPrior | None) -> float:
        lines = line_weights(("save",), own=1.0)
        scorer = Scorer(lines_scoring(unread_presence=presence), ("semantic", "dependency"), lines)
        asked = QueryDocument.of(bert, Query("save"), SourceFile(CODE, path), tokens=NO_TOKENS)
        return DocumentScorer(scorer, asked).finish().relevance

    presence = AnswerPrior({BEST: 2.0, NAMED: 1.5}, bias=-0.5)
    assert relevance("a/save.py", presence) == pytest.approx(1 / (1 + np.exp(-3.0)), abs=1e-4)
    assert relevance("a/load.py", presence) == pytest.approx(1 / (1 + np.exp(-1.5)), abs=1e-4)
    assert relevance("a/save.py", None) == pytest.approx(1 / (1 + np.exp(-1.0)), abs=1e-4), "its best line's"


def test_what_is_hardly_understood_tells_little_of_a_document() -> None:
    presence = AnswerPrior({BEST: 1.0})
    known = {BEST: -4.0}
    assert presence.probability({BEST: 4.0}, 0.5) == presence.probability({BEST: 4.0})
    assert presence.probability(known) == pytest.approx(1 / (1 + np.exp(4)))
    assert presence.probability(known, 0.5) == pytest.approx(1 / (1 + np.exp(2)))
    assert presence.probability(known, 0.05) < presence.probability({BEST: -3.0}, 0.05) < 0.5


@pytest.mark.parametrize(
    ("prior", "probability", "threshold"),
    [
        (None, 0.01, 0.4),
        (0.5, 1.0, 0.4),
        (0.5, 0.8, 0.5),
        (0.9, 0.5, 0.4 / 0.9),
        (0.9, 0.1, 0.8),
        (0.9, 0.01, 1.0),
        (0.9, 0.0, 1.0),
    ],
)
def test_the_less_a_document_may_hold_the_more_a_line_must_score(
    prior: float | None, probability: float, threshold: float
) -> None:
    assert AnswerPrior(prior=prior).raised(0.4, probability) == pytest.approx(threshold, abs=1e-5)


@pytest.mark.parametrize("prior", [0.0, 1.0, -0.1, 2.0])
def test_a_prior_that_is_no_uncertain_probability_is_refused(prior: float) -> None:
    with pytest.raises(ValueError, match="must lie between 0 and 1"):
        AnswerPrior(prior=prior)
    with pytest.raises(ValueError, match=r"weighs \['size'\]"):
        AnswerPrior({"size": 1.0}, prior=0.5)
