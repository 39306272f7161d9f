"""Adding to a selection the lines without which it would not stand.

Repair is the closure of a selection under rules of the form "if these lines are kept, so is that one":

- scope: a unit needs the frame of the unit around it; a frame is kept whole (closure, companions);
- import, definition: a line that uses a name needs the line that binds it;
- return: a statement of a function's body needs the `return` that ends the body;
- gap: a short line between two kept ones is kept when all it needs is kept, since a marker would cost more.

Rules never say "unless", so repair is monotone (selecting more never loses a line) and idempotent (the closure of a
closure is itself). It is computed by propagation in time linear in rules and lines. This module knows groups of rows
and rules between them; it knows nothing of trees, scores or text.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lamr_postprocess.languages import Language
from lamr_postprocess.lines import BoolArray, IntArray
from lamr_postprocess.names import requirements_of
from lamr_postprocess.outline import NOBODY, Outline
from lamr_postprocess.syntax import Source

Codes = NDArray[np.int8]

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
class Rules:
    """The rules of one file of R rows and G groups.

    Attributes:
        owner: int [R], group of each row, `NOBODY` where a row stands for itself.
        companion: bool [R].
        targets: for each group, the (group, reason) pairs that it needs.
        short: bool [R], the row costs less than a marker and is all of its group.
        blanks: int [3, n], rows that nobody owns, and the nearest owned rows before and after each: a blank row is
            kept when both of these are.
    """

    owner: IntArray
    companion: BoolArray
    targets: list[list[tuple[int, int]]]
    short: BoolArray
    blanks: IntArray


def rules_without_tree(short: BoolArray, blank: BoolArray, headings: IntArray) -> Rules:
    """The rules for a text that is pruned line by line: gaps, and the headings int [R] that rows stand under."""
    rows = short.shape[0]
    owner = np.where(blank, NOBODY, np.arange(rows))
    return Rules(
        owner=owner,
        companion=np.zeros(rows, dtype=np.bool_),
        targets=[[] if above < 0 else [(above, SCOPE)] for above in headings.tolist()],
        short=short & ~blank,
        blanks=_blanks(owner),
    )


def no_rules(rows: int) -> Rules:
    """Rules under which every selection is closed."""
    owner = np.full(rows, NOBODY, dtype=np.int64)
    nothing = np.zeros(rows, dtype=np.bool_)
    return Rules(owner, nothing, [], nothing, np.zeros((3, 0), dtype=np.int64))


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
    return Rules(
        owner=outline.owner,
        companion=outline.companion,
        targets=targets,
        short=short & alone,
        blanks=_blanks(outline.owner),
    )


def _add_list_rules(targets: list[list[tuple[int, int]]], outline: Outline) -> None:
    """Items that stay with the next one, with their list (its first) or with their function's body (its result)."""
    group = outline.unit_group.tolist()
    for item, before in outline.followers:
        if group[item] != group[before]:
            targets[group[item]].append((group[before], CLOSURE))
    for each in outline.lists:
        if each.kind.keep_first and group[each.owner] != group[each.items[0]]:
            targets[group[each.owner]].append((group[each.items[0]], COMPANION))
        if each.last_kind in each.kind.results:
            last = group[each.items[-1]]
            for item in {group[unit] for unit in each.items} - {last}:
                targets[item].append((last, RETURN))


def _blanks(owner: IntArray) -> IntArray:
    """The rows without owner that lie between owned ones, with their neighbours (see `Rules.blanks`)."""
    owned = np.flatnonzero(owner != NOBODY)
    blank = np.flatnonzero(owner == NOBODY)
    slot = np.searchsorted(owned, blank)
    inside = (slot > 0) & (slot < owned.shape[0])
    blank, slot = blank[inside], slot[inside]
    found: IntArray = (
        np.stack([blank, owned[slot - 1], owned[slot]]) if blank.size else np.zeros((3, 0), dtype=np.int64)
    )
    return found


def close(rules: Rules, selected: BoolArray) -> Codes:
    """The closure of a selection bool [R]: for each row why it is kept, or CUT. Linear in rules and rows."""
    rows = selected.shape[0]
    groups = len(rules.targets)
    kept = selected.copy()
    codes = np.where(selected, SELECTED, CUT).astype(np.int8)
    reached = np.zeros(groups, dtype=np.int8)
    waiting = np.unique(rules.owner[selected & (rules.owner != NOBODY)]).tolist()
    reached[waiting] = CLOSURE
    while True:
        _propagate(rules.targets, reached, waiting)
        why = (
            np.where(rules.owner == NOBODY, CUT, reached[rules.owner])
            if groups
            else np.zeros(rows, dtype=np.int8)
        )
        new = ~kept & (why != CUT)
        codes[new] = np.where(rules.companion[new], COMPANION, why[new])
        kept |= new
        waiting = _fill_gaps(rules, kept, codes, reached)
        if not waiting:
            return codes


def _propagate(targets: list[list[tuple[int, int]]], reached: Codes, waiting: list[int]) -> None:
    """Follow the rules from the waiting groups; groups are marked in `reached` with the reason that came first."""
    marks = reached.tolist()
    found: list[int] = []
    at = 0
    while at < len(waiting):
        for needed, reason in targets[waiting[at]]:
            if not marks[needed]:
                marks[needed] = reason
                found.append(needed)
                waiting.append(needed)
        at += 1
    for group in found:
        reached[group] = marks[group]


def _fill_gaps(rules: Rules, kept: BoolArray, codes: Codes, reached: Codes) -> list[int]:
    """Keep short rows and blank runs between kept rows; the groups that this adds."""
    if kept.shape[0] < 3:
        return []
    row, before, after = rules.blanks
    new = row[kept[before] & kept[after] & ~kept[row]]
    kept[new], codes[new] = True, GAP
    between = np.zeros_like(kept)
    between[1:-1] = kept[:-2] & kept[2:]
    added: list[int] = []
    for row in np.flatnonzero(between & ~kept & rules.short).tolist():
        group = int(rules.owner[row])
        if all(reached[needed] for needed, _ in rules.targets[group]):
            kept[row], codes[row], reached[group] = True, GAP, GAP
            added.append(group)
    return added
