"""Adding to a selection the lines without which it would not stand.

Repair is the closure of a selection under rules of the form "if these lines are kept, so is that one":

- scope: a unit needs the frame of the unit around it; a frame is kept whole (closure, companions);
- import, definition: a line that uses a name needs the line that binds it;
- return: a statement of a function's body brings the `return` that ends the body, when all that this one needs is kept;
- gap: a short line between two kept ones is kept when all it needs is kept, since a marker would cost more.

Rules never say "unless", so repair is monotone (selecting more never loses a line) and idempotent (the closure of a
closure is itself). It is computed by propagation in time linear in rules and lines. This module knows groups of rows
and rules between them; it knows nothing of trees, scores or text.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lamr_postprocess.languages import Language
from lamr_postprocess.lines import BoolArray, IntArray
from lamr_postprocess.names import requirements_of
from lamr_postprocess.outline import NOBODY, Outline
from lamr_postprocess.syntax import Source

Codes = NDArray[np.int8]

_NO_ROWS = np.zeros((3, 0), dtype=np.int64)
_MOST_RESULT_ROWS = 3  # of a `return` that comes along; a longer one is worth a selection of its own

# Why a row is kept; the numbers index REASONS.
CUT, SELECTED, SCOPE, COMPANION, IMPORTED, DEFINED, CLOSURE, RETURN, GAP, DEPENDENCY, KEEP = range(11)
REASONS = (
    "",
    "semantic",
    "repair:scope",
    "repair:companion",
    "repair:import",
    "repair:definition",
    "repair:closure",
    "repair:return",
    "repair:gap",
    "dependency",
    "keep",
)


@dataclass(frozen=True, eq=False)
class Extras:
    """Groups that are kept when that costs nothing more: when all they need is kept anyway.

    Attributes:
        group, reason: of each extra.
        needs: how many groups an extra waits for, all of which must be kept.
        waiting: group -> the extras that need it.
        offered: group -> the extras of which it, or another one, must be kept; an extra that nothing offers needs none.
    """

    group: list[int]
    reason: list[int]
    needs: list[int]
    waiting: dict[int, list[int]]
    offered: dict[int, list[int]]

    def add(self, group: int, reason: int, needs: set[int], offered_by: set[int]) -> None:
        """One more extra."""
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
        owner: int [R], group of each row, `NOBODY` where a row stands for itself.
        companion: bool [R].
        targets: for each group, the (group, reason) pairs that it needs.
        extras: groups that are kept only if all they need is.
        gaps: int [3, n], short rows that need nothing, where no row needs another, and the rows before and after each:
            such a row is kept when both of these are. Elsewhere gaps are extras.
        blanks: int [3, n], rows that nobody owns, and the nearest owned rows before and after each: a blank row is
            kept when both of these are.
    """

    owner: IntArray
    companion: BoolArray
    targets: list[list[tuple[int, int]]]
    extras: Extras
    gaps: IntArray
    blanks: IntArray


def rules_without_tree(short: BoolArray, blank: BoolArray, headings: IntArray) -> Rules:
    """The rules for a text that is pruned line by line: gaps, and the headings int [R] that rows stand under."""
    rows = short.shape[0]
    owner = np.where(blank, NOBODY, np.arange(rows))
    extras, companion = _no_extras(), np.zeros(rows, dtype=np.bool_)
    if (headings < 0).all():
        row = _gap_rows(owner, short & ~blank)
        return Rules(owner, companion, [], extras, np.stack([row, row - 1, row + 1]), _blanks(owner))
    targets = [[] if above < 0 else [(above, SCOPE)] for above in headings.tolist()]
    _add_gaps(extras, targets, owner, short & ~blank)
    return Rules(owner, companion, targets, extras, _NO_ROWS, _blanks(owner))


def no_rules(rows: int) -> Rules:
    """Rules under which every selection is closed."""
    owner = np.full(rows, NOBODY, dtype=np.int64)
    return Rules(owner, np.zeros(rows, dtype=np.bool_), [], _no_extras(), _NO_ROWS, _NO_ROWS)


def rules_of(source: Source, outline: Outline, language: Language, short: BoolArray) -> Rules:
    """The rules of a parsed file. `short` bool [R]: rows that cost less than a marker would."""
    targets: list[list[tuple[int, int]]] = [[] for _ in range(outline.groups)]
    group, parent = outline.unit_group, outline.unit_parent
    inner = np.flatnonzero(parent != NOBODY)
    users, needed = np.divmod(np.unique(group[inner] * outline.groups + group[parent[inner]]), outline.groups)
    for one, other in zip(users.tolist(), needed.tolist(), strict=True):
        if one != other:
            targets[one].append((other, SCOPE))
    _add_list_rules(targets, outline)
    owner = outline.owner.tolist()
    for need in requirements_of(source, outline, language):
        targets[owner[need.user]].append((owner[need.binder], IMPORTED if need.imported else DEFINED))
    sizes = np.bincount(outline.owner[outline.owner != NOBODY], minlength=outline.groups)
    alone = (outline.owner != NOBODY) & (sizes[outline.owner] == 1)
    extras = _no_extras()
    _add_results(extras, targets, outline, sizes)
    _add_gaps(extras, targets, outline.owner, short & alone)
    return Rules(outline.owner, outline.companion, targets, extras, _NO_ROWS, _blanks(outline.owner))


