"""What is known of lines: their forms, in any language and any text, and matches by line, neighbourhood and block."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from lamr_model.scoring.document_words import DocumentWords
from lamr_model.scoring.line_inputs import (
    FORMS,
    LEXICAL,
    LONGEST,
    MOST_WORDS,
    Matches,
    Positions,
    lexical,
    line_features,
    line_forms,
)
from lamr_model.scoring.query_words import QueryWords
from lamr_model.words import TermIndex
from lamr_postprocess import split_lines
from lamr_postprocess.layout import line_layout

CODE = """\
# the pool
class Pool:

    def close(self):
        drain = 1
        return drain


other = 2
"""


def parts(query: str, text: str = CODE) -> tuple[QueryWords, DocumentWords, Positions, Matches]:
    layout = line_layout(text)
    words = DocumentWords.of(TermIndex.of(text, layout), layout)
    asked, positions = QueryWords.of(query, "", "", {}), Positions.of(words)
    return asked, words, positions, Matches.of(asked, words, positions)


def columns(query: str, text: str = CODE) -> dict[str, np.ndarray]:
    """Each lexical input by its name, where all words weigh what they are rare."""
    _, _, positions, matches = parts(query, text)
    return dict(zip(LEXICAL, lexical(matches, positions, matches.rarity).T, strict=True))


def test_positions_are_lines_with_ink() -> None:
    positions = parts("pool")[2]
    assert positions.lines.tolist() == [0, 1, 3, 4, 5, 8]
    assert positions.place.tolist() == [0, 1, -1, 2, 3, 4, -1, -1, 5]
    assert positions.header.tolist() == [-1, -1, 1, 2, 2, -1]
    assert (np.diff(positions.blocks) >= 0).all()
    assert positions.blocks[0] == 0
    assert len(positions.block_starts) == positions.blocks[-1] + 1


def test_words_are_found_in_their_lines_though_there_are_too_many() -> None:
    _, _, _, matches = parts("drain the unknown_thing of pool")
    found = {(matches.terms[word], place) for word, place in zip(matches.word, matches.position, strict=True)}
    assert found == {("drain", 3), ("drain", 4), ("pool", 0), ("pool", 1)}
    absent = matches.features[:, -4]
    assert absent[matches.terms.index("unknown_thing")] == 1
    assert absent[matches.terms.index("pool")] == 0
    query = " ".join(f"w{number}w" for number in range(2 * MOST_WORDS)) + " drain"
    asked, _, _, matches = parts(query)
    assert len(asked.terms) > MOST_WORDS == len(matches.terms)
    assert "drain" in matches.terms
    assert list(matches.terms) == [term for term in asked.terms if term in set(matches.terms)]


def test_lines_near_a_match_have_a_part_of_it_and_a_rare_word_beats_a_common_one() -> None:
    found = columns("close drain")
    assert found["own"].argmax() in (2, 3, 4)
    assert found["own"][0] == found["own"][5] == 0
    assert (found["wide_sum"][:5] > 0).all()
    assert found["above_own"][3] == found["own"][2], "the def heads it"
    assert 0 < found["own_share"].max() <= found["block_share"].max() <= 1
    text = "common = 1\n" * 9 + "rare = 1\n" + "common = 2\n" * 9
    found = columns("common rare", text)
    assert found["own"].argmax() == 9
    assert found["own_share"][9] > found["own_share"][0] > 0


def test_nothing_matches_where_nothing_is() -> None:
    for query, text in (("", CODE), ("nowhere", CODE), ("drain", ""), ("drain", "\n \n")):
        asked, words, positions, matches = parts(query, text)
        assert not len(matches.word)
        values = lexical(matches, positions, np.ones(len(matches.terms)))
        assert values.shape == (len(positions), len(LEXICAL))
        assert not values.any()
        forms = line_forms(split_lines(text), words.layout)
        forms = line_features(forms, words, positions, np.zeros(len(words.layout.blank)), asked)
        assert forms.shape == (len(positions), len(FORMS))
        assert np.isfinite(forms).all()


def test_forms_of_lines() -> None:
    asked, words, positions, _ = parts("where is the pool?")
    named = np.zeros(len(words.layout.blank))
    named[4] = 1
    forms = line_forms(split_lines(CODE), words.layout)
    forms = dict(zip(FORMS, line_features(forms, words, positions, named, asked).T, strict=True))
    assert forms["comment"].argmax() == 0
    assert forms["named"].tolist() == [0, 0, 0, 1, 0, 0]
    assert (forms["asks"] == 1).all()
    assert forms["indent"][3] > forms["indent"][2] > forms["indent"][1] == 0


COMMENTS = """import a
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
    assert _numbers(line_forms(split_lines(COMMENTS), line_layout(COMMENTS)).comment) == [2, 5, 6, 8, 11, 13]


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


def test_lines_are_alike_whatever_their_indentation_and_as_long_as_their_ink() -> None:
    code = "break;\n  break;\r\nx\n\n\n\tbreak;  "
    np.testing.assert_allclose(
        np.exp(line_forms(split_lines(code), line_layout(code)).repeats), [3, 3, 1, 1, 1, 3]
    )
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
