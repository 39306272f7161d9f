"""Features of lines: their names and their blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lamr_contract.layout import line_layout
from lamr_contract.scoring.blocks import block_means, near_means
from lamr_contract.scoring.evidence import LexicalViews, lexical_views, line_evidence
from lamr_contract.scoring.features import ASKED, ASSOCIATED, COMMENT, TEXT_FEATURES, LineFeatures
from lamr_contract.scoring.forms import line_forms

CODE = "# why\n\ndef f():\n    '''Say.'''\n\nx = 1\n"


def test_features_are_taken_of_a_line_or_of_its_block() -> None:
    layout = line_layout(CODE)
    views = lexical_views("say why", CODE, layout)
    semantic = np.arange(len(layout.blank), dtype=np.float64)
    forms = line_forms(CODE, layout)
    features = LineFeatures(layout, views, forms, {"semantic": semantic}, 2 * semantic, asked=True)
    matrix = features.matrix(["own", "block.semantic", "semantic", COMMENT, "block.own"])
    np.testing.assert_array_equal(matrix[:, 0], views.own)
    np.testing.assert_array_equal(matrix[:, 1], block_means(semantic, layout))
    np.testing.assert_array_equal(matrix[:, 2], semantic)
    np.testing.assert_array_equal(matrix[:, 4], block_means(views.own, layout))
    assert features.matrix([]).shape == (len(layout.blank), 0)
    assert features.matrix(sorted(TEXT_FEATURES)).shape == (len(layout.blank), len(TEXT_FEATURES))
    np.testing.assert_array_equal(features.matrix([ASSOCIATED])[:, 0], 2 * semantic)
    assert features.matrix([ASKED]).all()
    assert not LineFeatures(layout, views, forms, {}).matrix([ASKED]).any()
    with pytest.raises(KeyError, match="associated"):
        LineFeatures(layout, views, forms, {}).matrix(["associated"])
    with pytest.raises(KeyError, match="magic"):
        features.matrix(["magic"])


def test_features_are_taken_of_the_line_that_heads_a_line_and_of_those_that_it_heads() -> None:
    code = "class A:\n    def f(\n        self,\n    ):\n        go()\n\n    x = 1\n"
    layout = line_layout(code)
    names = np.arange(7.0)
    features = LineFeatures(layout, lexical_views("x", code, layout), line_forms(code, layout), {"n": names})
    matrix = features.matrix(["above.n", "below.n", "above.above.n", "indent", "begins", "opening"])
    assert matrix[:, 0].tolist() == [0, 0, 1, 0, 1, 0, 0], (
        "a bracket heads nothing, and what is outermost has no head"
    )
    assert matrix[:, 1].tolist() == [(1 + 3 + 6) / 3, (2 + 4) / 2, 0, 0, 0, 0, 0]
    assert matrix[4, 2] == matrix[1, 0] == 0
    assert matrix[:, 3].tolist() == [0, 0.25, 0.5, 0.25, 0.5, 0, 0.25]
    assert matrix[:, 4].tolist() == [1, 0, 0, 0, 0, 0, 1]
    assert matrix[:, 5].tolist() == [1, 1, 1, 0, 1, 0, 1]


def test_the_views_together_are_the_evidence() -> None:
    layout = line_layout(CODE)
    views = lexical_views("say why x", CODE, layout)
    np.testing.assert_array_equal(views.mean(), line_evidence("say why x", CODE, layout))
    assert views.own.argmax() in (0, 3, 5)
    assert isinstance(lexical_views("x", "", line_layout("")), LexicalViews)


@given(st.text("ab \n", max_size=50), st.floats(0.2, 3), st.integers(0, 9))
def test_means_of_near_lines_are_those_of_a_loop(text: str, reach: float, seed: int) -> None:
    layout = line_layout(text)
    values = np.random.default_rng(seed).normal(size=len(layout.blank))
    reached = int(np.ceil(4 * reach))
    expected = values.copy()
    for line in np.flatnonzero(~layout.blank):
        near = [n for n in np.flatnonzero(~layout.blank) if abs(n - line) <= reached]
        share = np.exp([-abs(n - line) / reach for n in near])
        expected[line] = share @ values[near] / share.sum()
    np.testing.assert_allclose(near_means(values, layout, reach), expected, atol=1e-9)
