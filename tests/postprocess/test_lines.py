"""Lines end at LF, CRLF and CR alone, tokens and their scores land on them, and they form blocks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamr_postprocess import approximate_tokens, line_spans, split_lines
from lamr_postprocess.byte_counts import approximate_tokens_of_lines
from lamr_postprocess.layout import line_layout, token_lines
from lamr_postprocess.lines import CharacterMeans, TokenLines, code_points

NEWLINES = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029 \tab\ufeffé😀"


def slow_split(text: str) -> list[str]:
    lines, start, at = [], 0, 0
    while at < len(text):
        step = 2 if text.startswith("\r\n", at) else 1
        if text[at] in "\r\n":
            lines.append(text[start : at + step])
            start = at + step
        at += step
    return lines + ([text[start:]] if start < len(text) else [])


@given(st.text(alphabet=NEWLINES))
def test_split_matches_a_character_loop(text: str) -> None:
    assert split_lines(text) == slow_split(text)
    assert [text[start:stop] for start, stop in line_spans(text).tolist()] == slow_split(text)


@given(st.text(alphabet=NEWLINES + "\ud800"))
def test_each_line_has_as_many_tokens_as_it_has_alone(text: str) -> None:
    assert approximate_tokens_of_lines(text).tolist() == list(map(approximate_tokens, slow_split(text)))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("a", 1),
        ("a\n", 1),
        ("a\n\n", 2),
        ("\r\n\r", 2),
        ("a\x0cb\x1c\u2028c\x85", 1),
        ("\ud800\n", 1),
    ],
)
def test_line_counts(text: str, count: int) -> None:
    spans = line_spans(text)
    assert spans.shape == (count, 2)
    assert "".join(split_lines(text)) == text


def slow_scores(scores: list[float], offsets: list[tuple[int, int]], text: str) -> list[float | None]:
    out: list[float | None] = []
    at = 0
    for line in slow_split(text):
        got = [
            s
            for s, (a, b) in zip(scores, offsets, strict=True)
            for c in range(a, b)
            if at <= c < at + len(line)
        ]
        out.append(sum(got) / len(got) if got and line.strip() else None)
        at += len(line)
    return out


def token_means(scores, offsets, text: str):
    return TokenLines(np.reshape(offsets, (-1, 2)), code_points(text), line_spans(text)).means(scores)


@settings(deadline=None)
@given(st.data())
def test_scores_match_a_character_loop(data: st.DataObject) -> None:
    text = data.draw(st.text(alphabet="ab \n\r\té", max_size=40))
    edges = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=20)))
    offsets = list(zip(edges[::2], edges[1::2], strict=False))
    scores = [data.draw(st.floats(0, 1, width=32)) for _ in offsets]
    got = token_means(scores, np.array(offsets).reshape(-1, 2), text)
    want = slow_scores(scores, offsets, text)
    assert got.dtype == np.float32
    known = [i for i, value in enumerate(want) if value is not None]
    for i, value in enumerate(want):
        before, after = [k for k in known if k <= i], [k for k in known if k >= i]
        near = [want[k] for k in (before[-1:] or after[:1]) + (after[:1] or before[-1:])]
        expected = value if value is not None else min((v for v in near if v is not None), default=0.0)
        assert got[i] == pytest.approx(expected, abs=1e-5)


def test_no_tokens_score_nothing_a_blank_line_follows_its_neighbours_and_tokens_over_lines_split() -> None:
    assert token_means([], [], "a\nb").tolist() == [0.0, 0.0]
    assert token_means([], [], "").shape == (0,)
    text = "a\n\nb\n\nc\n"
    got = token_means([1.0, 0.8, 0.1], [(0, 1), (3, 4), (6, 7)], text)
    assert got.tolist() == pytest.approx([1.0, 0.8, 0.8, 0.1, 0.1])
    got = token_means([1.0, 0.0], [(0, 5), (5, 6)], "a\nbcd\n")
    assert got.tolist() == pytest.approx([1.0, 0.75])


@pytest.mark.parametrize(
    ("scores", "offsets", "message"),
    [([1.0], [], "token offsets"), ([np.nan], [(0, 1)], "finite"), ([1.0], [(0, 99)], "bytes")],
)
def test_bad_tokens_are_refused(scores: list[float], offsets: list[tuple[int, int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        token_means(scores, offsets, "abc\n")


def test_large_texts_are_cheap() -> None:
    text = "x = 'abcdefgh'\n" * 300_000 + "y" * 1_000_000
    starts = np.arange(0, len(text) - 4, 4)
    got = token_means(np.ones(len(starts)), np.stack([starts, starts + 4], axis=1), text)
    assert got.shape == (300_001,)
    assert got.min() == 1.0


@settings(deadline=None)
@given(st.data())
def test_means_over_characters_match_a_character_loop(data: st.DataObject) -> None:
    text = data.draw(st.text(alphabet="ab \n\r\té", max_size=40))
    edges = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=20)))
    offsets = list(zip(edges[::2], edges[1::2], strict=False))
    scores = [data.draw(st.floats(0, 1, width=32)) for _ in offsets]
    held = {
        place: score
        for score, (first, last) in zip(scores, offsets, strict=True)
        for place in range(first, last)
    }
    points, spans = code_points(text), line_spans(text)
    want = []
    for first, last in spans.tolist():
        own = [held[place] for place in range(first, last) if place in held and text[place] not in "\r\n"]
        want.append(sum(own) / len(own) if own else 0.0)
    got = CharacterMeans(np.array(offsets).reshape(-1, 2), points, spans).means(scores)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, want, atol=1e-6)


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


def test_a_token_belongs_to_the_line_of_its_first_ink_which_separators_do_not_end() -> None:
    text = "f(x);\n\n  y\n"
    offsets = np.array([[0, 4], [4, 7], [7, 10], [10, 11]])
    assert token_lines(offsets, line_layout(text)).tolist() == [0, 0, 2, 2]
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
