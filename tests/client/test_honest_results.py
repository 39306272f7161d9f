"""What a result says of itself: whether anything was cut and why not, what the code is, how the query was read."""

from typing import Any

import pytest
from lamr_client import MockTransport, Pruner
from lamr_model.query_kind import is_foreign

from tests.postprocess.test_minified import BUNDLE
from tests.tiny import program

from .answers import answer

QUERY = "Where is the retry limit?"


@pytest.fixture
def transport() -> MockTransport:
    return MockTransport(answer)


def test_minified_code_is_answered_at_once_with_what_it_is(transport: MockTransport) -> None:
    with Pruner(transport=transport) as pruner:
        result = pruner.prune(QUERY, BUNDLE, path="a.js", effort="full")
        assert (result.text, result.status, result.kept_lines) == (BUNDLE, "passthrough", (1,))
        assert result.reason == "minified: 1 line of 64,034 characters"
        assert (result.relevance, result.effort, result.language) == (None, None, "javascript")
        parts = pruner.prune(QUERY, BUNDLE, path="a.js", excerpts=True)
        assert parts.status == "pruned"
        assert "function retryLimit(n){return n<5}" in parts.text
        assert parts.text.startswith("// ... minified: 1 line of 64,034 characters; the parts around")
        assert parts.tokens_out < 400
        nothing = pruner.prune("wholly absent", BUNDLE, path="a.js", excerpts=True)
        assert nothing.reason == "minified: 1 line of 64,034 characters; nothing that fits matches the query"
        few = pruner.prune(QUERY, BUNDLE, path="a.js", max_tokens=90)
        assert (few.status, few.kept_lines, few.tokens_out <= 90) == ("pruned", (), True)
        assert "excerpts would show" in few.reason
    assert not transport.requests


def test_an_image_in_a_notebook_makes_no_minified_file(transport: MockTransport) -> None:
    code = '{\n "image": "' + "QUJD" * 9_000 + '",\n' + '  "source": "def area(width):"\n' * 30 + "}\n"
    with Pruner(transport=transport) as pruner:
        assert "minified" not in (pruner.prune(QUERY, code, path="a.ipynb").reason or "")


@pytest.mark.parametrize(
    ("code", "options", "why"),
    [
        ("", {}, "the code is empty"),
        (" \n\n", {}, "the code holds nothing but white space: kept as it is"),
        (
            program(3),
            {"threshold": 0},
            "nothing was cut: every line is selected, or needed by a selected line",
        ),
        (program(3), {"max_tokens": 9_999}, "nothing was cut: the code fits into the budget"),
        ("x = 1\n", {"threshold": 1}, "kept whole: markers would make it longer than the original"),
    ],
)
def test_where_nothing_was_cut_the_result_says_why(
    transport: MockTransport, code: str, options: dict, why: str
) -> None:
    with Pruner(transport=transport) as pruner:
        result = pruner.prune(QUERY, code, path="a.py", effort="instant", **options)
    assert (result.status, result.text, result.cuts) == ("passthrough", code, ())
    assert result.reason == why


_WORDS = "limit retry limited where is the number of retries el no handle tornado"
VOCABULARY = frozenset(_WORDS.split())


@pytest.mark.parametrize(
    ("query", "foreign"),
    [
        ("如何限制重试次数?", True),
        ("ここで retryLimit はどう使われますか", True),
        ("Где ограничено число повторов?", True),
        ("Wo wird die Anzahl der Wiederholungen begrenzt?", True),
        ("¿Dónde se limita el número de reintentos?", True),
        ("Where is the number of retries limited?", False),
        ("What does xyzzy do?", False),
        ("fooBarBaz quux_corge HTTPProxyThing gettimeofday", False),
        ("Müller limited the retries", False),
    ],
)
def test_languages_of_queries(query: str, foreign: bool) -> None:
    assert is_foreign(query, VOCABULARY) is foreign


def test_a_query_in_another_language_finds_lines_by_its_words_and_says_so(transport: MockTransport) -> None:
    code = program(30) + "def retry_limit(limit):\n    retries = limit\n    return retries\n" + program(30)
    with Pruner(transport=transport) as pruner:
        result = pruner.prune("ここで retry_limit はどう使われますか", code, path="a.py", effort="full")
        assert "    retries = limit\n" in result.text
        assert result.cuts
        assert str(result.effort) == "words"
        assert result.reason.startswith(
            "the model doesn't read the query's language: lines were found by the words"
        )
        assert "retry_limit" in result.reason
        blind = pruner.prune("如何限制重试次数?", code, path="a.py")
        assert "no word of it occurs in the code" in blind.reason
    assert not transport.requests


@pytest.mark.parametrize("options", [{}, {"max_tokens": 60}, {"min_tokens": 9_999}, {"line_numbers": True}])
@pytest.mark.parametrize("sign", ["\u200b", "\U000e0041", "\u3164", "\u00ad", "\ufe01"])
def test_lines_that_hide_something_are_counted_and_stay(
    transport: MockTransport, options: dict[str, Any], sign: str
) -> None:
    code = program(3).replace("\n", f"  # {sign}\n", 2)
    with Pruner(transport=transport) as pruner:
        result = pruner.prune(QUERY, code, keep=[1], **options)
    assert result.unseen == result.text.count(sign) > 0
    assert result.to_dict()["unseen"] == result.unseen
    assert f"{result.unseen} of the lines shown have invisible characters" in (result.reason or "")
