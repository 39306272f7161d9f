"""Adding to a selection the lines without which it would not stand.

Repair is the closure of a selection under rules of the form "if these lines are kept, so is that one":

- scope: a unit needs the frame of the unit around it; a frame is kept whole (closure, companions);
- import, definition: a line that uses a name needs the line that binds it, a comment needs what it stands right above;
- return: a statement of a function's body brings the `return` that ends the body, if all that this one needs is kept;
- meaning: a line needs those that say what it means (`'use strict'`, the enumerators that it counts on from), and a
  private name its declaration, without which it doesn't parse;
- gap: a few short lines between two kept ones are kept if all that they need is (`lamr_postprocess.gaps`).

Rules never say "unless", so repair is monotone (selecting more never loses a line) and idempotent (the closure of a
closure is itself). It is computed by propagation, in time linear in rules and lines for each time that gaps are filled,
which is seldom more than twice."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from lamr_base.records import dataclass
from numpy.typing import NDArray

from lamr_postprocess.captures import Names
from lamr_postprocess.clock import look
from lamr_postprocess.disputes import Disputes
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
(
    CUT,
    SELECTED,
    SCOPE,
    COMPANION,
    IMPORTED,
    DEFINED,
    CLOSURE,
    RETURN,
    MEANING,
    GAP,
    DEPENDENCY,
    KEEP,
    OUTCOME,
) = range(13)
_KINDS = ("scope", "companion", "import", "definition", "closure", "return", "meaning", "gap")
REASONS = ("", "semantic", *(f"repair:{kind}" for kind in _KINDS), "dependency", "keep", "outcome")

_BOUND = np.array([DEFINED, IMPORTED, MEANING])  # by the kind of a binding: see `names`


@dataclass(frozen=True, eq=False)
class Extras:
    """Groups that are kept when that costs nothing more, because all that they need is kept anyway."""

    group: list[int]  # the group of each extra
    reason: list[int]  # the reason of each extra
    # how many conditions each extra waits for: each group that it needs, and one for the groups that offer it
    needs: list[int]
    waiting: dict[int, list[int]]  # for a group, the extras that need it
    # for a group, the extras that it offers; of the groups that offer an extra, one must be kept
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
class Needs:
    """Which of G groups need which others, P pairs in the order of the groups that need."""

    user: IntArray  # user, needed, why: [P], the two groups of each pair, and the reason
    needed: IntArray
    why: IntArray
    starts: IntArray  # [G + 1], where each group's pairs begin

    @classmethod
    def of(cls, groups: int, *triples: IntArray | Sequence[tuple[int, int, int]]) -> Needs:
        """The needs of so many groups. `triples`: int [n, 3] each, a group, what it needs, and why; what comes first
        of a group stays first."""
        table = np.concatenate([np.array(each, np.int64).reshape(-1, 3) for each in ((), *triples)])
        user, needed, why = table[np.argsort(table[:, 0], kind="stable")].T
        return cls(user, needed, why, np.searchsorted(user, np.arange(groups + 1)))

    def but(self, *reasons: int) -> Needs:
        """The needs that have other reasons than these."""
        table = np.stack([self.user, self.needed, self.why], axis=1)
        return Needs.of(len(self.starts) - 1, table[~np.isin(self.why, reasons)])

    def of_group(self, group: int) -> set[int]:
        """What a group needs."""
        return set(self.needed[self.starts[group] : self.starts[group + 1]].tolist())

    @cached_property
    def lists(self) -> tuple[list[int], list[int], list[int]]:
        """`starts`, `needed` and `why` as lists, made once for the many closures that a search for a budget follows."""
        return self.starts.tolist(), self.needed.tolist(), self.why.tolist()


@dataclass(frozen=True, eq=False)
class Rules:
    """The rules of one file of R rows and G groups."""

    owner: IntArray  # [R], the group of each row, `NOBODY` where a row stands for itself
    companion: BoolArray  # [R], the row belongs to a clause that accompanies another
    needs: Needs  # which groups need which others
    extras: Extras  # groups that are kept only if all that they need is kept
    gaps: Gaps | None  # what is known of gaps; None where none are filled
    # [3, n], rows that are kept when the rows before and after each are, which come with them
    singles: IntArray
    # [3, n], rows that nobody owns, and the nearest owned rows before and after each. A blank row is kept when both
    # these rows are.
    blanks: IntArray

    @cached_property
    def binds(self) -> bool:
        """Whether any row needs one that binds a name."""
        return bool(np.isin(self.needs.why, (IMPORTED, DEFINED)).any())

    @cached_property
    def bare(self) -> Rules:
        """The rules that a text parses by: no binding comes along but private names', and nothing that comments say."""
        return replace(self, needs=self.needs.but(IMPORTED, DEFINED))


