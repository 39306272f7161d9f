"""Lexical evidence: it points where the query's words are, and leaves everything else at 0."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamr_model.scoring.evidence import lexical_views
from lamr_model.words import TermIndex, query_terms
from lamr_postprocess.layout import line_layout


def line_evidence(query: str, text: str) -> np.ndarray:
    layout = line_layout(text)
    return lexical_views(TermIndex.of(text, layout).counts(query_terms(query)), layout).mean()


BLOCKS = ["def first(a):\n    return a\n\n", "def second(b):\n    return b * 2\n\n", "x = 1\n\n"]


def test_the_block_that_holds_the_word_has_the_most() -> None:
    text = "".join(BLOCKS * 12) + "def wanted(quota):\n    return quota\n"
    evidence = line_evidence("Where is the quota checked?", text)
    count = len(text.splitlines())
    assert evidence.argmax() in (count - 2, count - 1)
    assert evidence.max() > 0.9
    assert (evidence[: count - 30] == 0).all(), "lines far from the word have none"


def test_identifiers_match_by_their_words() -> None:
    text = "".join(BLOCKS * 12) + "def parseHTTPHeader(data):\n    return data\n"
    for query in ("parse the http header", "`parse_http_header`", "How are headers parsed?"):
        assert line_evidence(query, text).argmax() >= len(text.splitlines()) - 2, query


@pytest.mark.parametrize("query", ["zebra", "What is it that they do?", "?!"])
def test_no_word_no_evidence(query: str) -> None:
    text = "".join(BLOCKS)
    assert (line_evidence(query, text) == 0).all()


def test_nothing_in_nothing_out() -> None:
    assert line_evidence("word", "").shape == (0,)


@settings(deadline=None)
@given(st.text("ab q\n\t\r_", max_size=300), st.text("abqz ", max_size=12))
def test_bounded_and_one_value_a_line(text: str, query: str) -> None:
    layout = line_layout(text)
    evidence = line_evidence(query, text)
    assert evidence.shape == (len(layout.spans),)
    assert np.isfinite(evidence).all()
    assert ((evidence >= 0) & (evidence <= 1 + 1e-9)).all()
