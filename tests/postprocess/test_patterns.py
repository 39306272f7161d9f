"""Expressions of strangers: found as `re` finds them, refused where they are none, bounded in time and memory."""

from __future__ import annotations

import re
import sys
import time

import pytest
from lamr_base.errors import InvalidInputError
from lamr_postprocess import patterns, prune_lines
from lamr_postprocess.patterns import LineSearch, SearchTime, check_expressions

LINES = [
    "def put(self, item):\r\n",
    "    # naïve\n",
    "x = 'a|b'\n",
    "\n",
    "class Größe:\r",
    "\tÉté \u211642 ٣\u2003→ \u2028 \u017f K\n",
    "a\x00b \x1c\x85 \x0b\x08[]^-\\{,2} aa\n",
    "foo.bar_1(2) \U0001f600 e\u0301\n",
    "e\u0301\n",
    "a\u203fb",
    "T\u0130TLE\n",
    "s\u0131n\n",
]
EXPRESSIONS = [
    *(r"\bput\(", r"^\s+#", "a|b", "^$", r"ö\w+:$", r"(?i)CLASS", r"(?P<n>x) =", "", ".", r"\A\tÉ", r"e\Z"),
    *(
        r"\d",
        r"\D",
        r"\w",
        r"\W",
        r"\s",
        r"\S",
        r"^\S*$",
        r"^\w+$",
        r"\u2116\d\d \d",
        r"[\w.]+\(\d\)",
        r"[^\W\d_]{3}",
    ),
    *(
        r"[^\S\r\n]#",
        r"[\W]b",
        r"[\D]$",
        r"[^\D]",
        r"[^\w\s]",
        r"\x00",
        r"\u2028",
        r"\U0001f600",
        r"[\u2028x]",
    ),
    *(
        r"[\b]",
        r"[]^-]",
        r"[^]a-z ]",
        r"\[\]",
        r"a{,2}b",
        r"[{,2}]{3}",
        r"\{,2\}",
        r"a(?#why)a",
        r"(?m)^x$|e:$",
    ),
    *(
        r"(?s)a.b",
        r"(?i:É)",
        r"(?u)été",
        r"(?i)ÉTÉ",
        r"(?mi)^CLASS",
        r"(?-m:^x)",
        r"\É",
        r"\ \#",
        r"\t\É",
        r"[\-a]\|",
    ),
    *(
        r"(a|aa)+$",
        r"x*",
        r"^.{3}\t?",
        r"\Bass\b",
        "\u017f",
        r"\07|\010",
        r"\x5b",
        r"[\x5b-\x5d]",
        r"(?:a)(?P<b>b)?",
        "-",
    ),
    # Python takes four signs for one letter where case is ignored.
    *(
        "(?i)title",
        "(?i)T[i]t",
        "(?i)s[^i]n",
        "(?i)[a-k]tle",
        r"(?i)\x69n",
        "(?i:i)n",
        "(?i)t(?-i:i)t",
        "(?i)\u0131t",
    ),
    *("(?i:x)|in", "(?i)(a|in)$", "[\u0130-\u0131]"),
]


@pytest.mark.parametrize("pattern", EXPRESSIONS)
def test_lines_are_found_as_by_re(pattern: str) -> None:
    expected = [at for at, line in enumerate(LINES) if re.search(pattern, line.rstrip("\r\n"))]
    assert list(LineSearch(pattern, "keep").found(LINES)) == expected
    alone = [at for at, line in enumerate(LINES) if list(LineSearch(pattern, "keep").found([line]))]
    assert alone == expected


@pytest.mark.parametrize(
    "pattern", ["(", "[a", "*", r"(?P<n", "a)(b", "[z-a]", "\\", r"\C", r"\Qa\E", "(?x)a", "\ud800"]
)
def test_what_is_no_expression_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidInputError, match=r"keep: .* is not a regular expression"):
        LineSearch(pattern, "keep")


@pytest.mark.parametrize(
    ("pattern", "remedy"),
    [
        *((pattern, "look-around") for pattern in ("(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b")),
        *((pattern, "back references") for pattern in (r"(a)\1", "(?P<n>a)(?P=n)", r"(?P<n>a)\k<n>")),
        *((pattern, "tried twice") for pattern in ("a++", "(?>a)")),
        *(
            (pattern, "counts go up to")
            for pattern in ("a{1001}", "(?:(?:a{1000}){1000}){1000}", r"\pL{1000}")
        ),
    ],
)
def test_what_takes_more_than_linear_time_says_what_to_write(pattern: str, remedy: str) -> None:
    with pytest.raises(InvalidInputError, match=remedy):
        LineSearch(pattern, "keep")


@pytest.mark.parametrize(
    "pattern", ["^(a|aa)+$", "(a+)+$", "(x+x+)+y", "(?:a?){300}a{300}", "(.*)*x", "([a-z]+)*="]
)
def test_expressions_that_backtrack_end_soon(pattern: str) -> None:
    begin = time.process_time()
    assert not list(LineSearch(pattern, "keep").found(["a" * 250 + "!"] * 200))
    assert time.process_time() - begin < 2


def test_a_line_that_an_expression_could_take_long_on_is_refused_before() -> None:
    with pytest.raises(InvalidInputError, match="is too large for a line of 2,000,000 bytes"):
        list(LineSearch("[ab]*a[ab]{900}x", "keep").found(["ab" * 1_000_000]))


def test_the_time_is_one_for_all_expressions_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = SearchTime(0.0)
    with pytest.raises(InvalidInputError, match="searches for more than"):
        list(LineSearch("x", "keep", seconds).found(LINES))
    monkeypatch.setattr(patterns, "MOST_SECONDS", 0.0)
    with pytest.raises(InvalidInputError, match="searches for more than"):
        prune_lines("x = 1\ny = 2\n", [0.0, 0.0], keep=["x"])


def test_expressions_are_bounded_and_none_is_kept_when_it_was_used() -> None:
    check_expressions(["x"] * patterns.MOST_EXPRESSIONS, "keep")
    for many in (["x"] * (patterns.MOST_EXPRESSIONS + 1), ["x" * 10_001] * 2, ["|" * 20_001]):
        with pytest.raises(InvalidInputError, match="keep: "):
            check_expressions(many, "keep")
    assert list(LineSearch("x$", "keep").found(["\ud800 x", "\udfff", "x"])) == [0, 2]
    LineSearch("a", "keep")
    assert sys.modules["re2"]._Regexp._make.cache_info().currsize == 0
