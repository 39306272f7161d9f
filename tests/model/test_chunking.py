"""Every token is covered, no window is exceeded, and cuts fall where a reader would cut."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamr_model.chunking import fixed_chunks, plan_chunks
from lamr_model.encoding import slice_bounds
from lamr_postprocess.layout import line_layout

lines = st.lists(st.sampled_from(["a", "  b c", "\tif x", "", "   ", "}", "q" * 3, "w " * 30]), max_size=120)


def words(text: str) -> np.ndarray:
    """Offsets of a tokenizer that drops white space."""
    return np.array([match.span() for match in re.finditer(r"\S", text)], np.int64).reshape(-1, 2)


@settings(max_examples=150, deadline=None)
@given(
    lines=lines,
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    tokens=st.integers(1, 40),
    overlap=st.integers(0, 60),
)
def test_plan_covers_every_token_within_the_window(lines, end, tokens, overlap):
    text = end.join(lines)
    offsets = words(text)
    plan = plan_chunks(offsets, line_layout(text), tokens, overlap)
    assert plan.dtype == np.int64
    covered = np.zeros(len(offsets), np.int64)
    for first, last in plan:
        assert 0 < last - first <= tokens
        covered[first:last] += 1
    assert np.all(covered > 0)
    assert np.all(np.diff(plan, axis=0) > 0) or len(plan) < 2
    assert len(plan) <= 4 * len(offsets) / tokens + 1
    np.testing.assert_array_equal(plan, plan_chunks(offsets, line_layout(text), tokens, overlap))


def test_no_tokens_no_chunks():
    assert plan_chunks(words(" \n\n"), line_layout(" \n\n"), 8, 2).shape == (0, 2)


def functions(count: int, body: int) -> str:
    return "\n".join(f"def f{i}():\n" + "    x y z\n" * body for i in range(count))


def test_cuts_fall_between_functions():
    text = functions(12, 5)
    offsets = words(text)
    plan = plan_chunks(offsets, line_layout(text), 60, 0)
    assert len(plan) > 3
    for first, _ in plan:
        assert text[offsets[first, 0] :].startswith("def ")


def test_overlap_is_about_what_is_asked_and_line_aligned():
    text = "\n".join(f"{i:04d} abc" for i in range(400))
    offsets = words(text)
    starts = set(line_layout(text).spans[:, 0].tolist())
    plan = plan_chunks(offsets, line_layout(text), 140, 28)
    shared = plan[:-1, 1] - plan[1:, 0]
    assert np.all(shared >= 14)
    assert np.all(shared <= 42)
    assert all(offsets[first, 0] in starts for first, _ in plan)
    assert all(offsets[last, 0] in starts for _, last in plan[:-1])


def test_line_beyond_the_window_is_cut_anywhere():
    text = "a\n" + "b" * 1000 + "\nc\n"
    plan = plan_chunks(words(text), line_layout(text), 100, 10)
    assert plan[0].tolist() == [0, 100]
    assert plan[1].tolist() == [90, 190]


@pytest.mark.parametrize("closer", ["}", "{", ")"])
def test_lone_brackets_stay_with_what_they_close(closer):
    text = "\n".join(["aaaa"] * 10 + ["  bbbb"] * 8 + [closer, "", "cccc"] + ["  dddd"] * 30)
    offsets = words(text)
    last = plan_chunks(offsets, line_layout(text), 80, 0)[0, 1]
    assert text[offsets[last, 0] :].startswith("cccc")


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from("ab \t\r\n\f\x1c\u2028\x85}"), max_size=60))
def test_layout_agrees_with_a_plain_reading(text):
    layout = line_layout(text)
    plain = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", text)
    assert "".join(plain) == text
    assert layout.spans[:, 0].tolist() == np.cumsum([0, *map(len, plain)])[:-1].tolist()
    assert layout.blank.tolist() == [not line.strip() for line in plain]
    assert len(layout.cut_cost) == len(plain)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_indentation_tokens_go_with_the_line_they_indent(end):
    text = end.join(["top"] + ["    inner"] * 60)
    offsets = np.array([match.span() for match in re.finditer(r"\S|\r?\n *", text)], np.int64)
    plan = plan_chunks(offsets, line_layout(text), 50, 0)
    assert len(plan) > 5
    assert {text[slice(*offsets[first])] for first, _ in plan[1:]} == {end + "    "}


def test_slices_begin_at_single_spaces_between_words():
    bounds = slice_bounds("a b  c (d e) \u00e9 f 1 2 \n" * 1000)
    assert {place % 22 for place in bounds[1:-1]} <= {1, 9, 16, 18}
    assert len(bounds) > 10


@given(n=st.integers(0, 90), tokens=st.integers(1, 40), overlap=st.integers(0, 60))
def test_fixed_chunks_are_those_of_a_loop(n, tokens, overlap):
    stride = tokens - (overlap if overlap < tokens else 0)
    chunks = []
    while n and (not chunks or chunks[-1][1] < n):
        start = len(chunks) * stride
        chunks.append([start, min(start + tokens, n)])
    assert fixed_chunks(n, tokens, overlap).tolist() == chunks
