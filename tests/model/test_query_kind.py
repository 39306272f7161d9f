"""Questions are told from messages, tasks and what agents say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lamr_model.query_kind import asks

QUESTIONS = [
    "How are timeouts handled when the pool is full?",
    "which code reads os.path.sep",
    "running a schema file only executes the first statement; is that a known limitation?",
    "Why do I get 'invalid handler'? It worked in 3.2.",
    "What\u2019s sent first",
    "?",
]
OTHERS = [
    "Fix the crash on empty input",
    "parser: handle nested quotes",
    "Don't escape twice",
    "Do not lose the last line. Is that hard?",
    "I'll look at how retries are counted",
    "Deadlock in shutdown\n\nWhy is the lock taken twice?",
    "Drop support for any?, os.path and 3.2",
    "accepted clock time formats and how they are tried",
    "`why` isn't a word here",
    "However it is done",
    "",
    "   ",
    "...",
]


@pytest.mark.parametrize("query", [*QUESTIONS, *OTHERS])
def test_questions_are_told_from_anything_else(query: str) -> None:
    assert asks(query) == (query in QUESTIONS)


@given(st.text(max_size=80))
def test_any_text_is_one_or_the_other(query: str) -> None:
    assert asks(query) is asks(f"  {query}\n")
