"""Shares of evidence keep the order of lines, and keep fewer of them where a few stand out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lamr_contract.odds import logit
from lamr_contract.scoring import Scoring
from lamr_contract.shares import evidence_shares

SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=40)


@given(SCORES, st.floats(0.05, 40))
def test_order_and_ties_stay(scores, spread):
    scores = np.array(scores)
    shares = evidence_shares(scores, np.ones(len(scores), np.bool_), spread)
    assert ((shares >= 0) & (shares <= 1)).all()
    assert shares[scores.argmax()] == 1
    order = np.argsort(scores, kind="stable")
    assert (np.diff(shares[order]) >= 0).all()
    logits = logit(scores)
    assert all(shares[a] == shares[b] for a in range(len(scores)) for b in range(a) if logits[a] == logits[b])


def test_shares_are_sums_of_evidence():
    scores = np.array([0.2, 0.9, 0.5, 0.9])
    evidence = np.exp(logit(scores) / 2.0)
    expected = [evidence[0], evidence.sum(), evidence[[0, 2]].sum(), evidence.sum()] / evidence.sum()
    np.testing.assert_allclose(evidence_shares(scores, np.ones(4, np.bool_), 2.0), expected)


def test_lines_that_do_not_count_add_nothing_and_get_their_place():
    scores, counted = np.array([0.2, 0.9, 0.5, 0.9]), np.array([True, False, True, True])
    without = evidence_shares(scores[counted], np.ones(3, np.bool_), 2.0)
    np.testing.assert_allclose(evidence_shares(scores, counted, 2.0)[counted], without)
    assert evidence_shares(scores, counted, 2.0)[1] == 1
    assert evidence_shares(scores, np.zeros(4, np.bool_), 2.0).tolist() == scores.tolist()


def test_fewer_lines_are_kept_where_a_few_stand_out():
    counted = np.ones(100, np.bool_)
    flat, peaked = np.full(100, 0.5), np.full(100, 0.1)
    flat += np.linspace(-0.1, 0.1, 100)
    peaked[:5] = 0.999
    kept = [(evidence_shares(scores, counted, 2.0) >= 0.4).sum() for scores in (flat, peaked)]
    assert kept[1] == 5
    assert kept[0] > 50


def test_a_negative_spread_is_refused():
    with pytest.raises(ValueError, match="negative"):
        Scoring("relative", {"spread": -1.0})
