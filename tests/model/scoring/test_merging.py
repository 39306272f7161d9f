"""Merging equals the plain average over chunks, token by token, whatever the order of arrival."""

import math
import random
from functools import partial

import lamr_model.scoring.merging
import numpy as np
import pytest
from lamr_base.errors import InvalidInputError, ModelMismatchError
from lamr_model.model_io import ChunkRequest, ChunkResult
from lamr_model.scoring.fusion import ENCODED, encoded_logits
from lamr_model.scoring.merging import Outputs, ScoreMerger

from tests.client.answers import answer

RUBRICS = ("semantic", "dependency")
VALUES = {
    "decisions": (lambda outputs: outputs.keep[:, None], 1),
    "log-odds": (partial(encoded_logits, rubrics=RUBRICS), ENCODED),
}


def random_result(m: int, seed: int) -> ChunkResult:
    ids = np.random.default_rng(seed).integers(0, 400, m)
    return answer(ChunkRequest(ids, (0, m), want_rubrics=True))


@pytest.mark.parametrize("held", [1, 50, 4096])
@pytest.mark.parametrize(("values", "width"), VALUES.values(), ids=VALUES)
def test_merging_equals_a_plain_average(values, width, held, monkeypatch):
    monkeypatch.setattr(lamr_model.scoring.merging, "_HELD_TOKENS", held)  # whatever waits for others
    spans = [(0, 40), (30, 70), (35, 75), (70, 90)]
    chunks = [(span, random_result(span[1] - span[0], seed)) for seed, span in enumerate(spans)]
    held = [[] for _ in range(90)]
    for (first, last), result in chunks:
        scores = values(Outputs.of([result]))
        for i in range(first, last):
            held[i].append(scores[i - first])
    random.Random(0).shuffle(chunks)
    merger = ScoreMerger(values, width, RUBRICS, 90, want_rubrics=True)
    for span, result in chunks:
        merger.add(span, result)
    merged = merger.merged()
    np.testing.assert_allclose(merged.values, [np.mean(row, 0) for row in held], atol=1e-12)
    assert sorted(merged.relevances) == sorted(float(result.relevance) for _, result in chunks)


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
    merger = ScoreMerger(*VALUES["decisions"], RUBRICS, 3, want_rubrics=True)
    merger.add((0, 3), broken())
    with pytest.raises(ModelMismatchError, match=message):
        merge(merger, broken(**fields))


def merge(merger: ScoreMerger, result: ChunkResult) -> None:
    """Shapes are looked at when a chunk comes, values when chunks are averaged."""
    merger.add((0, 3), result)
    merger.merged()
