"""The line model scores any text for any query, by lines and words alone, and what it says can be relied on."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamr_model.names import SCORING_FILE
from lamr_model.query_truncation import Query
from lamr_model.scoring.line_model import LEAST_UNDERSTOOD, LineModel, input_count
from lamr_model.scoring.line_vectors import LEAST_MATCH
from lamr_model.scoring.weights import load_weights
from lamr_model.spec import bundled_repository, client_files
from lamr_postprocess.source_file import SourceFile

from tests.model.scoring.line_models import WORDS, ask, random_model
from tests.tiny import line_model, program

CODE = "def load(cache):\n    return cache\n\n\ndef save(key):\n    cache = key\n"
MODEL = random_model()


@pytest.fixture(scope="module")
def shipped() -> LineModel:
    return load_weights(Path(client_files(bundled_repository())) / SCORING_FILE).model


def logits(model: LineModel, query: str, text: str = CODE) -> np.ndarray:
    return model.score(ask(model, query, text)).logits


def test_lines_with_ink_have_log_odds() -> None:
    found = logits(MODEL, "load the cache")
    assert np.isfinite(found).tolist() == [True, True, False, False, True, True]
    assert (found[2:4] == -np.inf).all()


@pytest.mark.parametrize(
    "text", ["", "\n", " \n\t\n", "x", "one = 1\n", "\0", "\ud800 = 1", "\u2028\r\n\x0c", "}" * 5_000]
)
@pytest.mark.parametrize("query", ["", "the of", "load", "load cache " * 2_000, "\0\ud800", "缓存 在哪里"])
def test_any_text_is_scored_for_any_query(text: str, query: str) -> None:
    asked = ask(MODEL, query, text, path="a/b.py", task=query)
    scored = MODEL.score(asked)
    inked, inputs = ~asked.positions.layout.blank, asked.inputs(0, len(asked.positions))
    assert len(scored.logits) == len(scored.dependency) == len(inked)
    assert np.isfinite(scored.logits[inked]).all()
    assert inputs.shape == (inked.sum(), input_count(3))
    assert np.isfinite(inputs).all()
    assert 0 <= asked.together <= 1


@given(st.text("ab =\n\t(:#", max_size=80), st.text("ab ?`", max_size=30))
@settings(deadline=None)
def test_blank_lines_at_the_end_change_nothing_nearby(text: str, query: str) -> None:
    plain = logits(line_model(("a", "b"), own=1.0, above_own=0.5), query, text)
    more = logits(line_model(("a", "b"), own=1.0, above_own=0.5), query, text.rstrip() + "\n\n \n")
    ink = np.isfinite(plain)
    np.testing.assert_allclose(more[: len(ink)][np.isfinite(more[: len(ink)])], plain[ink], atol=0.05)


def test_a_line_with_the_rare_word_wins() -> None:
    text = "common = 1\n" * 6 + "rare = common\n" + "common = 2\n" * 6
    assert logits(line_model(own=3.0), "common rare", text).argmax() == 6


def test_the_shipped_model_prefers_lines_with_the_query_s_rare_word(shipped: LineModel) -> None:
    text = program(30).replace("area17(", "reconnect_timeout(")
    line = next(number for number, each in enumerate(text.splitlines()) if "reconnect_timeout" in each)
    for query in (
        "reconnect_timeout",
        "Where is the reconnect timeout?",
        "fix reconnect_timeout " + "thanks a lot " * 900,
    ):
        found = logits(shipped, query, text)
        assert found.argmax() in range(line, line + 4)
        assert found[line] > np.median(found[np.isfinite(found)])


def test_a_query_without_a_known_word_and_a_stretch_have_the_inputs_that_they_should() -> None:
    asked = ask(MODEL, "wholly unlike", CODE)
    inputs = asked.inputs(0, len(asked.positions))
    np.testing.assert_array_equal(inputs[:, 4:7], LEAST_MATCH)
    assert not inputs[:, :3].any()
    asked = ask(MODEL, "load the cache", CODE * 9)
    count = len(asked.positions)
    together = asked.inputs(0, count)
    for first, last in ((0, 1), (0, 5), (3, 20), (count - 2, count)):
        np.testing.assert_allclose(asked.inputs(first, last), together[first:last], atol=1e-6)


def test_a_file_of_many_stretches_scores_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    text = CODE * 40
    at_once = logits(MODEL, "load the cache", text)
    monkeypatch.setattr("lamr_model.scoring.line_layers._LINES_AT_ONCE", 7)
    np.testing.assert_allclose(logits(MODEL, "load the cache", text), at_once, atol=1e-5)


@pytest.mark.parametrize(
    ("query", "share"),
    [
        ("", LEAST_UNDERSTOOD),
        ("load", 1 / 2),
        ("load save", 2 / 3),
        ("load unlike", LEAST_UNDERSTOOD),
        ("缓存 在哪里", LEAST_UNDERSTOOD),
    ],
)
def test_a_query_is_understood_by_its_known_words(query: str, share: float) -> None:
    assert ask(MODEL, query, CODE).understood == pytest.approx(share)


def test_parts_that_dont_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="5 words have a table"):
        replace(MODEL, words=WORDS[:5])
    with pytest.raises(ValueError, match="inputs, not"):
        replace(MODEL, layers=line_model().layers)
    with pytest.raises(ValueError, match="features in these weights"):
        replace(MODEL, matching=replace(MODEL.matching, hidden=np.zeros((3, 5), np.float32)))
    with pytest.raises(ValueError, match="the heads"):
        replace(MODEL, decoder=line_model().decoder)


@pytest.mark.parametrize("kept", [True, False])
def test_a_file_that_is_kept_is_read_once_for_all_questions(
    kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, near = SourceFile(CODE, "cache.py"), np.zeros(6)
    monkeypatch.setattr("lamr_postprocess.source_file.MOST_CHARS", len(CODE) - (not kept))
    first, second = (MODEL.ask([Query(query)], source, near)[0] for query in ("load", "save the key"))
    assert (first.relations is second.relations) == (first.vectors.lines is second.vectors.lines) == kept
    np.testing.assert_array_equal(MODEL.score(second).logits, logits(MODEL, "save the key"))
