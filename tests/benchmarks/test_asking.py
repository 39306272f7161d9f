"""What calls that have a time came to, in words that the benchmarks count."""

from __future__ import annotations

import pytest
from lamr_client import ServerUnavailableError
from lamr_client.effort import Effort

from benchmarks.asking import Answer, ask
from benchmarks.quality_over_time import lengthened


@pytest.mark.parametrize(
    ("effort", "error", "said", "explained"),
    [
        (Effort(4, 4), "", "all", True),
        (Effort(2, 4, "time"), "", "some; time", True),
        (Effort(0, 4, "server unavailable"), "", "line model; server unavailable", False),
        (Effort(0, None, "time"), "", "line model; time", True),
        (Effort(2, 4), "", "some", False),
        (Effort(0, 4), "", "line model", False),
        (None, "ServerError", "ServerError", False),
        (None, "", "nothing", False),
    ],
)
def test_what_was_read_and_why_no_more(effort, error, said, explained) -> None:
    answer = Answer(1.0, 0.5, effort, error)
    assert (answer.said, answer.explained({"time"}), answer.failed) == (said, explained, bool(error))


@pytest.mark.parametrize("error", [ServerUnavailableError("gone"), KeyError("a defect")])
def test_whatever_a_call_ends_with_counts(error) -> None:
    def prune(*_, **__):
        raise error

    answer = ask(prune, "query", "code", 1.0)
    assert (answer.error, answer.read, answer.within) == (type(error).__name__, 0, 1.0)


def test_queries_are_cut_or_go_on_with_the_others() -> None:
    queries = ["abcdef", "gh", "ij"]
    assert lengthened(queries, 0, 3) == "abc"
    assert lengthened(queries, 1, 6) == "gh\n\nij"
    assert 490 < len(lengthened(queries, 2, 500)) <= 500
