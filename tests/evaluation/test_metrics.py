"""Metrics against definitions written out, and the properties that make them fair."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lamr_evaluation.metrics import METRICS, Bootstrap, Confusion, recall_curve, summarize


def arrays(*values):
    return [np.array(value) for value in values]


@st.composite
def files(draw):
    lines = draw(st.integers(1, 6))
    scores = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=lines, max_size=lines))
    gold = draw(st.lists(st.booleans(), min_size=lines, max_size=lines))
    counted = draw(st.lists(st.booleans(), min_size=lines, max_size=lines))
    return np.array(scores), np.array(gold), np.array(counted)


@given(files())
def test_recall_of_ties_is_the_mean_over_all_orders(file):
    scores, gold, counted = file
    chosen = np.flatnonzero(counted)
    total = gold[chosen].sum()
    curve = recall_curve(scores, gold, counted)
    if not total:
        assert math.isnan(curve.area)
        return
    orders = [o for o in itertools.permutations(chosen) if all(np.diff(-scores[list(o)]) >= 0)]
    for size in range(len(chosen) + 1):
        expected = np.mean([gold[list(order[:size])].sum() / total for order in orders])
        assert curve.at(size / len(chosen)) == pytest.approx(expected)


def test_area_of_perfect_random_and_worst_rankings():
    gold, counted = arrays([True, False, False, False], [True] * 4)
    assert recall_curve([3, 2, 1, 0], gold, counted).area == pytest.approx(1 - 0.25 / 2)
    assert recall_curve([1, 1, 1, 1], gold, counted).area == pytest.approx(0.5)
    assert recall_curve([0, 1, 2, 3], gold, counted).area == pytest.approx(0.25 / 2)


def test_blank_lines_do_not_count():
    gold, counted = arrays([True, True, False, False], [True, False, True, True])
    with_blank = recall_curve([3, 9, 2, 1], gold, counted)
    without = recall_curve([3, 2, 1], gold[counted], counted[counted])
    np.testing.assert_array_equal(with_blank.kept, without.kept)
    np.testing.assert_array_equal(with_blank.recall, without.recall)
    kept = np.array([True, True, True, False])
    assert Confusion.of(kept, gold, counted) == Confusion(hits=1, kept=2, gold=1, lines=3)


def test_a_selection_and_a_ranking_at_a_fraction_are_measured_by_the_definitions():
    gold, counted = arrays([True, True, False, False, False], [True] * 5)
    kept = np.array([True, False, True, True, False])
    curve = recall_curve(kept, gold, counted)
    row = Confusion.of(kept, gold, counted).metrics(curve, parses=True)
    assert (row.precision, row.recall, row.kept) == (1 / 3, 1 / 2, 3 / 5)
    assert row.f1 == pytest.approx(2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2))
    assert row.accuracy == pytest.approx(2 / 5)
    assert row.parses == 1.0
    gold, counted = arrays([True, True, False, False], [True] * 4)
    curve = recall_curve([1, 0, 0, 0], gold, counted)
    counts = Confusion.expected(curve, 0.5, gold, counted)
    assert counts == Confusion(hits=pytest.approx(1 + 1 / 3), kept=2, gold=2, lines=4)


def test_undefined_figures():
    gold, counted = arrays([False, False], [True, True])
    curve = recall_curve([1, 0], gold, counted)
    row = Confusion.of(np.array([False, False]), gold, counted).metrics(curve)
    assert (row.precision, row.f1, row.accuracy, row.kept) == (0.0, 1.0, 1.0, 0.0)
    assert all(math.isnan(value) for value in (row.recall, row.recall_25, row.area, row.parses))
    none = np.zeros(0, dtype=bool)
    assert math.isnan(recall_curve([], none, none).area)


@pytest.mark.parametrize(
    ("scores", "words"), [([1.0], "1 scores for 2 lines"), ([0.0, np.nan], "line 2 is NaN")]
)
def test_scores_that_do_not_fit_are_refused(scores, words):
    gold, counted = arrays([True, False], [True, True])
    with pytest.raises(ValueError, match=words):
        recall_curve(scores, gold, counted)


def column(values):
    table = np.full((len(values), len(METRICS)), np.nan)
    table[:, METRICS.index("recall")] = values
    return table


def test_means_leave_undefined_items_out():
    summary = summarize(column([1.0, np.nan, 0.0]), ["a", "b", "c"], Bootstrap(draws=200))
    assert summary.items == 3
    assert summary.mean.recall == 0.5
    assert math.isnan(summary.mean.area)
    assert math.isnan(summary.low.area)


def test_interval_agrees_with_theory_and_is_seeded():
    values = np.random.default_rng(1).normal(0.5, 0.2, size=400)
    summary = summarize(column(values), np.arange(400), Bootstrap())
    half = 1.96 * values.std() / 20
    assert summary.low.recall == pytest.approx(values.mean() - half, abs=0.002)
    assert summary.high.recall == pytest.approx(values.mean() + half, abs=0.002)
    again = summarize(column(values), np.arange(400), Bootstrap())
    other = summarize(column(values), np.arange(400), Bootstrap(seed=1))
    assert (again.low.recall, again.high.recall) == (summary.low.recall, summary.high.recall)
    assert (other.low.recall, other.high.recall) != (summary.low.recall, summary.high.recall)


def test_questions_about_one_file_are_resampled_together():
    values = column(np.repeat([0.0, 1.0, 0.2, 0.8], 25))
    apart = summarize(values, np.arange(100), Bootstrap())
    together = summarize(values, np.repeat(np.arange(4), 25), Bootstrap())
    assert together.high.recall - together.low.recall > 3 * (apart.high.recall - apart.low.recall)
    assert together.mean.recall == pytest.approx(apart.mean.recall)
