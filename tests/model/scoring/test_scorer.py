"""From a model's answers to line scores: rules over tokens, the line model, and what is left out."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lamr_base.errors import ModelMismatchError
from lamr_model.encoding import PromptEncoder
from lamr_model.model_io import ChunkResult
from lamr_model.query_truncation import Query
from lamr_model.rules import LineRule, Scoring
from lamr_model.scoring.query_document import QueryDocument
from lamr_model.scoring.scorer import DocumentScorer, LineScores, Scorer, over_blank
from lamr_postprocess import SourceFile
from lamr_postprocess.layout import line_layout

from tests.tiny import BERT_PROMPT, line_weights, lines_scoring, make_spec, wordpiece

CODE = "a = 1\n\n\nbb = 22\n  \nccc = 333"
ASKED, TOLD = "What is bb?", "Change bb"
RUBRICS = ("semantic", "dependency")


def encoder() -> PromptEncoder:
    words = wordpiece()
    return PromptEncoder(words, make_spec(words, BERT_PROMPT))


def line_scores(query: str, scorer: Scorer, code: str = CODE, **more: str) -> LineScores:
    """Score lines from tokens of three characters, which cross the ends of lines."""
    starts = np.arange(0, len(code), 3)
    offsets = np.stack([starts, np.minimum(starts + 3, len(code))], axis=1)
    tokens = (np.zeros(len(starts), np.int64), offsets)
    asked = QueryDocument.of(encoder(), Query(query, **more), SourceFile(code, listed=False), tokens=tokens)
    document = DocumentScorer(scorer, asked)
    read = np.random.default_rng(0).random(len(asked.ids)).astype(np.float32)
    rubrics = np.stack([read, 1 - read], axis=1) if scorer.want_rubrics else None
    document.add((0, len(read)), ChunkResult((read > 0.5).astype(np.uint8), read, rubrics, None, 0.5))
    return document.finish()


def test_rules_over_tokens_take_means_over_characters() -> None:
    paper, emission = (line_scores(ASKED, Scorer(Scoring(kind), ())).scores for kind in ("paper", "emission"))
    tokens = np.random.default_rng(0).random(len(range(0, len(CODE), 3)))
    decisions = (tokens.astype(np.float32) > 0.5).repeat(3)[: len(CODE)]
    assert paper[0] == pytest.approx(decisions[:6].mean())
    assert emission[0] == pytest.approx(tokens.repeat(3)[:5].mean()), "a line end doesn't count"
    assert emission[1] == 0, "nor does a line of nothing else"
    assert paper[1] == min(paper[0], paper[3])


def test_a_line_model_scores_lines_and_the_query_picks_its_rule() -> None:
    scoring = Scoring("lines", LineRule(bias=1.0), LineRule(bias=-1.0))
    scorer = Scorer(scoring, RUBRICS, line_weights(own=2.0, keep_prob=0.5))
    asked, told = (line_scores(query, scorer).scores for query in (ASKED, TOLD))
    ink = [0, 3, 5]
    assert (asked[ink] > told[ink]).all()
    logits = np.log(asked / (1 - asked)) - np.log(told / (1 - told))
    np.testing.assert_allclose(logits[ink], 2.0, rtol=1e-2)
    assert asked.argmax() == 3, "bb stands there"


def test_lines_that_are_named_are_known_to_the_line_model() -> None:
    scorer = Scorer(lines_scoring(bias=-2.0), RUBRICS, line_weights(named=6.0))
    named = line_scores("look at line 6", scorer).scores
    assert named[5] > 0.9 > named[3] > named[0], "what is near counts, too"
    assert named[0] == line_scores("look", scorer).scores[0]


def test_a_history_counts_half_beside_the_task_and_never_alone() -> None:
    scorer = Scorer(lines_scoring(bias=-1.0), RUBRICS, line_weights(own=4.0))
    words = "I have just changed ccc"
    alone, with_task, with_history = (
        line_scores(TOLD, scorer, **more).scores for more in ({}, {"task": words}, {"history": words})
    )
    logits = [np.log(scores / (1 - scores))[[0, 3, 5]] for scores in (alone, with_task, with_history)]
    np.testing.assert_allclose(logits[2], (logits[0] + logits[1]) / 2, rtol=1e-3)
    assert with_task[5] > with_history[5] > alone[5], "ccc stands there"
    np.testing.assert_array_equal(line_scores(TOLD, scorer, history=" \n").scores, alone)


def test_lines_of_encoded_data_score_0() -> None:
    code = "a = 1\nDATA = '" + "QUJD" * 200 + "'\nbb = 22\n"
    for scorer in (Scorer(Scoring(), ()), Scorer(lines_scoring(bias=9.0), RUBRICS, line_weights(own=1.0))):
        scores = line_scores(ASKED, scorer, code).scores
        assert scores[1] == 0
        assert scores[[0, 2]].any()


def test_what_speaks_for_a_line_is_told_where_both_rubrics_are_known() -> None:
    scores = line_scores(ASKED, Scorer(Scoring(), RUBRICS))
    assert scores.dependency is not None
    assert scores.dependency.any()
    assert line_scores(ASKED, Scorer(Scoring(), ("semantic",))).dependency is None


@given(st.text("ab \n", max_size=60), st.integers(0, 9))
def test_blank_lines_take_the_smaller_neighbour(text: str, seed: int) -> None:
    layout = line_layout(text)
    scores = np.random.default_rng(seed).random(len(layout.spans))
    over = over_blank(scores, layout)
    assert over.shape == scores.shape
    inked = np.flatnonzero(~layout.blank)
    np.testing.assert_array_equal(over[inked], scores[inked])
    for line in np.flatnonzero(layout.blank):
        around = [over[inked[inked < line][-1:]], over[inked[inked > line][:1]]]
        if len(inked):
            assert over[line] == min(np.concatenate(around))


def _halved() -> tuple[DocumentScorer, np.ndarray]:
    """A document of two chunks, and their ranges."""
    lines = line_weights(own=1.0, keep_prob=1.0)
    offsets = np.stack([np.arange(len(CODE)), np.arange(len(CODE)) + 1], axis=1)
    tokens = (np.zeros(len(CODE), np.int64), offsets)
    asked = QueryDocument.of(encoder(), Query(ASKED), SourceFile(CODE), tokens=tokens)
    return DocumentScorer(Scorer(lines_scoring(), RUBRICS, lines), asked), np.array([[0, 12], [8, len(CODE)]])


def _answer(span: np.ndarray, probability: float) -> ChunkResult:
    values = np.linspace(0.1, probability, span[1] - span[0]).astype(np.float32)
    return ChunkResult((values > 0.5).astype(np.uint8), values, np.stack([values] * 2, 1), None, probability)


def test_lines_are_scored_by_what_was_read() -> None:
    none, some, every = (_halved()[0] for _ in range(3))
    ranges = _halved()[1]
    some.add((0, 12), _answer(ranges[0], 0.9))
    for span in ranges[::-1]:
        every.add((span[0], span[1]), _answer(span, 0.9))
    scores = [each.finish().scores for each in (none, some, every)]
    assert all(np.isfinite(each).all() and len(each) == CODE.count("\n") + 1 for each in scores)
    assert (scores[0] != scores[1]).any()
    assert (scores[1] != scores[2]).any()


def test_no_token_is_made_for_lines_that_no_chunk_scores() -> None:
    def tokenize() -> None:
        raise AssertionError("tokens were made")

    document, _ = _halved()
    asked = replace(document._document, tokenize=tokenize)
    assert (
        DocumentScorer(document._scorer, asked).finish().scores.tolist() == document.finish().scores.tolist()
    )


def test_a_query_of_code_raises_what_comes_behind_its_like() -> None:
    code = "def f(queue):\n    item = queue.get()\n    handle(item)\n\ndef g(path):\n    return open(path)\n"
    scorer = Scorer(lines_scoring(), RUBRICS, line_weights(own=1.0, keep_prob=1.0))

    def scores(query: str) -> np.ndarray:
        return (
            DocumentScorer(scorer, QueryDocument.of(encoder(), Query(query), SourceFile(code)))
            .finish()
            .scores
        )

    raised = scores("    while running:\n        item = queue.get()") - scores("while running item queue get")
    assert raised[2] > 0
    assert raised[2] > raised[5]


def test_a_chunk_gains_as_long_as_its_lines_are_open_and_unread() -> None:
    document, ranges = _halved()
    middle = float(np.median(document.finish().scores))
    assert (document.gains(ranges, lambda _: middle) > 0).all()
    document.add((0, 12), _answer(ranges[0], 0.9))
    first, second = document.gains(ranges, lambda scores: float(np.median(scores.scores)))
    assert first < second
    assert document.gains(ranges[:1], lambda _: 0.5).tolist() == [0.0], "it was read"
    assert document.gains(ranges, lambda _: 1.0).tolist() == [0.0, 0.0], "no line comes near"


def test_what_a_scorer_needs_and_asks_for() -> None:
    with pytest.raises(ModelMismatchError, match="needs a line model"):
        Scorer(lines_scoring(), RUBRICS)
    with pytest.raises(ModelMismatchError, match="no other one has any"):
        Scorer(Scoring(), RUBRICS, line_weights(own=1.0))
    with pytest.raises(ModelMismatchError, match=r"reads the rubrics.*export"):
        Scorer(lines_scoring(), ("semantic",), line_weights(own=1.0))
    assert not Scorer(Scoring(), ("semantic",)).want_rubrics
    assert Scorer(Scoring(), RUBRICS).want_rubrics
    assert Scorer(lines_scoring(), RUBRICS, line_weights(own=1.0)).want_rubrics
    assert _halved()[0]._scorer.instant
    assert not Scorer(Scoring(), RUBRICS).instant
