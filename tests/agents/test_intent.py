"""The query comes from what a host knows; what is missing gives way to the next best."""

import pytest
from lamr_agents.intent import MOST_OWN_WORDS, Intent, Known, intent_of

TASK, SAID = "Fix the parser.", "The lexer comes first."


@pytest.mark.parametrize(
    ("known", "intent"),
    [
        (
            Known(question="Where?", said=SAID, description="d", searched="s", task=TASK),
            Intent("Where?", TASK, "question"),
        ),
        (Known(said=SAID, task=TASK), Intent(SAID, TASK, "session")),
        (
            Known(said=SAID, description="Show it", searched="lex", task=TASK),
            Intent(f"{SAID}\nShow it\nlex", TASK, "session"),
        ),
        (Known(searched="lex"), Intent("lex", "", "session")),
        (Known(said="same", description="same"), Intent("same", "", "session")),
        (Known(task=TASK), Intent(TASK, "", "task")),
        (Known(question=" \n", said="  ", task=" "), Intent("", "", "nothing")),
        (
            Known(said=SAID, task=TASK, pointed=(7,), history="I read \0 it."),
            Intent(SAID, TASK, "session", (7,), "I read \ufffd it."),
        ),
    ],
)
def test_the_best_that_is_known_is_the_query(known: Known, intent: Intent) -> None:
    assert intent_of(known) == intent


def test_of_many_words_the_last_sentences_are_taken() -> None:
    words = " ".join(f"Sentence number {n} says something." for n in range(100))
    query = intent_of(Known(said=words)).query
    assert MOST_OWN_WORDS - 40 < len(query) <= MOST_OWN_WORDS
    assert query.startswith("Sentence number")
    assert words.endswith(query)


def test_words_without_sentences_are_cut_all_the_same() -> None:
    assert intent_of(Known(said="x" * 9000)).query == "x" * MOST_OWN_WORDS
