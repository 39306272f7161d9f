"""Counts of terms equal those of a plain reading, identifier by identifier, in whatever script."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamr_model.words import TermIndex, query_terms, terms
from lamr_postprocess import split_lines
from lamr_postprocess.layout import line_layout

ALPHABET = "aAbBzZ019_ .(\n\r\u00e9\u00df\u0130\u212a\u00b2\u0663\u65e5\u03a3\u03c2\u01c5\u0301\u2028\x0c"


def plain(code: str, query: list[str]) -> tuple[list[list[int]], list[int]]:
    counts, lengths = [], []
    for line in split_lines(code):
        own = [term for identifier in re.findall(r"[^\W\d]\w*|\d+", line) for term in terms(identifier)]
        counts.append([own.count(term) for term in query])
        lengths.append(len(own))
    return counts, lengths


def check(code: str, query: list[str]) -> None:
    counts, lengths = plain(code, query)
    for layout in (None, line_layout(code)):
        counted = TermIndex(code, len(lengths), layout).counts(query)
        np.testing.assert_array_equal(counted.lines, np.reshape(counts, (len(lengths), len(query))))
        np.testing.assert_array_equal(counted.lengths, lengths)


@settings(max_examples=400, deadline=None)
@given(st.text(ALPHABET, max_size=60), st.data())
def test_any_text_and_any_of_its_terms(code: str, data: st.DataObject) -> None:
    own = sorted({term for token in re.findall(r"\w+", code + code.swapcase()) for term in terms(token)})
    chosen = data.draw(st.lists(st.sampled_from(own), unique=True, max_size=6)) if own else []
    check(code, [*chosen, "absent"])


@pytest.mark.parametrize(
    "code",
    [
        "parseHTTPHeader parse_http_header PARSE __parse__ _p 0x1F 12abc a1b2 1_000\n",
        "\u0130stanbul \u212aelvin \u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2 \u65e5\u672c_parse x\u00b2\u0663\n",
        "",
        "\n\n",
        "___ __ 7",
    ],
)
def test_identifiers_numbers_and_letters_beyond_ascii(code: str) -> None:
    tokens = re.findall(r"\w+", code)
    for query in ([term for token in tokens for term in terms(token)], query_terms(code), ["pars", "p", "7"]):
        check(code, list(dict.fromkeys(query)))


def test_lines_beyond_the_count_are_left_out() -> None:
    counted = TermIndex("red\nred red\nred", 2).counts(["red"])
    assert counted.lines.tolist() == [[1], [2]]
    assert counted.lengths.tolist() == [1, 2]


@settings(max_examples=300, deadline=None)
@given(st.text(ALPHABET, max_size=60), st.integers(0, 4))
def test_all_terms_of_a_text_are_those_of_its_identifiers(code: str, lines: int) -> None:
    expected = [
        (term, number)
        for number, line in enumerate(split_lines(code)[:lines])
        for identifier in re.findall(r"[^\W\d]\w*|\d+", line)
        for term in terms(identifier)
    ]
    for layout in (None, line_layout(code)):
        names, term, line = TermIndex(code, lines, layout).occurrences()
        assert [
            (names[place], number) for place, number in zip(term.tolist(), line.tolist(), strict=True)
        ] == expected
