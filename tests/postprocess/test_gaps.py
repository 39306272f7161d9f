"""Gaps: small ones are filled with all that they need or not at all, whatever needs what."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamr_postprocess import LEAST_CUT, prune_lines
from lamr_postprocess.gaps import gaps_of
from lamr_postprocess.lines import BoolArray, IntArray
from lamr_postprocess.outline import NOBODY

LINE = "value = 1234567890\n"  # 18 characters
LEAST = 10


def by_definition(
    owner: list[int], cost: list[int], targets: list[list[tuple[int, int]]], kept: set[int]
) -> set[int]:
    """The largest set of groups that lie in small gaps and need only what is kept or in the set."""
    rows = [row for row, group in enumerate(owner) if group != NOBODY]
    cut = [row for row in rows if owner[row] not in kept]
    gaps: list[list[int]] = []
    for row in cut:
        if gaps and rows.index(row) == rows.index(gaps[-1][-1]) + 1:
            gaps[-1].append(row)
        else:
            gaps.append([row])
    gaps = [
        gap
        for gap in gaps
        if gap[0] != rows[0] and gap[-1] != rows[-1] and sum(cost[row] for row in gap) < LEAST
    ]
    while True:
        filled = {row for gap in gaps for row in gap}
        whole = kept | {group for group in {*owner} if all(r in filled for r in rows if owner[r] == group)}
        good = [
            gap
            for gap in gaps
            if all(owner[r] in whole and {need for need, _ in targets[owner[r]]} <= whole for r in gap)
        ]
        if len(good) == len(gaps):
            return {owner[row] for gap in gaps for row in gap}
        gaps = good


@st.composite
def files(draw: st.DrawFn) -> tuple[list[int], list[int], list[list[tuple[int, int]]], set[int]]:
    groups = draw(st.integers(1, 8))
    owner = draw(st.lists(st.integers(NOBODY, groups - 1), min_size=groups, max_size=16))
    cost = draw(st.lists(st.integers(0, 8), min_size=len(owner), max_size=len(owner)))
    present = sorted({*owner} - {NOBODY})
    needs = st.lists(st.tuples(st.sampled_from(present or [0]), st.just(1)), max_size=2)
    targets = [draw(needs) if group in present else [] for group in range(groups)]
    kept = {group for group in present if draw(st.booleans())}
    return owner, cost, targets, kept


@settings(max_examples=400, deadline=None)
@given(files())
def test_what_is_filled_is_what_the_definition_says(file) -> None:
    owner, cost, targets, kept = file
    pairs = [(user, needed) for user, needs in enumerate(targets) for needed, _ in needs]
    arrays = (np.array(each, dtype=np.int64) for each in (owner, cost, *np.reshape(pairs, (-1, 2)).T))
    gaps = gaps_of(*arrays, LEAST)
    mask: BoolArray = np.array([group in kept for group in range(len(targets))], dtype=np.bool_)
    found: IntArray = gaps.filled(mask)
    assert {*found.tolist()} == by_definition(owner, cost, targets, kept)


@pytest.mark.parametrize("language", ["python", "text"])
def test_cuts_between_kept_lines_hide_at_least_so_much(language: str) -> None:
    most = (LEAST_CUT - 1) // len(LINE.strip())
    for lines, cut in ((most, False), (most + 1, True)):
        code = LINE * (lines + 2)
        pruned = prune_lines(code, [1, *[0] * lines, 1], language=language)
        assert bool(pruned.cuts) is cut
        assert cut or {*pruned.reasons.values()} == {"semantic", "repair:gap"}
    assert prune_lines(LINE * 3, [1, 0, 1], language=language, min_cut=0).cuts
    assert not prune_lines(LINE * 3, [1, 0, 1], language=language, min_cut=len(LINE) + 1).cuts


def test_indentation_costs_nothing_and_a_gap_whose_lines_need_what_is_cut_stays_a_gap() -> None:
    code = "if x:\n" + (" " * 200 + LINE) * 3
    assert not prune_lines(code, [1, 1, 0, 1], language="python").cuts
    long = "'something long that stands here to be cut away'"
    code = f"import {'a' * 120}\nx = 1\ny = {'a' * 120}.b\nz = {long}, {long}\nw = 2\n"
    assert prune_lines(code, [0, 1, 0, 0, 1], language="python", min_cut=1000).kept_lines == (2, 5)
