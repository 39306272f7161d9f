"""Which words lines have, how rare they are, and where names are defined."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from lamr_model.scoring.document_words import MOST_USES, DocumentWords
from lamr_model.words import TermIndex, terms
from lamr_postprocess.layout import line_layout

CODE = """\
import_cache = 1

def load_entry(key):
    key = load_entry
    return key, key


value = load_entry(2)
"""


def words_of(text: str) -> DocumentWords:
    layout = line_layout(text)
    return DocumentWords.of(TermIndex.of(text, layout), layout)


def test_names_are_defined_where_they_head_lines_unless_they_are_everywhere() -> None:
    defined, using = words_of("x = load_entry\n" + CODE).definitions
    pairs = set(zip(defined.tolist(), using.tolist(), strict=True))
    assert {(3, 0), (3, 4), (3, 8)} <= pairs, "the def heads its body"
    assert all(one != other for one, other in pairs)
    assert not len(words_of("commonword = 1\n" * (MOST_USES + 1)).definitions[0])
    assert len(words_of("commonword = 1\n" * MOST_USES).definitions[0]) == MOST_USES - 1
    assert not len(words_of("abcd = 1\n" * 3).definitions[0]), "a short word is no name"


@given(st.text("ab_ 1\n\r\t(){:", max_size=80))
def test_any_text_is_read(text: str) -> None:
    words = words_of(text)
    count = len(words.layout.blank)
    assert len(set(words.terms)) == len(words.terms)
    assert len(words.frequency) == len(words.rarity) == len(words.terms)
    assert ((words.line >= 0) & (words.line < max(count, 1))).all()
    assert words.headed.sum() == (words.header >= 0).sum()
    for line in np.flatnonzero(words.layout.blank):
        assert line not in words.line


def test_each_word_of_a_line_is_there_once_and_is_the_contracts() -> None:
    words = words_of(CODE)
    held = {words.terms[term] for term, line in zip(words.term, words.line, strict=True) if line == 4}
    assert held == {"return", "key"}
    assert words.frequency[words.place["key"]] == 3, "lines, not occurrences"
    assert words.rarity[words.place["return"]] > words.rarity[words.place["key"]]
    order = words.term * 1000 + words.line
    assert (np.diff(order) > 0).all()
    assert set(words_of("parse_URL = 1").terms) == {*terms("parse_URL"), "1"}
