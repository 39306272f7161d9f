"""Associations: what words go together, by vectors that a client looks up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lamr_contract.associations import LINE_POWER, NEAR, QUERY_POWER, Associations, load_associations
from lamr_contract.errors import ModelMismatchError
from lamr_contract.layout import line_layout
from lamr_contract.words import query_terms, terms

WORDS = ("deadlin", "timeout", "wait", "pars", "argument", "parse_argument")
CODE = """\
import time

def call(timeout):
    wait(timeout)
    return 1

def main():
    parse_argument(1)



    wait(2)
"""


@pytest.fixture
def associations() -> Associations:
    rng = np.random.default_rng(5)
    shapes = ((len(WORDS), 4), (len(WORDS), 4), (3, 4, 4), (len(WORDS),), (4,))
    return Associations(WORDS, *(rng.normal(size=shape).astype(np.float32) for shape in shapes))


def _sum(associations: Associations, words: set[str]) -> np.ndarray:
    return sum((associations.line[WORDS.index(word)] for word in words), np.zeros(4))


def test_views_are_those_of_the_definition(associations: Associations) -> None:
    layout, lines = line_layout(CODE), CODE.splitlines()
    views = associations.of("deadlines of arguments", CODE, layout)
    asked = [WORDS.index(term) for term in query_terms("deadlines of arguments")]
    assert len(asked) == 2
    query = associations.query[asked].sum(axis=0) / len(asked) ** QUERY_POWER
    held = [
        {term for name in line.replace("(", " ").replace(")", " ").split() for term in terms(name)}
        & set(WORDS)
        for line in lines
    ]
    for line in range(len(lines)):
        nearby = range(max(0, line - NEAR), min(len(lines), line + NEAR + 1))
        block = np.flatnonzero(layout.blocks == layout.blocks[line])
        for view, places, matrix in (
            (views.own, [line], associations.views[0]),
            (views.near, nearby, associations.views[1]),
            (views.block, block, associations.views[2]),
        ):
            count = max(1, sum(len(held[place]) for place in places))
            state = sum((_sum(associations, held[place]) for place in places), np.zeros(4))
            assert view[line] == pytest.approx((matrix @ query) @ state / count**LINE_POWER, abs=1e-5)
        own = sum(associations.prior[WORDS.index(word)] for word in held[line])
        count = max(1, sum(len(held[place]) for place in block))
        state = sum((_sum(associations, held[place]) for place in block), np.zeros(4))
        told = associations.block_prior @ state / count**LINE_POWER
        assert views.prior[line] == pytest.approx(
            own / max(1, len(held[line])) ** LINE_POWER + told, abs=1e-5
        )


@pytest.mark.parametrize("code", ["", "\n\n", "nothing = known\n"])
def test_texts_without_a_known_word_say_nothing(associations: Associations, code: str) -> None:
    views = associations.of("deadlines", code, line_layout(code))
    for view in (views.own, views.near, views.block, views.prior):
        assert view.tolist() == [0.0] * len(line_layout(code).blank)


def test_a_query_without_a_known_word_leaves_what_lines_say_by_themselves(associations: Associations) -> None:
    views = associations.of("What is it?", CODE, line_layout(CODE))
    for view in (views.own, views.near, views.block):
        assert not view.any()
    assert views.prior.any()


def test_the_file_gives_them_back_within_a_step_of_int8(associations: Associations, tmp_path: Path) -> None:
    path = tmp_path / "associations.npz"
    path.write_bytes(associations.to_bytes())
    read = load_associations(path)
    assert read.words == WORDS
    for name in ("query", "line"):
        own, given = getattr(associations, name), getattr(read, name)
        assert np.all(np.abs(own - given) <= np.abs(own).max(axis=1, keepdims=True) / 254 + 1e-6)
    np.testing.assert_array_equal(read.views, associations.views)


def test_vectors_that_do_not_fit_are_refused(associations: Associations) -> None:
    with pytest.raises(ValueError, match=r"query has shape \[5, 4\], not \[6, 4\]"):
        replace(associations, query=associations.query[:5])
    with pytest.raises(ValueError, match=r"line has shape \[\], not \[6, 0\]"):
        replace(associations, query=np.zeros((6, 0), np.float32), line=np.zeros((), np.float32))
    with pytest.raises(ValueError, match="prior holds NaN or infinity"):
        replace(associations, prior=np.full(6, np.nan, np.float32))


@pytest.mark.parametrize("content", [b"", b"not an archive", None])
def test_damaged_files_are_named_with_the_remedy(
    associations: Associations, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "associations.npz"
    path.write_bytes(associations.to_bytes()[:-200] if content is None else content)
    with pytest.raises(
        ModelMismatchError, match=r"associations\.npz can't be read .*; export the model again"
    ):
        load_associations(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelMismatchError, match="is missing, but the model's scoring weighs associations"):
        load_associations(tmp_path / "associations.npz")
