"""The words of a query: in their order, described by where and how they are written, of any text at all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lamr_model.scoring.query_words import FEATURES, QueryWords, name_terms
from lamr_model.words import query_terms

RANKS = {"pool": 0, "retry": 1}


def known(query: str, task: str = "", path: str = "") -> dict[str, dict[str, float]]:
    """What is known of each word."""
    words = QueryWords.of(query, task, path, RANKS)
    return {
        term: dict(zip(FEATURES, row.tolist(), strict=True))
        for term, row in zip(words.terms, words.features, strict=True)
    }


def test_terms_are_those_of_the_query_in_their_order_and_code_is_told_from_chatter() -> None:
    query = "Retry the connect_pool of RetryPolicy when it is closed"
    assert list(known(query)) == query_terms(query)
    assert list(known("retry", "then close the pool")) == ["retry", "clos", "pool"]
    words = known("please look at `pool`, retry_count and os.path, it is HTTP")
    code = {name for name, word in words.items() if word["code"]}
    assert {"pool", "retry", "count", "retry_count", "os", "path"} <= code
    assert not code & {"pleas", "look", "http"}
    assert words["retry_count"]["compound"] == 1 > words["retry"]["compound"]


def test_titles_tasks_ranks_paths_and_questions_are_told() -> None:
    words = known("pool is slow\n" + "chatter " * 60 + "\nretry", "helper pool")
    assert words["pool"]["title"] == 1 > words["retry"]["title"]
    assert (words["helper"]["task"], words["pool"]["task"]) == (1, 0)
    assert words["chatter"]["count"] > words["retry"]["count"]
    assert words["pool"]["first"] < words["retry"]["first"] <= 1
    words = known("pool retry zebra", path="src/ConnectPool.test.py")
    assert words["pool"]["rank"] == 0 < words["retry"]["rank"] <= 1 < words["zebra"]["rank"]
    assert [word["unknown"] for word in words.values()] == [0, 0, 1]
    assert [word["path"] for word in words.values()] == [1, 0, 0]
    assert name_terms("a\\b\\ConnectPool.test.py") == {"connect", "pool", "connectpool"}
    assert name_terms("") == frozenset()
    assert known("where is the pool?")["pool"]["asks"] == 1
    assert known("close the pool")["pool"]["asks"] == 0


@pytest.mark.parametrize("query", ["", " \n", "the of and", "!?.", "\0\ud800", "a b c"])
def test_a_query_of_no_words_has_none(query: str) -> None:
    words = QueryWords.of(query, "", "", RANKS)
    assert words.terms == ()
    assert words.features.shape == (0, len(FEATURES))


def test_very_long_queries_are_read_at_both_ends() -> None:
    words = known("alpha " + "x1y2 " * 400_000 + " omega")
    assert {"alpha", "omega"} <= set(words)
    assert len(known(" ".join(f"word{number}x" for number in range(2_000)))) > 1_900


@given(st.text(max_size=80), st.text(max_size=40), st.text(max_size=20))
def test_any_text_gives_finite_numbers(query: str, task: str, path: str) -> None:
    words = QueryWords.of(query, task, path, {})
    assert len(set(words.terms)) == len(words.terms) == len(words.features)
    assert np.isfinite(words.features).all()
