"""Merging equals the plain average over chunks, token by token, whatever the order of arrival."""

from __future__ import annotations

import dataclasses
import math
import random

import lamr_contract.scoring.merging
import numpy as np
import pytest
from lamr_contract.errors import InvalidInputError, ModelMismatchError
from lamr_contract.model_io import ChunkRequest, ChunkResult
from lamr_contract.scoring.merging import ScoreMerger
from lamr_contract.scoring.rules import KINDS, Outputs, Scoring

from tests.client.answers import answer
from tests.tiny import BERT_PROMPT, make_spec, wordpiece

RUBRICS = ("semantic", "dependency")
CALIBRATED = Scoring("calibrated", {"keep_prob": 0.5, "semantic": 1.25, "relevance": -0.75}, bias=0.25)


def spec_with(scoring: Scoring, **fields):
    return make_spec(wordpiece(), BERT_PROMPT, scoring=scoring, **fields)


def random_result(m: int, seed: int) -> ChunkResult:
    ids = np.random.default_rng(seed).integers(0, 400, m)
    return answer(ChunkRequest(ids, (0, m), want_rubrics=True))


def token_scores(result: ChunkResult, scoring: Scoring) -> np.ndarray:
    """Scores of one chunk's tokens, by a kind that averages scores."""
    kind = KINDS[scoring.kind]
    return kind.scores(kind.values(Outputs.of([result]), scoring, RUBRICS), scoring)


@pytest.mark.parametrize("held", [1, 50, 4096])
@pytest.mark.parametrize("scoring", [Scoring(), Scoring("emission"), CALIBRATED])
def test_merging_equals_a_plain_average(scoring, held, monkeypatch):
    monkeypatch.setattr(lamr_contract.scoring.merging, "_HELD_TOKENS", held)  # whatever waits for others
    spans = [(0, 40), (30, 70), (35, 75), (70, 90)]
    chunks = [(span, random_result(span[1] - span[0], seed)) for seed, span in enumerate(spans)]
    held = [[] for _ in range(90)]
    rubrics = [[] for _ in range(90)]
    for (first, last), result in chunks:
        scores = token_scores(result, scoring)
        for i in range(first, last):
            held[i].append(scores[i - first])
            rubrics[i].append(result.rubric_prob[i - first])
    random.Random(0).shuffle(chunks)
    merger = ScoreMerger(scoring, RUBRICS, 90)
    for span, result in chunks:
        merger.add(span, result)
    merged = merger.merged()
    np.testing.assert_allclose(merged.scores, [np.mean(scores) for scores in held], atol=1e-12)
    np.testing.assert_allclose(merged.rubrics, [np.mean(row, 0) for row in rubrics], atol=1e-6)
    assert sorted(merged.relevances) == sorted(float(result.relevance) for _, result in chunks)


def test_paper_scoring_is_the_viterbi_decision():
    result = random_result(20, 1)
    np.testing.assert_array_equal(token_scores(result, Scoring()), result.keep)


def test_calibrated_scoring_is_the_logistic_combination():
    result = random_result(20, 2)
    scores = token_scores(result, CALIBRATED)

    def logit(p):
        p = min(max(float(p), 1e-6), 1 - 1e-6)
        return math.log(p / (1 - p))

    for i, score in enumerate(scores):
        total = 0.25 + 0.5 * logit(result.keep_prob[i]) + 1.25 * logit(result.rubric_prob[i, 0])
        total -= 0.75 * logit(result.relevance)
        assert score == pytest.approx(1 / (1 + math.exp(-total)), abs=1e-9)


def test_calibrated_scoring_stays_finite_at_certainty():
    one = np.ones(3, np.float32)
    result = ChunkResult(one.astype(np.uint8), one, np.stack([one, 0 * one], 1), None, 1.0)
    scores = token_scores(result, CALIBRATED)
    assert np.isfinite(scores).all()
    assert np.all((scores >= 0) & (scores <= 1))


def test_relative_scoring_compares_with_the_rest_of_the_document():
    scoring = Scoring("relative", {"semantic": 2.0, "relevance": 0.5}, bias=-0.3)
    spans = [(0, 30), (20, 50)]
    results = [random_result(30, seed) for seed in (3, 4)]
    merger = ScoreMerger(scoring, RUBRICS, 50)
    for span, result in zip(spans, results, strict=True):
        merger.add(span, result)
    total = np.zeros((50, 2))
    for (first, last), result in zip(spans, results, strict=True):
        pair = np.stack([result.rubric_prob[:, 0], np.full(30, result.relevance)], 1).astype(np.float64)
        total[first:last] += np.log(pair / (1 - pair))
    total[20:30] /= 2
    z = (total - total.mean(0)) / (total.std(0) + 0.1)
    expected = 1 / (1 + np.exp(-(2.0 * z[:, 0] + 0.5 * z[:, 1] - 0.3)))
    np.testing.assert_allclose(merger.merged().scores, expected, atol=1e-6)


