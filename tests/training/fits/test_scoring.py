"""A fitted scoring keeps the share that is asked for, on the very line scores that a client computes."""

import random
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from lamr_client import MockTransport
from lamr_client.job import PruneJob, Shared
from lamr_client.prune_options import CallDefaults, PruneOptions
from lamr_client.reading_plan import Pace
from lamr_evaluation.records import Record
from lamr_model.crf import LinearChainCrf
from lamr_model.encoding import PromptEncoder
from lamr_model.model_io import ChunkRequest
from lamr_model.rules import BEST, FEATURES, TOGETHER, AnswerPrior, LineRule, Scoring
from lamr_model.scoring.scorer import Scorer
from lamr_training.errors import RunError
from lamr_training.fits import scoring as fit
from lamr_training.fits.scoring import ScoredFile, compare, score_files, selection

from tests.client.answers import answer
from tests.tiny import BERT_PROMPT, indenting, line_weights, lines_scoring, make_spec, program, wordpiece
from tests.training.fits.files import QUERY, RUBRICS, files

LINES = line_weights(own=2.0, comment=-4.0, semantic=0.3)
SCORERS = {
    "paper": Scorer(Scoring(), RUBRICS),
    "emission": Scorer(Scoring("emission"), RUBRICS),
    "lines": Scorer(
        lines_scoring(bias=-0.5),
        RUBRICS,
        line_weights(keep_prob=0.25, semantic=1.0, dependency=0.5, relevance=1.5, own=2.0, comment=-1.0),
    ),
}
ends = pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])


def encoder_of(tokenizer=wordpiece) -> PromptEncoder:
    words = tokenizer()
    return PromptEncoder(words, make_spec(words, BERT_PROMPT))


def scored(encoder: PromptEncoder, *records: Record) -> list[ScoredFile]:
    return score_files(MockTransport(answer).infer_many, encoder, records)


@pytest.mark.parametrize("share", [0.1, 0.25, 0.6])
def test_the_paths_keep_the_share_that_is_asked_for(share: float) -> None:
    random = np.random.default_rng(0)
    crf = LinearChainCrf(np.array([[0.8, -0.8], [-0.6, 0.9]]), np.zeros(2), np.zeros(2))
    bounds = np.array([0, 150, 400, 600])
    files = [fit.Margins(random.normal(-9, 2, 600).astype(np.float32), bounds) for _ in range(5)]
    assert np.mean([file.kept(crf, 0.0) for file in files]) == 0
    bias = fit.fit_keep_bias(files, crf, share)
    assert np.mean([file.kept(crf, bias) for file in files]) == pytest.approx(share, abs=0.03)


def test_a_share_that_no_bias_reaches_ends_at_the_bound() -> None:
    assert fit.bisect(lambda bias: 0.0, 0.5) == pytest.approx(fit.WIDEST, abs=0.01)


def test_each_sort_of_query_keeps_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "LEAST_FILES", 5)
    told, asked = files(6, "area = "), files(6, "area = ", "What is the area of a circle?")
    scoring = fit.fit_scoring([*told, *asked], LINES, RUBRICS, 0.4)
    scorer = Scorer(scoring, RUBRICS, LINES)
    for alike, share in ((asked, fit.ASKED_SHARE), (told, fit.TOLD_SHARE)):
        assert selection(alike, scorer, 0.4)[1] == pytest.approx(share, abs=0.08)
        assert compare(alike, scorer, 0.4).kept <= share + 0.08, "repair only adds"


def test_few_files_take_the_bias_of_all_and_those_without_an_answer_none() -> None:
    before = lines_scoring(presence=AnswerPrior({BEST: 1.0}))
    scoring = fit.fit_scoring(files(3, "area = "), LINES, RUBRICS, 0.4, before=before)
    assert scoring.asked is not None
    assert scoring.asked.bias != 0
    assert scoring.asked.presence == AnswerPrior({BEST: 1.0})
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


def served(encoder: PromptEncoder, scorer: Scorer, query: str, code: str) -> tuple[float, ...]:
    """Line scores of a prune job whose answers arrive in any order."""
    call = CallDefaults(60.0, "raise").begin(None, None)
    options = PruneOptions(path="shapes.py", effort="full")
    job = PruneJob(Shared(encoder, scorer), query, code, options, call)
    reading = job.read()
    chunks = list(chain.from_iterable(reading.groups(Pace(), 8)))
    assert len(chunks) > 3
    random.Random(0).shuffle(chunks)
    for chunk in chunks:
        request = ChunkRequest(chunk.input_ids, chunk.document_span, job.want_rubrics)
        reading.add(chunk.tokens, answer(request))
    return reading.finish().line_scores


@ends
@pytest.mark.parametrize("scorer", SCORERS.values(), ids=SCORERS)
@pytest.mark.parametrize("tokenizer", [wordpiece, indenting])
def test_fitted_line_scores_are_the_served_ones(tokenizer, scorer: Scorer, end: str) -> None:
    encoder, query = encoder_of(tokenizer), "which function computes the area of a shape?"
    code = program(30, end) + f"{end}\t{end}shape = area{end}{end}"
    [file] = scored(encoder, Record(query, code, (1,), path="shapes.py"))
    fitted = file.line_scores(scorer)
    assert tuple(fitted.tolist()) == served(encoder, scorer, query, code)
    assert len(np.unique(fitted)) > 10


@ends
def test_gold_lines_are_lines_of_the_scores(end: str) -> None:
    code = end.join(["area = 1", "", "name = 2", "\x0c", "shape = 3", ""])
    [file] = scored(encoder_of(), Record(QUERY, code, (1, 5)))
    gold, inked = file.record.gold, file.record.counted
    assert gold.tolist() == [True, False, False, False, True]
    assert inked.tolist() == [True, False, True, False, True]
    assert 0 <= compare([file], SCORERS["paper"], 0.5).area <= 1


def test_a_long_query_is_read_in_part() -> None:
    [file] = scored(encoder_of(), Record("why " * 400, program(3), (1,)))
    assert not file.asked.reading.whole


BY_WORDS = line_weights(("area", "circl", "fix"), own=1.0)
OTHER = ["name = shape(3)", "return name", "# area", "value = 1"]


def with_paths(count: int, present: bool) -> list[ScoredFile]:
    """Files of statements; where the answer is present, one of them has the query's words."""
    rng = np.random.default_rng(int(present))
    path, gold, records = ("circle.py", (8,), []) if present else ("shape.py", (), [])
    for _ in range(count):
        code = [OTHER[number] for number in rng.integers(len(OTHER), size=20)]
        code[7] = "area = circle(3)" if present else code[7]
        records.append(Record(QUERY, "\n".join(code), gold, path=path, score=float(present)))
    return scored(encoder_of(), *records)


def test_files_with_an_answer_are_told_from_others() -> None:
    both = [*with_paths(fit.LEAST, True), *with_paths(fit.LEAST, False)]
    presence = fit.fit_presence(both, BY_WORDS.model, read=False)
    assert presence is not None
    assert presence.weights[TOGETHER] > 0
    assert set(presence.weights) == set(FEATURES)
    scorer = Scorer(lines_scoring(unread_presence=presence), RUBRICS, BY_WORDS)
    with_answer, without = (
        [file.unread(scorer).finish().relevance for file in with_paths(8, present)]
        for present in (True, False)
    )
    assert min(with_answer) > 0.5 > max(without)
    assert presence.raised(0.4, min(with_answer)) < 0.5 < presence.raised(0.4, min(without))
    assert fit.fit_presence(both[:-1], BY_WORDS.model, read=False) is None, "too few files teach nothing"
