"""Adding to a selection the lines without which it would not stand.

Repair is the closure of a selection under rules of the form "if these lines are kept, so is that one":

- scope: a unit needs the frame of the unit around it; a frame is kept whole (closure, companions);
- import, definition: a line that uses a name needs the line that binds it;
- return: a statement of a function's body brings the `return` that ends the body, if all that this one needs is kept;
- meaning: a line needs those that say what it means (`'use strict'`, the enumerators that it counts on from);
- gap: a few short lines between two kept ones are kept if all that they need is (`lamr_postprocess.gaps`).

Rules never say "unless", so repair is monotone (selecting more never loses a line) and idempotent (the closure of a
closure is itself). It is computed by propagation, in time linear in rules and lines for each time that gaps are filled,
which is seldom more than twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lamr_postprocess.captures import Names
from lamr_postprocess.frames import Frames
from lamr_postprocess.gaps import Gaps, gaps_of
from lamr_postprocess.languages import Language
from lamr_postprocess.lines import BoolArray, IntArray
from lamr_postprocess.names import requirements_of
from lamr_postprocess.outline import NOBODY, Outline
from lamr_postprocess.syntax import Damage
from lamr_postprocess.wholes import Wholes

Codes = NDArray[np.int8]

_NO_ROWS = np.zeros((3, 0), dtype=np.int64)
_MOST_RESULT_ROWS = 3  # of a `return` that comes along; a longer one has to be selected for itself

# Why a row is kept; the numbers index REASONS.
CUT, SELECTED, SCOPE, COMPANION, IMPORTED, DEFINED, CLOSURE, RETURN, MEANING, GAP, DEPENDENCY, KEEP = range(
    12
)
_KINDS = ("scope", "companion", "import", "definition", "closure", "return", "meaning", "gap")
REASONS = ("", "semantic", *(f"repair:{kind}" for kind in _KINDS), "dependency", "keep")


@dataclass(frozen=True, eq=False)
class Extras:
    """Groups that are kept when that costs nothing more, because all that they need is kept anyway.

    Attributes:
        group: the group of each extra.
        reason: the reason of each extra.
        needs: how many conditions each extra waits for: each group that it needs, and one for the groups that offer it.
        waiting: for a group, the extras that need it.
        offered: for a group, the extras that it offers; of the groups that offer an extra, one must be kept.
    """

    group: list[int]
    reason: list[int]
    needs: list[int]
    waiting: dict[int, list[int]]
    offered: dict[int, list[int]]

    def add(self, group: int, reason: int, needs: set[int], offered_by: set[int]) -> None:
        """Add one extra: all of `needs` must be kept, and one of `offered_by` if there are any."""
        number = len(self.group)
        self.group.append(group)
        self.reason.append(reason)
        self.needs.append(len(needs) + bool(offered_by))
        for each in needs:
            self.waiting.setdefault(each, []).append(number)
        for each in offered_by:
            self.offered.setdefault(each, []).append(number)


@dataclass(frozen=True, eq=False)
class Rules:
    """The rules of one file of R rows and G groups.

    Attributes:
        owner: int [R], the group of each row, `NOBODY` where a row stands for itself.
        companion: bool [R], the row belongs to a clause that accompanies another.
        targets: for each group, the groups that it needs, with the reasons.
        extras: groups that are kept only if all that they need is kept.
        gaps: what is known of gaps; None where none are filled.
        singles: int [3, n], rows that are kept when the rows before and after each are, which come with them.
        blanks: int [3, n], rows that nobody owns, and the nearest owned rows before and after each. A blank row is kept
            when both these rows are.
    """

    owner: IntArray
    companion: BoolArray
    targets: list[list[tuple[int, int]]]
    extras: Extras
    gaps: Gaps | None
    singles: IntArray
    blanks: IntArray


def rules_without_tree(
    cost: IntArray, blank: BoolArray, frames: Frames, wholes: Wholes, least_cut: int
) -> Rules:
    """The rules for a text that is pruned line by line: gaps, and the rows that rows are nothing without.

    Args:
        cost: int [R], what a row costs, in the unit of `least_cut`.
        blank: bool [R], rows of white space alone.
        frames: which rows need which.
        wholes: which rows stand together.
        least_cut: what the rows of a cut cost at least; a gap that costs less is filled.
    """
    rows, head = cost.shape[0], wholes.head
    owner = np.where(blank, NOBODY, head)
    needs = [(frames.above, SCOPE), (wholes.around, SCOPE), (wholes.inside, SCOPE), (frames.opening, CLOSURE)]
    targets: list[list[tuple[int, int]]] = []
    if wholes.together or any((needed >= 0).any() for needed, _ in needs):
        targets = [[] for _ in range(rows)]
    for needed, why in needs:
        users = np.flatnonzero((needed >= 0) & ~blank)
        pairs = np.unique(np.stack([head[users], head[needed[users]]], axis=1), axis=0)
        for user, need in pairs[pairs[:, 0] != pairs[:, 1]].tolist():
            targets[user].append((need, why))
            if why == CLOSURE:
                targets[need].append((user, why))
    for tags in wholes.together:
        for one, next_one in pairwise([*head[list(tags)].tolist(), int(head[tags[0]])]):
            targets[one].append((next_one, CLOSURE))
    gaps, companion = gaps_of(owner, cost, targets, least_cut), np.zeros(rows, dtype=np.bool_)
    return Rules(owner, companion, targets, _no_extras(), gaps, _NO_ROWS, _blanks(owner))


def no_rules(rows: int) -> Rules:
    """Rules under which every selection is closed."""
    owner = np.full(rows, NOBODY, dtype=np.int64)
    return Rules(owner, np.zeros(rows, dtype=np.bool_), [], _no_extras(), None, _NO_ROWS, _NO_ROWS)


def rules_of(
    names: Sequence[tuple[Names, Language]],
    outline: Outline,
    damage: Damage | None,
    cost: IntArray,
    least_cut: int,
) -> Rules:
    """The rules of a parsed file; `cost` and `least_cut` as in `rules_without_tree`."""
    targets: list[list[tuple[int, int]]] = [[] for _ in range(outline.groups)]
    group, parent = outline.unit_group, outline.unit_parent
    inner = np.flatnonzero(parent != NOBODY)
    users, needed = np.divmod(np.unique(group[inner] * outline.groups + group[parent[inner]]), outline.groups)
    for one, other in zip(users.tolist(), needed.tolist(), strict=True):
        if one != other:
            targets[one].append((other, SCOPE))
    _add_list_rules(targets, outline)
    for each, language in names:
        for user, binder, imported in requirements_of(each, outline, language):
            targets[user].append((binder, IMPORTED if imported else DEFINED))
    if damage is not None:
        _add_damage(targets, outline.owner.tolist(), damage)
    sizes = np.bincount(outline.owner[outline.owner != NOBODY], minlength=outline.groups)
    extras = _no_extras()
    _add_results(extras, targets, outline, sizes)
    gaps = gaps_of(outline.owner, cost, targets, least_cut)
    return Rules(outline.owner, outline.companion, targets, extras, gaps, _NO_ROWS, _blanks(outline.owner))


def _add_list_rules(targets: list[list[tuple[int, int]]], outline: Outline) -> None:
    """Add the items that stay with others of their list, and the first and last ones that stay with the list."""
    group = outline.unit_group.tolist()
    after: dict[int, int] = {}
    if any(each.kind.falls for each in outline.lists):
        after = {one: other for each in outline.lists for one, other in pairwise(each.items)}
    for unit, meaning in outline.meanings:
        if group[unit] != group[meaning]:
            targets[group[unit]].append((group[meaning], MEANING))
    for item, before in outline.followers:
        if group[item] != group[before]:
            targets[group[item]].append((group[before], CLOSURE))
    for each in outline.lists:
        if each.kind.keep_first and group[each.owner] != group[each.items[0]]:
            targets[group[each.owner]].append((group[each.items[0]], COMPANION))
        if each.kind.keep_last:
            last = group[each.items[-1]]
            for item in {group[each_item] for each_item in each.items} - {last}:
                targets[item].append((last, COMPANION))
        if each.last_kind in each.kind.endings and group[each.owner] != group[each.items[-1]]:
            targets[group[each.owner]].append((group[each.items[-1]], COMPANION))
        elif each.kind.falls and group[following := after.get(each.owner, each.owner)] != group[each.owner]:
            targets[group[each.owner]].append((group[following], MEANING))


def _add_damage(targets: list[list[tuple[int, int]]], owner: list[int], damage: Damage) -> None:
    """Add what damaged rows need: the rows that they stand under, the other end of a block, and their bonds."""
    frames = damage.frames

    def add(row: int, needed: int, why: int) -> None:
        if (
            row >= 0
            and needed >= 0
            and NOBODY not in (owner[row], owner[needed])
            and owner[row] != owner[needed]
        ):
            targets[owner[row]].append((owner[needed], why))

    for row in damage.rows:
        add(row, int(frames.above[row]), SCOPE)
        add(row, int(frames.opening[row]), CLOSURE)
        add(int(frames.opening[row]), row, CLOSURE)
    for row, needed in damage.bonds:
        add(row, needed, CLOSURE)


def _no_extras() -> Extras:
    return Extras([], [], [], {}, {})


def _add_results(
    extras: Extras, targets: list[list[tuple[int, int]]], outline: Outline, sizes: IntArray
) -> None:
    """Add the `return` that ends a body, for when a statement of the body and all that the `return` needs are kept."""
    group = outline.unit_group.tolist()
    for each in outline.lists:
        last = group[each.items[-1]]
        if each.last_kind in each.kind.results and sizes[last] <= _MOST_RESULT_ROWS:
            statements = {group[unit] for unit in each.items} - {last}
            if statements:
                extras.add(last, RETURN, {needed for needed, _ in targets[last]}, statements)


def _blanks(owner: IntArray) -> IntArray:
    """The rows without an owner that lie between owned ones, with their neighbours (see `Rules.blanks`)."""
    owned = np.flatnonzero(owner != NOBODY)
    blank = np.flatnonzero(owner == NOBODY)
    slot = np.searchsorted(owned, blank)
    inside = (slot > 0) & (slot < owned.shape[0])
    blank, slot = blank[inside], slot[inside]
    return np.stack([blank, owned[slot - 1], owned[slot]]) if blank.size else _NO_ROWS


def close(rules: Rules, selected: BoolArray) -> Codes:
    """The closure of a selection bool [R]: why each row is kept, or CUT, int8 [R]."""
    codes = np.where(selected, SELECTED, CUT).astype(np.int8)
    owned = rules.owner != NOBODY
    closure = _Closure(rules, selected.shape[0])
    closure.keep(np.unique(rules.owner[selected & owned]).tolist(), CLOSURE)
    if rules.gaps is not None:
        while (filling := rules.gaps.filled(closure.kept())).size:
            closure.keep(filling.tolist(), GAP)
    why = np.where(owned, np.array([*closure.marks, CUT])[rules.owner], CUT)
    new = ~selected & (why != CUT)
    codes[new] = np.where(rules.companion[new] & (why[new] != GAP), COMPANION, why[new])
    # All are taken at once, so that of two side by side neither is kept for the other's sake.
    for row, before, after in (rules.singles, rules.blanks):
        codes[row[(codes[before] != CUT) & (codes[after] != CUT) & (codes[row] == CUT)]] = GAP
    return codes


class _Closure:
    """The groups that are kept so far, and the reason that came first for each: `marks` has it, or CUT."""

    def __init__(self, rules: Rules, rows: int) -> None:
        self._rules = rules
        self.marks = [CUT] * (len(rules.targets) or rows)
        self._missing = rules.extras.needs.copy()
        self._offers = [True] * len(self._missing)

    def kept(self) -> BoolArray:
        """The groups that are kept, bool [G]."""
        kept: BoolArray = np.array(self.marks, dtype=np.int8) != CUT
        return kept

    def keep(self, groups: list[int], reason: int) -> None:
        """Keep groups and all that they need, each need for the rule that asked first.

        Extras are taken up when nothing else is left to follow, so that a row has the reason of what needs it, if
        anything needs it.
        """
        marks, targets, extras = self.marks, self._rules.targets, self._rules.extras
        for group in groups:
            marks[group] = reason
        if not targets:
            return
        free: list[int] = []
        queue = deque(groups)  # first in, first out, so that the shortest way to a group gives its reason
        while queue:
            group = queue.popleft()
            for needed, why in targets[group]:
                if not marks[needed]:
                    marks[needed] = why
                    queue.append(needed)
            free += self._freed_by(group)
            while free and not queue:
                extra = free.pop()
                if not marks[extras.group[extra]]:
                    marks[extras.group[extra]] = extras.reason[extra]
                    queue.append(extras.group[extra])

    def _freed_by(self, group: int) -> list[int]:
        """The extras that miss nothing any more now that a group is kept."""
        extras, freed = self._rules.extras, []
        for extra in extras.waiting.get(group, ()):
            self._missing[extra] -= 1
            if not self._missing[extra]:
                freed.append(extra)
        for extra in extras.offered.get(group, ()):
            if self._offers[extra]:
                self._offers[extra] = False
                self._missing[extra] -= 1
                if not self._missing[extra]:
                    freed.append(extra)
        return freed
