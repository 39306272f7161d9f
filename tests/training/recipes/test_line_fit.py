"""A fitted scoring of lines finds what tells gold lines from others, and survives lines that are all alike."""

from __future__ import annotations

import numpy as np
import pytest
from lamr_client import MockTransport
from lamr_contract.encoding import PromptEncoder
from lamr_contract.scoring.rules import Scoring
from lamr_evaluation.records import Record
from lamr_training.recipes.line_fit import LINE_FEATURES, fit_lines
from lamr_training.recipes.scoring_fit import ScoredFile, compare, score_files, selection

from tests.client.answers import answer
from tests.tiny import BERT_PROMPT, make_spec, wordpiece

QUERY = "Fix the area of a circle"
RUBRICS = ("semantic", "dependency")


def files(count: int, gold: str) -> list[ScoredFile]:
    """Files of comments and statements, some about what the query names; gold are the lines that hold a word."""
    words = wordpiece()
    encoder = PromptEncoder(words, make_spec(words, BERT_PROMPT))
    rng = np.random.default_rng(7)
    lines = ["# area of a circle", "area = circle(3)", "# name of a shape", "name = shape(3)", "", "return 1"]
    records = []
    for _ in range(count):
        code = [lines[number] for number in rng.integers(len(lines), size=40)] + lines
        records.append(Record(QUERY, "\n".join(code), tuple(n for n, x in enumerate(code, 1) if gold in x)))
    return score_files(MockTransport(answer).infer_many, encoder, records)


def test_what_tells_gold_lines_is_weighed() -> None:
    scored = files(12, "area = ")
    fitted = fit_lines(scored[:8], RUBRICS)
    assert fitted.kind == "lines"
    assert set(LINE_FEATURES) <= set(fitted.weights)
    assert fitted.weights["own"] > 0 > fitted.weights["comment"]
    sharp = Scoring("lines", fitted.features)
    unweighed = Scoring("lines", dict.fromkeys(LINE_FEATURES, 0.0))
    assert (
        compare(scored[8:], sharp, RUBRICS, 0.5).area
        > compare(scored[8:], unweighed, RUBRICS, 0.5).area + 0.3
    )


def test_a_selection_stays_within_the_shares() -> None:
    scored = files(6, "area = ")
    weights = fit_lines(scored, RUBRICS).weights
    for bias, shares, low, high in (
        (-5.0, (0.2, 0.5), 0.2, 0.5),
        (5.0, (0.2, 0.5), 0.2, 0.5),
        (50.0, None, 1, 1),
    ):
        scoring = Scoring("lines", weights, bias, shares)
        for file in scored:
            lines = file.scorer(scoring, RUBRICS).finish()
            inked = file.gold()[1]
            selected = (lines.scores >= lines.adapted(0.4))[inked].sum()
            assert int(low * inked.sum()) <= selected <= np.ceil(high * inked.sum())
        assert selection(scored, scoring, RUBRICS, 0.4)[1] >= low  # repair adds, and takes nothing


def test_files_whose_lines_are_all_alike_teach_nothing() -> None:
    with pytest.raises(ValueError, match="no file has both"):
        fit_lines(files(2, "nowhere"), RUBRICS)
