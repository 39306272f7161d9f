"""Headers of a place: those a reader would name, in linear time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from lamr_model.chunking import MOST_HEADERS, enclosing_lines, header_tokens, innermost_headers
from lamr_postprocess.layout import line_layout

CODE = """import os

class Session:
    timeout = 3

    @cached
    def send(
        self,
        request,
    ) -> None:
        if request:

            return os

def last(): pass
"""


def headers(text: str, place: int) -> list[str]:
    lines = text.split("\n")
    return [lines[n].strip() for n in enclosing_lines(line_layout(text), [place])[0]]


def test_a_statement_stands_in_its_branch_method_and_class_in_any_language() -> None:
    assert headers(CODE, 12) == ["class Session:", "def send(", "if request:"]
    assert headers(CODE, 3) == ["class Session:"]
    assert headers(CODE, 14) == []
    assert headers(CODE, 11) == headers(CODE, 12), "a blank line has the headers of the next one"
    code = "namespace a {\n  class B {\n    void c()\n    {\n      d();\n    }\n  };\n}\n"
    assert headers(code, 4) == ["namespace a {", "class B {", "void c()"]


@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from(["x", ")", "", "# y"])), max_size=40))
def test_many_places_at_once_give_what_each_gives_alone(rows: list[tuple[int, str]]) -> None:
    text = "\n".join(" " * depth + mark for depth, mark in rows)
    layout = line_layout(text)
    places = list(range(len(layout.spans)))
    together = enclosing_lines(layout, places)
    for place, lines in zip(places, together, strict=True):
        assert lines == enclosing_lines(layout, [place])[0]
        columns = layout.columns[lines].tolist()
        assert columns == sorted(set(columns))
        assert all(number < place or layout.blank[place] for number in lines)


def test_header_tokens_come_before_the_chunk_and_are_bounded() -> None:
    words = [(m, m + 1) for m, c in enumerate(CODE) if not c.isspace()]
    offsets = np.array(words, np.int64)
    starts = np.arange(0, len(offsets), 9)
    plan = np.stack([starts, np.minimum(starts + 12, len(offsets))], axis=1)
    for most in (0, 5, 20):
        headers = header_tokens(offsets, line_layout(CODE), plan, most)
        assert len(headers) == len(plan)
        for (first, _), tokens in zip(plan, headers, strict=True):
            assert len(tokens) <= most
            assert (np.diff(tokens) > 0).all()
            assert (tokens < first).all()
    assert any(len(tokens) == 20 for tokens in header_tokens(offsets, line_layout(CODE), plan, 20))


def test_deep_nesting_costs_no_more_than_the_outermost_headers() -> None:
    deep = "\n".join(" " * n + "x" for n in range(1500))
    deep_headers = enclosing_lines(line_layout(deep), np.arange(1500))
    assert max(map(len, deep_headers)) == MOST_HEADERS
    assert deep_headers[-1] == list(range(MOST_HEADERS))


@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from(["x", ")", "", "# y"])), max_size=40))
def test_the_innermost_header_is_the_last_one(rows: list[tuple[int, str]]) -> None:
    layout = line_layout("\n".join(" " * depth + mark for depth, mark in rows))
    places = np.flatnonzero(~layout.blank)
    expected = [lines[-1] if lines else -1 for lines in enclosing_lines(layout, places)]
    assert innermost_headers(layout)[places].tolist() == expected
    assert (innermost_headers(layout)[layout.blank] == -1).all()