def rules_without_tree(  # noqa: PLR0913, PLR0917  # what is known of a text's rows
    cost: IntArray,
    blank: BoolArray,
    frames: Frames,
    wholes: Wholes,
    more: Sequence[tuple[int, int]],
    least_cut: int,
) -> Rules:
    """The rules for a text that is pruned line by line: gaps, and the rows that rows are nothing without.

    Args:
        cost: int [R], what a row costs, in the unit of `least_cut`.
        blank: bool [R], rows of white space alone.
        frames: which rows need which.
        wholes: which rows stand together.
        more: further pairs of rows of which the first needs the second.
        least_cut: what the rows of a cut cost at least; a gap that costs less is filled."""
    rows, head = cost.shape[0], wholes.head
    owner = np.where(blank, NOBODY, head)
    needs = [(frames.above, SCOPE), (wholes.around, SCOPE), (wholes.inside, SCOPE), (frames.opening, CLOSURE)]
    triples: list[IntArray] = []
    for needed, why in needs:
        users = np.flatnonzero((needed >= 0) & ~blank)
        pairs = np.unique(np.stack([head[users], head[needed[users]]], axis=1), axis=0)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        if why == CLOSURE:  # both ways
            pairs = np.stack([pairs, pairs[:, ::-1]], axis=1).reshape(-1, 2)
        triples.append(np.insert(pairs, 2, why, axis=1))
    for tags in wholes.together:
        ring = head[[*tags, tags[0]]]
        triples.append(np.stack([ring[:-1], ring[1:], np.full(len(tags), CLOSURE)], axis=1))
    triples += (
        [np.array([(head[user], head[need], MEANING) for user, need in more], np.int64)] if more else []
    )
    closed = Needs.of(rows, *triples)
    gaps, companion = gaps_of(owner, cost, closed.user, closed.needed, least_cut), np.zeros(rows, np.bool_)
    return Rules(owner, companion, closed, _no_extras(), gaps, _NO_ROWS, _blanks(owner))


def keeping_first(rules: Rules) -> Rules:
    """The rules under which any row needs the first one, too."""
    first, needs = int(rules.owner[0]) if rules.owner.size else NOBODY, rules.needs
    if first == NOBODY:
        return rules
    known = np.stack([needs.user, needs.needed, needs.why], axis=1)
    groups = len(needs.starts) - 1
    more = [(group, first, MEANING) for group in range(groups) if group != first]
    return replace(rules, needs=Needs.of(groups, known, more))


def no_rules(rows: int) -> Rules:
    """Rules under which every selection is closed."""
    owner = np.full(rows, NOBODY, dtype=np.int64)
    needs = Needs.of(rows)
    return Rules(owner, np.zeros(rows, dtype=np.bool_), needs, _no_extras(), None, _NO_ROWS, _NO_ROWS)


