"""Grades: letters, lines, facts and quotes, as readers really write them."""

import pytest
from lamr_evaluation.judge.tasks import (
    TASKS,
    Likelihood,
    candidates,
    chosen_letter,
    edit_similarity,
    named_facts,
    next_lines,
    quoted_lines,
)

from tests.evaluation.judge.material import CHOICE_ITEM, CODE, COMPLETION_ITEM, PLACE_ITEM


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("B", "B"),
        ("b)", "B"),
        (" (C) because", "C"),
        ("The answer is D.", "D"),
        ("**Answer: A**", "A"),
        ("Option B fits, since A is too small", "B"),
        ("A function that waits", None),
        ("I don't know", None),
        ("E", None),
        ("", None),
    ],
)
def test_the_letter_that_is_meant(text: str, letter: str | None) -> None:
    assert chosen_letter(text, 4) == letter


def test_lines_come_out_of_fences_and_alike_ones_are_told_from_strangers() -> None:
    said = "Sure:\n```python\n\n    return x\n    y = 2\n```\nThat's it."
    assert next_lines(said, 1) == ["return x"]
    assert next_lines("  return x\n", 3) == ["return x"]
    assert edit_similarity("return x", "return x") == 1
    assert edit_similarity("aaaa", "bbbb") == 0
    assert 0 < edit_similarity("return x", "return y") < 1


def test_facts_are_whole_words_and_quotes_lines_of_the_code() -> None:
    assert named_facts("It raises queue.FULL after\n30  seconds", ("queue.Full", "30 seconds")) == 1
    assert named_facts("It takes 300 seconds", ("30",)) == 0
    assert named_facts("30", ("30", "40")) == 0.5
    lines = CODE.splitlines()
    assert quoted_lines("PAUSE = 25", lines, (4,)) == 1
    assert quoted_lines("PAUSE = 25\nPAUSE = 99", lines, (4,)) == pytest.approx(2 / 3)
    assert quoted_lines("nothing", lines, (4,)) == 0
    assert quoted_lines("", lines, (4,)) == 0


def test_a_completion_is_graded_by_its_first_lines() -> None:
    grade = TASKS["completion"].grade
    assert grade(COMPLETION_ITEM, "```\ntime.sleep(PAUSE)\nmore()\n```") == {"edit similarity": 1, "exact": 1}
    assert grade(COMPLETION_ITEM, "pass")["exact"] == 0


def test_the_likeliest_choice_for_each_byte_is_chosen() -> None:
    weigh = TASKS["choice"].weigh
    by_choice = {"7": -4.0, "25": -3.0, "4096": -9.0, "8081": -9.0}
    given = [Likelihood(by_choice[each], 2) for each in CHOICE_ITEM.choices]
    assert weigh(CHOICE_ITEM, given)["right"] == 1
    given[0] = Likelihood(-0.5, 2)
    assert weigh(CHOICE_ITEM, given)["right"] == 0
    ties = [Likelihood(-float(len(each)), 1) for each in CHOICE_ITEM.choices]
    assert weigh(CHOICE_ITEM, ties)["right"] == 0.25
    even = [Likelihood(-3.0, 2)] * 4
    assert weigh(CHOICE_ITEM, even)["chance"] == 0.25


def test_candidates_hold_the_line_to_change_and_others_of_the_file() -> None:
    first, *others = candidates(PLACE_ITEM)
    assert first == "PAUSE = 25"
    assert len(set(others)) == 3
    assert first not in others
    assert all(other in CODE for other in others)
