"""Lexical evidence: it points where the query's words are, and leaves everything else at 0."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lamr_client.layout import line_layout
from lamr_client.lexical import content_words, line_evidence, token_evidence
from lamr_client.scoring import with_evidence

BLOCKS = ["def first(a):\n    return a\n\n", "def second(b):\n    return b * 2\n\n", "x = 1\n\n"]


def _tokens(text: str) -> tuple[np.ndarray, np.ndarray]:
    """A token a character that isn't blank: its code point, its offsets."""
    places = np.array([i for i, c in enumerate(text) if not c.isspace()])
    return np.array([ord(text[i]) for i in places]), np.stack([places, places + 1], axis=1)


def test_the_block_that_holds_the_term_has_the_most() -> None:
    text = "".join(BLOCKS * 12) + "def wanted(q):\n    return q\n"
    ids, offsets = _tokens(text)
    layout = line_layout(text)
    found = line_evidence(
        np.array([ord("q")]),
        ids,
        np.searchsorted(layout.spans[:, 0], offsets[:, 0], side="right") - 1,
        layout,
    )
    lines = text.splitlines()
    assert found.argmax() in (len(lines) - 2, len(lines) - 1)
    assert found.max() > 0.9
    assert (found[: len(lines) - 30] == 0).all(), "lines far from the term have none"


def test_no_term_no_evidence() -> None:
    text = "".join(BLOCKS)
    ids, offsets = _tokens(text)
    assert (token_evidence(np.array([ord("Z")]), ids, offsets, line_layout(text)) == 0).all()
    assert (token_evidence(np.array([], np.int64), ids, offsets, line_layout(text)) == 0).all()


def test_nothing_in_nothing_out() -> None:
    none = np.zeros(0, np.int64)
    assert token_evidence(np.array([65]), none, none.reshape(0, 2), line_layout("")).shape == (0,)


@given(st.text("ab q\n\t", max_size=300), st.lists(st.sampled_from("abqz"), unique=True))
def test_bounded_and_one_value_a_line(text: str, terms: list[str]) -> None:
    ids, offsets = _tokens(text)
    layout = line_layout(text)
    if not len(ids):
        return
    wanted = np.array(sorted(map(ord, terms)), np.int64)
    found = token_evidence(wanted, ids, offsets, layout)
    assert found.shape == (len(ids),)
    assert np.isfinite(found).all()
    assert ((found >= 0) & (found <= 1 + 1e-9)).all()
    if not set(wanted) & set(ids):
        assert (found == 0).all()


def test_stop_words_go_and_names_keep_their_other_parts() -> None:
    assert content_words("How does the LRU Cache expire?").split() == ["LRU", "Cache", "expire?"]
    assert content_words("open_for_read").split() == ["open_", "_read"]
    assert content_words("What is it?").strip(" ?") == ""


def test_evidence_moves_scores_up_and_zero_leaves_them() -> None:
    scores = np.array([0.2, 0.5, 0.9])
    np.testing.assert_allclose(with_evidence(scores, np.zeros(3), 4.0), scores, atol=1e-6)
    assert (with_evidence(scores, np.ones(3), 4.0) > scores).all()
    assert with_evidence(np.array([0.5]), np.array([0.5]), 2.0) == pytest.approx(1 / (1 + np.exp(-1)))