def _add_list_rules(targets: list[list[tuple[int, int]]], outline: Outline) -> None:
    """Items that stay with the one before, or with their list (its first)."""
    group = outline.unit_group.tolist()
    for item, before in outline.followers:
        if group[item] != group[before]:
            targets[group[item]].append((group[before], CLOSURE))
    for each in outline.lists:
        if each.kind.keep_first and group[each.owner] != group[each.items[0]]:
            targets[group[each.owner]].append((group[each.items[0]], COMPANION))


def _no_extras() -> Extras:
    return Extras([], [], [], {}, {})


def _add_results(
    extras: Extras, targets: list[list[tuple[int, int]]], outline: Outline, sizes: IntArray
) -> None:
    """The `return` that ends a body, when a statement of the body is kept and all that the `return` needs."""
    group = outline.unit_group.tolist()
    for each in outline.lists:
        last = group[each.items[-1]]
        if each.last_kind in each.kind.results and sizes[last] <= _MOST_RESULT_ROWS:
            statements = {group[unit] for unit in each.items} - {last}
            if statements:
                extras.add(last, RETURN, {needed for needed, _ in targets[last]}, statements)


def _add_gaps(
    extras: Extras, targets: list[list[tuple[int, int]]], owner: IntArray, short: BoolArray
) -> None:
    """Short rows between two rows that are kept, when all that they need is."""
    rows = _gap_rows(owner, short)
    columns = (owner[rows].tolist(), owner[rows - 1].tolist(), owner[rows + 1].tolist())
    for group, before, after in zip(*columns, strict=True):
        extras.add(group, GAP, {before, after, *(needed for needed, _ in targets[group])} - {group}, set())


def _gap_rows(owner: IntArray, short: BoolArray) -> IntArray:
    """Short rows between two that are owned."""
    inner = short[1:-1] & (owner[:-2] != NOBODY) & (owner[2:] != NOBODY)
    return np.flatnonzero(inner) + 1


def _blanks(owner: IntArray) -> IntArray:
    """The rows without owner that lie between owned ones, with their neighbours (see `Rules.blanks`)."""
    owned = np.flatnonzero(owner != NOBODY)
    blank = np.flatnonzero(owner == NOBODY)
    slot = np.searchsorted(owned, blank)
    inside = (slot > 0) & (slot < owned.shape[0])
    blank, slot = blank[inside], slot[inside]
    return np.stack([blank, owned[slot - 1], owned[slot]]) if blank.size else _NO_ROWS


def close(rules: Rules, selected: BoolArray) -> Codes:
    """The closure of a selection bool [R]: for each row why it is kept, or CUT. Linear in rules and rows."""
    codes = np.where(selected, SELECTED, CUT).astype(np.int8)
    if rules.targets:
        reached = np.array(_reach(rules, np.unique(rules.owner[selected & (rules.owner != NOBODY)]).tolist()))
        why = np.where(rules.owner == NOBODY, CUT, reached[rules.owner])
        new = ~selected & (why != CUT)
        codes[new] = np.where(rules.companion[new], COMPANION, why[new])
    for row, before, after in (
        rules.gaps,
        rules.blanks,
    ):  # gaps all at once: two side by side wait for each other
        codes[row[(codes[before] != CUT) & (codes[after] != CUT) & (codes[row] == CUT)]] = GAP
    return codes


def _reach(rules: Rules, waiting: list[int]) -> list[int]:
    """Follow the rules from the waiting groups: for each group the reason that came first, or CUT.

    Extras are taken up when nothing else is left to follow, so that a row's reason is what needs it, if anything does.
    """
    extras, targets = rules.extras, rules.targets
    marks = [CUT] * len(targets)
    for group in waiting:
        marks[group] = CLOSURE
    missing = extras.needs.copy()
    offers = [True] * len(missing)
    free: list[int] = []
    queue = deque(waiting)  # in order, so that the shortest way to a group names its reason
    while queue:
        group = queue.popleft()
        for needed, reason in targets[group]:
            if not marks[needed]:
                marks[needed] = reason
                queue.append(needed)
        for extra in extras.waiting.get(group, ()):
            missing[extra] -= 1
            if not missing[extra]:
                free.append(extra)
        for extra in extras.offered.get(group, ()):
            if offers[extra]:
                offers[extra] = False
                missing[extra] -= 1
                if not missing[extra]:
                    free.append(extra)
        while free and not queue:
            extra = free.pop()
            if not marks[extras.group[extra]]:
                marks[extras.group[extra]] = extras.reason[extra]
                queue.append(extras.group[extra])
    return marks
