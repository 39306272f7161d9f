"""The scoring that a query gets decides how its document's lines are scored, also where a model has two."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from lamr_contract.model_io import ChunkResult
from lamr_contract.scoring.rules import Scoring
from lamr_contract.scoring.scorer import DocumentScorer, LineScores, QueriedDocument

CODE = "a = 1\n\n\nbb = 22\n  \nccc = 333"
ASKED, TOLD = "What is bb?", "Change bb"
WHOLE_LINES = Scoring("calibrated", {"keep_prob": 1.0})
CHARACTERS = Scoring("emission")


def line_scores(query: str, scoring: Scoring) -> LineScores:
    """Score lines from tokens of three characters, which cross the ends of lines."""
    starts = np.arange(0, len(CODE), 3)
    offsets = np.stack([starts, np.minimum(starts + 3, len(CODE))], axis=1)
    tokens = np.random.default_rng(0).random(len(offsets))
    scorer = DocumentScorer(scoring, (), QueriedDocument(query, CODE, offsets, scoring))
    result = ChunkResult((tokens > 0.5).astype(np.uint8), tokens.astype(np.float32), None, None, 0.5)
    scorer.add((0, len(offsets)), result)
    return scorer.finish()


@pytest.mark.parametrize(("base", "told"), [(WHOLE_LINES, CHARACTERS), (CHARACTERS, WHOLE_LINES)])
def test_means_over_lines_are_those_of_the_scoring_that_the_query_gets(base: Scoring, told: Scoring) -> None:
    both = dataclasses.replace(base, told=told)
    for query, alone in ((ASKED, base), (TOLD, told)):
        np.testing.assert_array_equal(line_scores(query, both).scores, line_scores(query, alone).scores)
    assert (line_scores(ASKED, both).scores != line_scores(TOLD, both).scores).any()
