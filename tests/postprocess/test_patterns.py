"""Expressions of strangers: found as `re` finds them, refused where they are none, given up where they don't end."""

from __future__ import annotations

import re

import pytest
from lamr_errors import InvalidInputError
from lamr_postprocess import patterns, prune_lines
from lamr_postprocess.patterns import LineSearch

LINES = ["def put(self, item):\r\n", "    # naïve\n", "x = 'a|b'\n", "\n", "class Größe:"]
ENDLESS = "^(a|aa)+$"
WORDS = "a" * 80 + "!"


@pytest.mark.parametrize(
    "pattern", [r"\bput\(", r"^\s+#", "a|b", "^$", r"ö\w+:$", r"(?i)CLASS", r"(?P<n>x) ="]
)
def test_lines_are_found_as_by_re(pattern: str) -> None:
    search = LineSearch(pattern, "keep")
    assert [search.found_in(line) for line in LINES] == [
        re.search(pattern, line.rstrip("\r\n")) is not None for line in LINES
    ]


@pytest.mark.parametrize("pattern", ["(", "[a", "*", r"(?P<n"])
def test_what_is_no_expression_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidInputError, match=r"keep: .* is not a regular expression"):
        LineSearch(pattern, "keep")


def test_an_expression_that_doesnt_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "MOST_SECONDS", 0.1)
    with pytest.raises(InvalidInputError, match="write it without repetitions within repetitions"):
        prune_lines(f"x = 1\n{WORDS}\n", [0.0, 0.0], keep=[ENDLESS])
