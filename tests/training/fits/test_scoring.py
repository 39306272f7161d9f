"""A fitted scoring keeps the share that is asked for, of questions and of other queries, within its bounds."""

from dataclasses import replace

import numpy as np
import pytest
from lamr_model.rules import BEST, AnswerPrior, LineRule
from lamr_model.scoring.scorer import Scorer
from lamr_training.errors import RunError
from lamr_training.fits import scoring as fit
from lamr_training.fits.scoring import compare, selection

from tests.tiny import line_weights, lines_scoring
from tests.training.fits.files import RUBRICS, files

LINES = line_weights(own=2.0, comment=-4.0, semantic=0.3)


def test_each_sort_of_query_keeps_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "LEAST_FILES", 5)
    told, asked = files(6, "area = "), files(6, "area = ", "What is the area of a circle?")
    scoring = fit.fit_scoring([*told, *asked], LINES, RUBRICS, 0.4)
    scorer = Scorer(scoring, RUBRICS, LINES)
    for alike, share in ((asked, fit.ASKED_SHARE), (told, fit.TOLD_SHARE)):
        assert selection(alike, scorer, 0.4)[1] == pytest.approx(share, abs=0.08)
        assert compare(alike, scorer, 0.4).kept <= share + 0.08, "repair only adds"


def test_few_files_with_questions_take_the_bias_of_all_and_the_presence_of_before() -> None:
    before = lines_scoring(presence=AnswerPrior({BEST: 1.0}))
    scoring = fit.fit_scoring(files(3, "area = "), LINES, RUBRICS, 0.4, before=before)
    assert scoring.asked is not None
    assert scoring.asked.bias != 0
    assert scoring.asked.presence == AnswerPrior({BEST: 1.0})


def test_files_without_an_answer_give_no_bias() -> None:
    with pytest.raises(RunError, match="no validation record has lines that answer"):
        fit.fit_scoring(files(2, "nowhere"), LINES, RUBRICS, 0.4)


def test_a_selection_stays_within_the_shares() -> None:
    scored, lines = files(6, "area = "), line_weights(own=1.0, wide_sum=0.5, repeats=0.1, dependency=0.3)
    for bias, shares, low, high in (
        (-5.0, (0.2, 0.5), 0.2, 0.5),
        (5.0, (0.2, 0.5), 0.2, 0.5),
        (50.0, None, 1, 1),
    ):
        rule = LineRule(bias=bias, shares=shares)
        scorer = Scorer(replace(lines_scoring(), asked=rule, told=rule), RUBRICS, lines)
        for file in scored:
            found = file.finished(scorer).finish()
            inked = file.record.counted
            selected = (found.scores >= found.adapted(0.4))[inked].sum()
            assert int(low * inked.sum()) <= selected <= np.ceil(high * inked.sum())
        assert selection(scored, scorer, 0.4)[1] >= low  # repair adds, and takes nothing
