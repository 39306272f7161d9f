"""A record becomes what a client computes of its lines, and says which are needed and which frame them."""

import random

import numpy as np
from lamr_evaluation.records import Record
from lamr_model.scoring.line_inputs import FORMS

from tests.training.fits.lines import VOCABULARY, example

CODE = """\
def helper_name():
    return 1


class Shape:
    def area(self):
        colour = helper_name()

        return colour


other = 2
"""


def test_lines_that_gold_ones_depend_on_frame_them() -> None:
    made = example(Record("area", CODE, (7,)))
    lines = made.positions.lines + 1
    assert lines[made.gold].tolist() == [7]
    assert lines[made.frame].tolist() == [1, 5, 6], "what it uses is defined there, or it heads the line"


def test_words_are_those_of_each_line() -> None:
    made = example(Record("Mind the colour", CODE, (7,)))
    ends = np.cumsum(made.sizes)
    number = made.positions.place[6]
    held = set(made.words[ends[number - 1] : ends[number]].tolist())
    assert held == {VOCABULARY["colour"], VOCABULARY["name"]}
    assert dict(zip(made.matches.terms, made.query, strict=True)) == {
        "mind": VOCABULARY["mind"],
        "colour": VOCABULARY["colour"],
    }


def test_what_teaches_has_needed_lines_and_others_and_sessions_count_more() -> None:
    assert example(Record("area", CODE, (7,))).teaches
    assert not example(Record("area", CODE, ())).teaches
    assert not example(Record("area", "a = 1", (1,))).teaches
    assert not example(Record("area", "", ())).teaches
    assert (
        example(Record("area", CODE, (7,), kind="session")).weight > example(Record("a", CODE, (7,))).weight
    )


def test_a_query_may_name_lines_which_mostly_are_needed() -> None:
    plain, rng = example(Record("area", CODE, (9,))), random.Random(1)
    column = FORMS.index("named")
    assert not plain.forms[:, column].any()
    near = np.array([plain.naming(rng).forms[:, column] for _ in range(40)])
    assert (near.max(axis=1) == 1).all()
    assert (near[:, plain.gold] == 1).mean() > 0.6
    assert not plain.forms[:, column].any(), "the example itself stays"
