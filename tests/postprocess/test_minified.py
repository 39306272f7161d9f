"""Texts that weren't written by lines: what they are said to be, and the parts around what is looked for."""

from __future__ import annotations

import pytest
from lamr_postprocess import Comment, line_spans
from lamr_postprocess.minified import minified, parts_around

BUNDLE = "var a=1;" * 4_000 + "function retryLimit(n){return n<5}" + "var b=2;" * 4_000
SLASHES = Comment("//")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BUNDLE, "minified: 1 line of 64,034 characters"),
        (f"// licence\n{BUNDLE}\n", "minified: 1 of 2 lines hold 64,035 of 64,046 characters"),
        ("x = 1\n" * 20_000, ""),
        ("x" * 9_000, ""),
        ("x" * 11_000 + "\n" + "y = 1\n" * 2_000, ""),
        ("", ""),
    ],
)
def test_what_a_text_is_said_to_be(text: str, said: str) -> None:
    assert minified(line_spans(text)) == said


def test_parts_hold_the_rarest_words_and_say_where_they_are() -> None:
    text = f"// licence\n{BUNDLE}\n"
    parts = parts_around(text, line_spans(text), ["retry", "limit"], SLASHES, lambda _: True)
    title, part = parts.splitlines()
    assert title == "// ... line 2, characters 31,910-32,149"
    assert "function retryLimit(n){return n<5}" in part
    assert part in text


def test_parts_end_where_no_more_fit() -> None:
    text = "retry;" + "x" * 1_000 + "retry;" + "x" * 1_000 + "retry;" + "x" * 20_000
    every = parts_around(text, line_spans(text), ["RETRY"], SLASHES, lambda _: True)
    assert every.count("// ... line 1") == 3
    fewer = parts_around(text, line_spans(text), ["retry"], SLASHES, lambda answer: len(answer) < 600)
    assert fewer.count("// ... line 1") == 2
    assert parts_around(text, line_spans(text), ["retry"], SLASHES, lambda _: False) == ""
    assert parts_around(text, line_spans(text), ["none", "("], SLASHES, lambda _: True) == ""
    assert parts_around(text, line_spans(text), [], SLASHES, lambda _: True) == ""
