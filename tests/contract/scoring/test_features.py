"""Features of lines: their names, where they are taken from, and how a model's outputs become comparable."""

from __future__ import annotations

import numpy as np
import pytest
from lamr_contract.layout import line_layout
from lamr_contract.scoring.features import (
    ASKED,
    ASSOCIATED,
    TEXT_FEATURES,
    LineFeatures,
    output_names,
    standardized,
)

CODE = "# why\n\ndef f():\n    '''Say.'''\n\nx = 1\n"


def features_of(query: str, code: str) -> LineFeatures:
    return LineFeatures(query, code, line_layout(code))


def test_features_have_names() -> None:
    features, count = features_of("say why?", CODE), 6
    semantic = np.arange(count, dtype=np.float64)
    matrix = features.matrix(["own", "semantic", ASSOCIATED], {"semantic": semantic}, 2 * semantic)
    np.testing.assert_array_equal(matrix, np.stack([features.views.own, semantic, 2 * semantic], axis=1))
    assert features.matrix([]).shape == (count, 0)
    names = sorted(TEXT_FEATURES)
    assert features.matrix(names, {}, semantic).shape == (count, len(names))
    assert features.matrix([ASKED]).all()
    assert not features_of("say why", CODE).matrix([ASKED]).any()
    assert features_of("x", "").matrix(["own", "indent"]).shape == (0, 2)
    with pytest.raises(KeyError, match="associated"):
        features.matrix(["associated"])
    with pytest.raises(KeyError, match="magic"):
        features.matrix(["magic"])


def test_features_are_taken_of_the_line_that_heads_a_line_and_of_those_that_it_heads() -> None:
    code = "class A:\n    def f(\n        self,\n    ):\n        go()\n\n    x = 1\n"
    names = ["above.n", "below.n", "above.above.n", "indent", "begins", "opening"]
    matrix = features_of("x", code).matrix(names, {"n": np.arange(7.0)})
    assert matrix[:, 0].tolist() == [0, 0, 1, 0, 1, 0, 0], (
        "a bracket heads nothing, and what is outermost has no head"
    )
    assert matrix[:, 1].tolist() == [(1 + 3 + 6) / 3, (2 + 4) / 2, 0, 0, 0, 0, 0]
    assert matrix[4, 2] == matrix[1, 0] == 0
    assert matrix[:, 3].tolist() == [0, 0.25, 0.5, 0.25, 0.5, 0, 0.25]
    assert matrix[:, 4].tolist() == [1, 0, 0, 0, 0, 0, 1]
    assert matrix[:, 5].tolist() == [1, 1, 1, 0, 1, 0, 1]


def test_outputs_are_what_no_text_gives() -> None:
    assert output_names(["own", "semantic", "above.keep_prob", "below.above.semantic"]) == (
        "semantic",
        "keep_prob",
    )


def test_outputs_are_compared_with_the_rest_of_the_document() -> None:
    values = np.array([[1.0, 3.0], [3.0, 3.0], [8.0, 3.0]])
    expected = (values - values.mean(axis=0)) / (values.std(axis=0) + 0.1)
    every = np.ones(3, np.bool_)
    np.testing.assert_allclose(standardized(values, every), expected)
    assert not standardized(values, every)[:, 1].any(), "what is alike everywhere says nothing"
    assert standardized(np.zeros((0, 2)), every[:0]).shape == (0, 2)


def test_unread_tokens_are_neither_above_nor_below_the_others() -> None:
    values, read = np.array([[1.0], [0.0], [3.0]]), np.array([True, False, True])
    np.testing.assert_allclose(standardized(values, read)[:, 0], np.array([-1, 0, 1]) / 1.1)
    assert not standardized(values, np.zeros(3, np.bool_)).any()
