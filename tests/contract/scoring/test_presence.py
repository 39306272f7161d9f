"""How likely a document holds an answer: features of the whole document, and what a scoring makes of them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from lamr_contract.layout import line_layout
from lamr_contract.model_io import ChunkResult
from lamr_contract.scoring.evidence import lexical_views
from lamr_contract.scoring.odds import logit
from lamr_contract.scoring.presence import BEST, MEAN, NAMED, PATHLESS, TOGETHER, Presence, document_features
from lamr_contract.scoring.rules import Scoring
from lamr_contract.scoring.scorer import DocumentScorer, QueriedDocument

CODE = "def load(cache):\n    return cache\n\n\ndef save(key):\n    cache = key\n"


def test_features_of_a_document() -> None:
    features = document_features([0.2, 0.5], 0.4, "look at the retry policy", "src/RetryPolicy.test.ts")
    assert features[BEST] == 0
    assert features[MEAN] == pytest.approx(float(logit(0.2)) / 2)
    assert features[TOGETHER] == 0.4
    assert features[NAMED] == pytest.approx(2 / 3), "of retry, policy and retrypolicy"
    assert features[PATHLESS] == 0
    nowhere = document_features([0.5], 0.4, "retry", "")
    assert (nowhere[NAMED], nowhere[PATHLESS]) == (0, 1)


def test_words_that_stand_together() -> None:
    layout = line_layout(CODE)
    assert lexical_views("save the key", CODE, layout).together == 1
    assert lexical_views("load the key", CODE, layout).together == pytest.approx(4 / 7), (
        "load has the more letters"
    )
    assert lexical_views("nothing of it", CODE, layout).together == 0


def test_a_scoring_that_knows_presence_gives_its_probability() -> None:
    scoring = Scoring("calibrated", {"keep_prob": 1.0}, presence=Presence({BEST: 2.0, NAMED: 1.5}, bias=-0.5))
    offsets = np.array([[0, 20], [20, len(CODE)]])
    results = [
        ChunkResult(np.ones(1, np.uint8), np.full(1, 0.5, np.float32), None, None, relevance)
        for relevance in (0.5, 0.1)
    ]

    def relevance(scoring: Scoring, path: str) -> float:
        scorer = DocumentScorer(scoring, (), QueriedDocument("save", CODE, offsets, scoring, path=path))
        for place, result in enumerate(results):
            scorer.add((place, place + 1), result)
        return scorer.finish().relevance

    assert relevance(scoring, "a/save.py") == pytest.approx(1 / (1 + np.exp(-1.0)))
    assert relevance(scoring, "a/load.py") == pytest.approx(1 / (1 + np.exp(0.5)))
    assert relevance(dataclasses.replace(scoring, presence=None), "a/save.py") == 0.5


def test_what_is_hardly_understood_tells_little_of_a_document() -> None:
    presence = Presence({BEST: 1.0})
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
    assert Presence(prior=prior).raised(0.4, probability) == pytest.approx(threshold, abs=1e-5)


def test_a_document_that_hardly_holds_anything_keeps_its_least_share() -> None:
    scores = np.arange(0.005, 1, 0.01, dtype=np.float32)
    scoring = Scoring("lines", shares=(0.05, 0.7), presence=Presence(prior=0.9))
    kept = [(scores >= scoring.adapted(0.4, scores, relevance)).sum() for relevance in (1.0, 0.5, 0.1, 0.001)]
    assert kept == [60, 56, 20, 5]
    unmoved = dataclasses.replace(scoring, presence=Presence())
    assert unmoved.adapted(0.4, scores, 0.001) == pytest.approx(0.4)


@pytest.mark.parametrize("prior", [0.0, 1.0, -0.1, 2.0])
def test_a_prior_that_is_no_uncertain_probability_is_refused(prior: float) -> None:
    with pytest.raises(ValueError, match="must lie between 0 and 1"):
        Presence(prior=prior)


def test_it_is_stored_with_the_scoring() -> None:
    told = Scoring("lines", {"own": 1.0}, presence=Presence({TOGETHER: 3.0}, bias=-1.0))
    scoring = Scoring("relative", {"semantic": 1.0}, told=told, presence=Presence({BEST: 1.0}))
    assert Scoring.from_dict(scoring.to_dict()) == scoring
    assert "prior" not in scoring.to_dict()["presence"]
    weighing = dataclasses.replace(scoring, told=dataclasses.replace(told, presence=Presence(prior=0.9)))
    assert Scoring.from_dict(weighing.to_dict()) == weighing
    assert "presence" not in Scoring().to_dict()
    with pytest.raises(ValueError, match=r"weighs \['size'\]"):
        Presence({"size": 1.0})
