"""The forms of lines: comments, marks, imports, lengths and repeats, in any language and any text."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from lamr_model.scoring.line_inputs import LONGEST, line_forms
from lamr_postprocess import split_lines
from lamr_postprocess.layout import line_layout

CODE = """import a
# why

def f():
    '''Say.'''
    // not here

  */
#include <x>
#[derive]
  # é
 x = 1 # no
-- sql"""


def test_comments_of_many_languages() -> None:
    assert _numbers(line_forms(split_lines(CODE), line_layout(CODE)).comment) == [2, 5, 6, 8, 11, 13]


def test_imports_of_many_languages() -> None:
    code = """\
import os
from a import b
export * from "./a"
use std::io;
using System;
\t#include <stdio.h>
require_once 'a.php';
package main

important = 1
user = from_here
  return include
"""
    assert _numbers(line_forms(split_lines(code), line_layout(code)).imports) == list(range(1, 9))


def test_lines_of_marks_have_neither_letter_nor_digit() -> None:
    code = "{\n\n  });\n_\né = 1\n...\n1\n"
    assert _numbers(line_forms(split_lines(code), line_layout(code)).marks) == [1, 3, 6]


def test_lines_are_alike_whatever_their_indentation() -> None:
    code = "break;\n  break;\r\nx\n\n\n\tbreak;  "
    np.testing.assert_allclose(
        np.exp(line_forms(split_lines(code), line_layout(code)).repeats), [3, 3, 1, 1, 1, 3]
    )


def test_a_line_is_as_long_as_its_ink() -> None:
    code = "    abc  \n\n" + "x" * 3 * LONGEST
    np.testing.assert_allclose(line_forms(split_lines(code), line_layout(code)).length, [3 / LONGEST, 0, 1])


@given(st.text("#/*- a1_\n\r\t\u2003é{", max_size=40))
def test_any_text_has_a_form_for_each_line(text: str) -> None:
    layout = line_layout(text)
    forms = line_forms(split_lines(text), layout)
    for values in (forms.comment, forms.marks, forms.imports, forms.length, forms.repeats):
        assert values.shape == layout.blank.shape
        assert not values[layout.blank].any()
    assert ((forms.length >= 0) & (forms.length <= 1)).all()


def _numbers(lines: np.ndarray) -> list[int]:
    return [number for number, holds in enumerate(lines, 1) if holds]