def rules_of(  # noqa: PLR0913, PLR0917  # what is known of a file
    names: Sequence[tuple[Names, Language]],
    outline: Outline,
    damage: Damage | None,
    disputes: Disputes,
    cost: IntArray,
    least_cut: int,
) -> Rules:
    """The rules of a parsed file; `cost` and `least_cut` as in `rules_without_tree`."""
    group, parent, groups = outline.unit_group, outline.unit_parent, outline.groups
    inner = np.flatnonzero(parent != NOBODY)
    users, needed = np.divmod(np.unique(group[inner] * groups + group[parent[inner]]), groups)
    scopes = np.stack([users, needed, np.full(len(users), SCOPE)], axis=1)[users != needed]
    look()
    required = [requirements_of(each, outline, language) for each, language in names]
    for each in required:
        each[:, 2] = _BOUND[each[:, 2]]
    damaged = _damaged(outline.owner.tolist(), damage, disputes)
    look()
    needs = Needs.of(groups, scopes, _list_rules(outline), *required, damaged)
    sizes = np.bincount(outline.owner[outline.owner != NOBODY], minlength=groups)
    extras = _no_extras()
    _add_results(extras, needs, outline, sizes)
    gaps = gaps_of(outline.owner, cost, needs.user, needs.needed, least_cut)
    return Rules(outline.owner, outline.companion, needs, extras, gaps, _NO_ROWS, _blanks(outline.owner))


def _list_rules(outline: Outline) -> list[tuple[int, int, int]]:
    """The items that stay with others of their list, and the first and last ones that stay with the list."""
    group = outline.unit_group.tolist()
    needs: list[tuple[int, int, int]] = []
    after: dict[int, int] = {}
    if any(each.kind.falls for each in outline.lists):
        after = {one: other for each in outline.lists for one, other in pairwise(each.items)}
    needs += [(group[unit], group[meaning], MEANING) for unit, meaning in outline.meanings]
    needs += [(group[comment], group[unit], DEFINED) for comment, unit in outline.remarked]
    needs += [(group[item], group[before], CLOSURE) for item, before in outline.followers]
    for each in outline.lists:
        whole, first, last = group[each.owner], group[each.items[0]], group[each.items[-1]]
        if each.core != NOBODY:
            needs += [(group[other], group[each.core], MEANING) for other in each.beside]
        if each.kind.keep_first:
            needs.append((whole, first, COMPANION))
        if each.kind.keep_last:
            needs += [(item, last, COMPANION) for item in {group[each_item] for each_item in each.items}]
        if each.last_kind in each.kind.endings and whole != last:
            needs.append((whole, last, COMPANION))
        elif each.kind.falls:
            needs.append((whole, group[after.get(each.owner, each.owner)], MEANING))
    return [(user, needed, why) for user, needed, why in needs if user != needed]


def _damaged(owner: list[int], damage: Damage | None, disputes: Disputes) -> list[tuple[int, int, int]]:
    """What rows need that the tree doesn't read, or parts: the rows that they stand under, other ends, and bonds."""
    rows = [(row, needed, SCOPE) for row, needed in disputes.scopes]
    both = list(disputes.closures)
    if damage is not None:
        above, opening = damage.frames.above.tolist(), damage.frames.opening.tolist()
        rows += [(row, above[row], SCOPE) for row in damage.rows]
        rows += [(row, needed, CLOSURE) for row, needed in damage.bonds]
        both += [(row, opening[row]) for row in damage.rows]
    rows += [(a, b, CLOSURE) for pair in both for a, b in (pair, pair[::-1])]
    groups = ((owner[row], owner[needed], why) for row, needed, why in rows if min(row, needed) >= 0)
    return [each for each in groups if NOBODY not in each[:2] and each[0] != each[1]]


def _no_extras() -> Extras:
    return Extras([], [], [], {}, {})


def _add_results(extras: Extras, needs: Needs, outline: Outline, sizes: IntArray) -> None:
    """Add the `return` that ends a body, for when a statement of the body and all that the `return` needs are kept."""
    group = outline.unit_group.tolist()
    for each in outline.lists:
        last = group[each.items[-1]]
        if each.last_kind in each.kind.results and sizes[last] <= _MOST_RESULT_ROWS:
            statements = {group[unit] for unit in each.items} - {last}
            if statements:
                extras.add(last, RETURN, needs.of_group(last), statements)


