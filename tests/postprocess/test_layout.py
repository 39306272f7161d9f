"""Lines form blocks, which are functions, methods and paragraphs, and each token belongs to one line."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lamr_postprocess.layout import line_layout, token_lines

CODE = "import a\n\nclass B:\n    x = 1\n\n    def c(self):\n        y = 2\n\n        return y\n\ndef d(): pass\n"


def test_a_method_is_a_block_and_an_empty_line_inside_doesnt_end_it() -> None:
    layout = line_layout(CODE)
    assert layout.blocks.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 3]
    assert layout.block_starts.tolist() == [0, 2, 5, 10]
    assert line_layout("").block_starts.shape == (0,)


@pytest.mark.parametrize("end", ["\n", "\r"])
def test_a_token_of_white_space_belongs_to_the_line_that_it_opens(end: str) -> None:
    text = f"a{end}    b{end}{end}c"
    offsets = np.array([[0, 1], [1, 6], [6, 7], [7, 8], [9, 10]])
    assert token_lines(offsets, line_layout(text)).tolist() == [0, 1, 1, 1, 3]
    assert token_lines(np.zeros((0, 2), np.int64), line_layout(text)).tolist() == []
    assert token_lines(np.zeros((1, 2), np.int64), line_layout("")).tolist() == [0]


def test_a_token_belongs_to_the_line_of_its_first_ink() -> None:
    text = "f(x);\n\n  y\n"
    offsets = np.array([[0, 4], [4, 7], [7, 10], [10, 11]])
    assert token_lines(offsets, line_layout(text)).tolist() == [0, 0, 2, 2]


def test_form_feeds_and_separators_end_no_line() -> None:
    text = "a\fb\u2028c\x1cd\r\ne"
    offsets = np.array([[n, n + 1] for n in range(len(text))])
    assert token_lines(offsets, line_layout(text)).tolist() == [0] * 9 + [1]


@given(st.text("ab \n\r", max_size=40), st.lists(st.integers(0, 40), max_size=8))
def test_lines_of_tokens_are_those_of_a_plain_reading(text: str, cuts: list[int]) -> None:
    bounds = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    offsets = np.array([[a, b] for a, b in itertools.pairwise(bounds)], np.int64).reshape(-1, 2)
    layout = line_layout(text)
    expected = []
    for a, b in offsets.tolist():
        place = next((n for n in range(a, b) if not text[n].isspace()), b - 1)
        expected.append(int(np.searchsorted(layout.spans[:, 1], place, side="right")))
    assert token_lines(offsets, layout).tolist() == expected
