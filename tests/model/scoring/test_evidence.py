"""Lexical evidence points where the query's words are; a query of code asks for what comes next."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamr_model.scoring.evidence import going_on, is_code, lexical_views
from lamr_model.words import TermIndex, query_terms
from lamr_postprocess.layout import line_layout


def line_evidence(query: str, text: str) -> np.ndarray:
    layout = line_layout(text)
    return lexical_views(TermIndex.of(text, layout).counts(query_terms(query)), layout).mean()


BLOCKS = ["def first(a):\n    return a\n\n", "def second(b):\n    return b * 2\n\n", "x = 1\n\n"]


def test_identifiers_match_by_their_words() -> None:
    text = "".join(BLOCKS * 12) + "def parseHTTPHeader(data):\n    return data\n"
    for query in ("parse the http header", "`parse_http_header`", "How are headers parsed?"):
        assert line_evidence(query, text).argmax() >= len(text.splitlines()) - 2, query


@pytest.mark.parametrize("query", ["zebra", "What is it that they do?", "?!"])
def test_no_word_no_evidence(query: str) -> None:
    text = "".join(BLOCKS)
    assert (line_evidence(query, text) == 0).all()


def test_the_block_that_holds_the_word_has_the_most() -> None:
    text = "".join(BLOCKS * 12) + "def wanted(quota):\n    return quota\n"
    evidence = line_evidence("Where is the quota checked?", text)
    count = len(text.splitlines())
    assert evidence.argmax() in (count - 2, count - 1)
    assert evidence.max() > 0.9
    assert (evidence[: count - 30] == 0).all(), "lines far from the word have none"
    assert line_evidence("word", "").shape == (0,)


@settings(deadline=None)
@given(st.text("ab q\n\t\r_", max_size=300), st.text("abqz ", max_size=12))
def test_bounded_and_one_value_a_line(text: str, query: str) -> None:
    layout = line_layout(text)
    evidence = line_evidence(query, text)
    assert evidence.shape == (len(layout.spans),)
    assert np.isfinite(evidence).all()
    assert ((evidence >= 0) & (evidence <= 1 + 1e-9)).all()


TAIL = "    def close(self):\n        self.open = False\n        self.socket.shutdown(SHUT_RDWR)"
FILE = """\
class Reader:
    def close(self):
        self.ended = True
        self.socket.shutdown(SHUT_RDWR)
        self.pool.give_back(self.socket)
        self.counter.lower()

    def name(self):
        return self.title


def unrelated(first, second):
    return first + second
"""


def _index(text: str) -> TermIndex:
    return TermIndex.of(text, line_layout(text))


@pytest.mark.parametrize(
    "query",
    [
        TAIL,
        "  if (closed) {\n    return;\n  }\n",
        '        """Say what a reader is."""\n        reader = Reader()\n',
    ],
)
def test_code_is_told_from_words(query: str) -> None:
    assert is_code(query)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "self.socket.shutdown(SHUT_RDWR)",
        "How is a socket closed?\nIt stays open (see #12).",
        "Close sockets\n\n* fix(pool): give sockets back when `close()` is called\n  and count them\n* docs = better",
        "Traceback (most recent call last):\n  …\nValueError: no socket",
        "I'll read the pool first:\n\n1. give_back()\n2. lower()\n   Both are called when a reader is closed",
    ],
)
def test_words_are_no_code(query: str) -> None:
    assert not is_code(query)


def test_lines_behind_a_line_like_the_last_one_go_on() -> None:
    lines = FILE.splitlines()
    found = going_on(TAIL, _index(FILE), len(lines))
    assert found.shape == (len(lines),)
    alike = lines.index("        self.socket.shutdown(SHUT_RDWR)")
    assert set(np.argsort(-found)[:2].tolist()) == {alike, alike + 1}
    assert found[alike + 1] > found[alike + 2] > found[alike + 3] > 0
    assert found[-2:].max() < found[alike + 1] / 2


def test_a_query_without_words_and_a_file_without_lines_have_nothing() -> None:
    assert not going_on("}\n}", _index(FILE), len(FILE.splitlines())).any()
    assert going_on(TAIL, _index(""), 0).shape == (0,)