def _blanks(owner: IntArray) -> IntArray:
    """The rows without an owner, with the owned rows before and after each (see `Rules.blanks`).

    Those outside all owned rows have the nearest one on both sides: a marker for the blank lines at a text's end would
    cost more than they do, and in a format without comments (JSON) it would have no place."""
    owned = np.flatnonzero(owner != NOBODY)
    blank = np.flatnonzero(owner == NOBODY)
    if not (owned.size and blank.size):
        return _NO_ROWS
    slot = np.searchsorted(owned, blank)
    return np.stack([blank, owned[np.maximum(slot - 1, 0)], owned[np.minimum(slot, owned.size - 1)]])


def close(rules: Rules, selected: BoolArray) -> Codes:
    """The closure of a selection bool [R]: why each row is kept, or CUT, int8 [R]."""
    codes = np.where(selected, SELECTED, CUT).astype(np.int8)
    owned = rules.owner != NOBODY
    closure = _Closure(rules)
    closure.keep(np.unique(rules.owner[selected & owned]).tolist(), CLOSURE)
    if rules.gaps is not None:
        while (filling := rules.gaps.filled(closure.kept())).size:
            look()
            closure.keep(filling.tolist(), GAP)
    why = np.where(owned, np.array([*closure.marks, CUT])[rules.owner], CUT)
    new = ~selected & (why != CUT)
    codes[new] = np.where(rules.companion[new] & (why[new] != GAP), COMPANION, why[new])
    # All are taken at once, so that of two side by side neither is kept for the other's sake.
    for row, before, after in (rules.singles, rules.blanks):
        codes[row[(codes[before] != CUT) & (codes[after] != CUT) & (codes[row] == CUT)]] = GAP
    return codes


def adding(rules: Rules, codes: Codes, rows: Sequence[int]) -> Codes:
    """Codes with rows that are kept for themselves, and with gaps between them that cost less than a marker."""
    if not rows:
        return codes
    codes, places = codes.copy(), list(rows)
    codes[places] = np.where(codes[places] == CUT, OUTCOME, codes[places])
    owned = np.flatnonzero(rules.owner != NOBODY)
    kept = np.zeros(len(rules.needs.starts) - 1, dtype=np.bool_)
    kept[rules.owner[owned[codes[owned] != CUT]]] = True
    if rules.gaps is not None:
        filled = owned[np.isin(rules.owner[owned], rules.gaps.filled(kept))]
        codes[filled[codes[filled] == CUT]] = GAP
    for row, before, after in (rules.singles, rules.blanks):
        codes[row[(codes[before] != CUT) & (codes[after] != CUT) & (codes[row] == CUT)]] = GAP
    return codes


class _Closure:
    """The groups that are kept so far, and the reason that came first for each: `marks` has it, or CUT."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.marks = [CUT] * (len(rules.needs.starts) - 1)
        self._missing = rules.extras.needs.copy()
        self._offers = [True] * len(self._missing)

    def kept(self) -> BoolArray:
        """The groups that are kept, bool [G]."""
        kept: BoolArray = np.array(self.marks, dtype=np.int8) != CUT
        return kept

    def keep(self, groups: list[int], reason: int) -> None:
        """Keep groups and all that they need, each need for the rule that asked first.

        Extras are taken up when nothing else is left to follow, so that a row has the reason of what needs it, if
        anything needs it."""
        marks, extras = self.marks, self._rules.extras
        starts, needed_by, reasons = self._rules.needs.lists
        for group in groups:
            marks[group] = reason
        if not needed_by:
            return
        free: list[int] = []
        queue = deque(groups)  # first in, first out, so that the shortest way to a group gives its reason
        while queue:
            group = queue.popleft()
            for at in range(starts[group], starts[group + 1]):
                needed, why = needed_by[at], reasons[at]
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