def test_relative_scoring_of_a_document_that_is_all_alike_is_the_bias():
    scoring = Scoring("relative", {"semantic": 2.0, "relevance": 1.0}, bias=0.0)
    merger = ScoreMerger(scoring, RUBRICS, 3)
    merger.add((0, 3), broken(rubric_prob=np.full((3, 2), 0.9, np.float32)))
    np.testing.assert_allclose(merger.merged().scores, 0.5)
    assert not len(ScoreMerger(scoring, RUBRICS, 0).merged().scores)


def test_scoring_by_an_unknown_output_is_refused():
    with pytest.raises(ModelMismatchError, match=r"\['grep'\].*export"):
        spec_with(Scoring("calibrated", {"grep": 1.0, "lexical": 2.0}))
    spec_with(CALIBRATED)


def test_one_rubric_asks_for_no_rubric_outputs():
    assert not ScoreMerger(Scoring(), ("semantic",), 3).want_rubrics


def test_one_rubric_that_is_weighed_is_asked_for():
    scoring = Scoring("calibrated", {"semantic": 1.0})
    merger = ScoreMerger(scoring, ("semantic",), 3)
    assert merger.want_rubrics
    merger.add((0, 3), broken(rubric_prob=np.float32([[0.25], [0.5], [0.75]])))
    np.testing.assert_allclose(merger.merged().scores, [0.25, 0.5, 0.75], atol=1e-7)


@pytest.mark.parametrize(
    ("length", "span"), [(0, (0, 0)), (5, (3, 3)), (5, (4, 3)), (5, (0, 6)), (5, (-1, 3))]
)
def test_requests_without_code_are_refused(length, span):
    with pytest.raises(InvalidInputError, match="non-empty part"):
        ChunkRequest(np.zeros(length, np.int64), span)


def broken(**fields) -> ChunkResult:
    good = {
        "keep": np.ones(3, np.uint8),
        "keep_prob": np.ones(3, np.float32),
        "rubric_prob": np.ones((3, 2), np.float32),
        "gate": None,
        "relevance": 0.5,
    }
    return ChunkResult(**{**good, **fields})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"keep": np.ones(4, np.uint8)}, "asked about 3 tokens"),
        ({"keep_prob": np.ones(2, np.float32)}, "asked about 3 tokens"),
        ({"rubric_prob": None}, "rubric_prob"),
        ({"rubric_prob": np.ones((3, 3), np.float32)}, "other rubrics"),
        ({"keep_prob": np.full(3, np.nan, np.float32)}, "NaN"),
        ({"rubric_prob": np.full((3, 2), np.inf, np.float32)}, "NaN or infinity"),
        ({"relevance": math.nan}, "NaN"),
    ],
)
def test_answers_that_fit_no_model_are_refused(fields, message):
    merger = ScoreMerger(Scoring(), RUBRICS, 3)
    merger.add((0, 3), broken())
    with pytest.raises(ModelMismatchError, match=message):
        merge(merger, broken(**fields))


def merge(merger: ScoreMerger, result: ChunkResult) -> None:
    """Shapes are looked at when a chunk comes, values when chunks are averaged."""
    merger.add((0, 3), result)
    merger.merged()


def test_emission_scores_are_the_probabilities():
    result = random_result(20, 3)
    np.testing.assert_allclose(token_scores(result, Scoring("emission")), result.keep_prob)


def test_a_model_without_a_chain_is_another_model():
    spec = spec_with(Scoring())
    kinds = {
        kind: dataclasses.replace(spec, scoring=Scoring(kind)).fingerprint
        for kind in ("paper", "relative", "emission")
    }
    assert kinds["paper"] == kinds["relative"] != kinds["emission"]


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
def test_a_threshold_adapts_to_the_shares(threshold, scores, selected):
    scores = scores.astype(np.float32)
    bounded = Scoring("lines", shares=(0.2, 0.5))
    assert (scores >= bounded.adapted(threshold, scores)).sum() == selected
    assert Scoring("lines").adapted(threshold, scores) == threshold
