"""What is read of a query and a task: the intent whole, of a task what says most about the document."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lamr_model.encoding import READ_SHARE
from lamr_model.query_truncation import MOST_CHARACTERS, Query, read
from lamr_model.words import TermIndex
from lamr_postprocess.layout import line_layout

CODE = """import threading


class Queue:
    def put(self, item, timeout=None):
        with self.not_full:
            if timeout is not None and timeout < 0:
                raise ValueError("'timeout' must be a non-negative number")
            self._put(item)

    def qsize(self):
        return self._qsize()
"""
INDEX = partial(TermIndex.of, CODE, line_layout(CODE))
INTENT = "I'll look at how put waits."
TASK = """Producers wait too long

Thank you for this great project, we have used it for many years in our company!
When a producer gives a negative timeout, put should say so.
Our build runs on Windows with an old compiler.

  File "jobs.py", line 3, in run
ValueError: 'timeout' must be a non-negative number

Please update the changelog as well, and sign the agreement for contributors.
"""


def words(texts):
    return np.array([len(text.split()) for text in texts], np.int64)


def characters(texts):
    return np.array([len(text) for text in texts], np.int64)


def test_short_queries_and_tasks_are_read_whole():
    assert read(Query("area?"), INDEX, words, 10) == read(Query("area?", "  "), INDEX, words, 10)
    assert read(Query("area?\n"), INDEX, words, 10).text == "area?\n"
    reading = read(Query("area?", "mend it"), INDEX, words, 10)
    assert (reading.text, reading.whole) == ("area?\n\nmend it", True)


def test_of_a_long_task_the_parts_that_speak_of_the_document_are_read():
    reading = read(Query(INTENT, TASK), INDEX, words, 36)
    assert not reading.whole
    assert reading.text.splitlines() == [
        INTENT,
        "Producers wait too long",
        "When a producer gives a negative timeout, put should say so.",
        "ValueError: 'timeout' must be a non-negative number",
    ]


def test_a_long_intent_is_read_in_parts_of_what_was_given():
    padding = "It would be very nice if somebody could do something. " * 3 + "Really nice."
    reading = read(Query(f"{padding}\n{INTENT} Then {padding.lower()}\nqsize is wrong."), INDEX, words, 16)
    assert "qsize is wrong." in reading.text
    assert words([reading.text]) <= 16
    for line in read(Query(INTENT, TASK), INDEX, words, 40).text.splitlines():
        assert line in f"{INTENT}\n{TASK}"


@given(st.text(max_size=600), st.text(max_size=600), st.text(max_size=300), st.integers(8, 60))
def test_no_reading_is_longer_than_its_room(query, task, code, room):
    assert (
        len(
            read(
                Query(query + ".", task), partial(TermIndex.of, code, line_layout(code)), characters, room
            ).text
        )
        <= room
    )


def test_a_huge_task_is_looked_at_in_part_and_its_end_is_among_that():
    huge = "nothing of note here\n" * (MOST_CHARACTERS // 10) + "qsize counts wrongly\n"
    assert "qsize counts wrongly" in read(Query(INTENT, huge), INDEX, words, 30).text


@pytest.mark.parametrize("query", ["put " * 5000, "x" * 50_000, "語" * 20_000, "put waits\n" * 9000])
def test_whatever_is_asked_leaves_its_share_of_the_window_to_code(bundled, query):
    reading = bundled.read_query(Query(query, query), INDEX)
    ids = bundled.encode_query(reading.text)
    assert 0 < len(ids) <= READ_SHARE * bundled.spec.chunking.window
    assert bundled.code_room(len(ids)) >= bundled.spec.chunking.window // 2
