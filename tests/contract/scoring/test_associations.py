"""Associations: what words go together, by vectors that a client looks up and a network that reads them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lamr_contract.layout import line_layout
from lamr_contract.scoring.associations import (
    LEAST_MATCH,
    LEAST_UNDERSTOOD,
    LINE_POWER,
    NEAR,
    QUERY_POWER,
    VIEWS,
    Associations,
    network_inputs,
)
from lamr_contract.scoring.network import LineNetwork
from lamr_contract.words import TermIndex, query_terms, terms

WORDS = ("deadlin", "timeout", "wait", "pars", "argument", "parse_argument")
KNOWN = ("own", "comment")
WIDTH = 4
CODE = """\
import time

def call(timeout):
    wait(timeout)
    return 1

def main():
    parse_argument(1)



    wait(2)
"""


def made(words: tuple[str, ...] = WORDS, known: tuple[str, ...] = KNOWN, width: int = WIDTH) -> Associations:
    """Associations of random numbers."""
    rng = np.random.default_rng(5)
    count, square = len(words), (width, width)
    shapes = ((count, width), (count, width), (count,), (count,), (len(VIEWS), *square), square, (width,))
    inputs = network_inputs(known, width)
    states = 3
    sizes = ((len(inputs), states), (states,), (3 * 3 * states, states), (states,), (states + len(inputs),))
    network = LineNetwork.of(inputs, 1, (1,), [rng.normal(size=size) / 4 for size in sizes])
    arrays = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
    return Associations(words, *arrays, known, network)


@pytest.fixture
def associations() -> Associations:
    return made()


@pytest.mark.parametrize(
    ("query", "share"),
    [
        ("Where do deadlines wait for a timeout while arguments are parsed?", 5 / 6),
        ("the deadline of a kite", LEAST_UNDERSTOOD),
        ("deadlines of timeouts and kites", 1 / 4),
        ("timeout", 1 / 2),
        ("Wo wird die Frist gesetzt?", LEAST_UNDERSTOOD),
        ("\u961f\u5217\u6ee1\u4e86\u4f1a\u53d1\u751f\u4ec0\u4e48?", LEAST_UNDERSTOOD),
        ("?", LEAST_UNDERSTOOD),
    ],
)
def test_a_query_is_understood_as_far_as_its_words_are_known(
    associations: Associations, query: str, share: float
) -> None:
    assert associations.understood(query) == pytest.approx(share)


def known_features(count: int) -> np.ndarray:
    return np.random.default_rng(7).normal(size=(count, len(KNOWN)))


def test_inputs_are_those_of_the_definition(associations: Associations) -> None:
    layout, lines = line_layout(CODE), CODE.splitlines()
    known = known_features(len(lines))
    inputs = associations.inputs("deadlines of arguments", TermIndex.of(CODE, layout), layout, known)
    columns = dict(zip(associations.network.features, inputs.T, strict=True))
    asked = [WORDS.index(term) for term in query_terms("deadlines of arguments")]
    assert len(asked) == 2
    vectors, importance = associations.query[asked], associations.importance[asked]
    query = vectors.sum(axis=0) / len(asked) ** QUERY_POWER
    held = [
        {term for name in line.replace("(", " ").replace(")", " ").split() for term in terms(name)}
        & set(WORDS)
        for line in lines
    ]

    def view_of(places: list[int]) -> np.ndarray:
        found = [WORDS.index(word) for place in places for word in held[place]]
        return associations.line[found].sum(axis=0) / max(1, len(found)) ** LINE_POWER

    for line in range(len(lines)):
        near = list(range(max(0, line - NEAR), min(len(lines), line + NEAR + 1)))
        block = np.flatnonzero(layout.blocks == layout.blocks[line]).tolist()
        for name, places, matrix in zip(VIEWS, ([line], near, block), associations.views, strict=True):
            view = view_of(places)
            assert columns[name][line] == pytest.approx((matrix @ query) @ view, abs=1e-4)
            matches = np.array([associations.key @ vector @ view for vector in vectors]) + importance
            match = max(LEAST_MATCH, float(np.log(np.exp(matches).sum())))
            assert columns[f"match_{name}"][line] == pytest.approx(match, abs=1e-4)
            if name == "near":
                attended = np.exp(matches) @ vectors / np.exp(matches).sum() * view
                assert columns["attended_product_2"][line] == pytest.approx(attended[2], abs=1e-4)
                assert columns["near_product_1"][line] == pytest.approx((matrix @ query * view)[1], abs=1e-4)
        own = sum(associations.prior[WORDS.index(word)] for word in held[line])
        prior = own / max(1, len(held[line])) ** LINE_POWER + associations.block_prior @ view_of(block)
        assert columns["prior"][line] == pytest.approx(prior, abs=1e-4)
        assert columns["state_3"][line] == pytest.approx(view_of([line])[3], abs=1e-5)
        assert columns["product_0"][line] == pytest.approx(
            (associations.views[0] @ query * view_of([line]))[0], abs=1e-4
        )
    np.testing.assert_allclose(inputs[:, : len(KNOWN)], known, rtol=1e-6)
    odds = associations.of("deadlines of arguments", TermIndex.of(CODE, layout), layout, known)
    np.testing.assert_array_equal(odds, associations.network.logits(inputs, layout))
    assert np.isfinite(odds).all()


@pytest.mark.parametrize("code", ["", "\n\n", "nothing = known\n"])
def test_texts_without_a_known_word_leave_what_is_known_otherwise(
    associations: Associations, code: str
) -> None:
    layout = line_layout(code)
    inputs = associations.inputs(
        "deadlines", TermIndex.of(code, layout), layout, known_features(len(layout.blank))
    )
    matches = [associations.network.features.index(f"match_{view}") for view in VIEWS]
    others = np.delete(inputs, [*range(len(KNOWN)), *matches], axis=1)
    assert not others.any()
    assert len(
        associations.of("deadlines", TermIndex.of(code, layout), layout, known_features(len(layout.blank)))
    ) == len(layout.blank)


def test_a_query_without_a_known_word_leaves_what_lines_say_by_themselves(associations: Associations) -> None:
    layout = line_layout(CODE)
    inputs = associations.inputs(
        "What is it?", TermIndex.of(CODE, layout), layout, known_features(len(layout.blank))
    )
    columns = dict(zip(associations.network.features, inputs.T, strict=True))
    for view in VIEWS:
        assert not columns[view].any()
        assert set(columns[f"match_{view}"].tolist()) == {LEAST_MATCH}
    for number in range(WIDTH):
        assert not columns[f"attended_product_{number}"].any()
    assert columns["prior"].any()


def test_vectors_that_do_not_fit_are_refused(associations: Associations) -> None:
    with pytest.raises(ValueError, match=r"query has shape \[5, 4\], not \[6, 4\]"):
        replace(associations, query=associations.query[:5])
    with pytest.raises(ValueError, match=r"line has shape \[\], not \[6, 0\]"):
        replace(associations, query=np.zeros((6, 0), np.float32), line=np.zeros((), np.float32))
    with pytest.raises(ValueError, match="prior holds NaN or infinity"):
        replace(associations, prior=np.full(6, np.nan, np.float32))
    with pytest.raises(ValueError, match="doesn't read what the vectors give"):
        replace(associations, known=("own",))
