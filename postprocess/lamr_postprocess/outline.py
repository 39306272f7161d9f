"""The parts of a file that can be cut one by one: units, lists of units, and the rows that each unit owns.

A *unit* is one child of a *list* (a statement of a block, a member of a class, an element of a literal, a comment).
A unit owns the rows of its own tokens, its *frame*. The frame of an `if` statement is its header, the `else:` line and
the brackets that span lines, but not the rows of the statements inside. A frame is kept or cut whole. Units that touch
the same row can't be parted and form one *group*. A cut of whole groups leaves text that parses, if every list that
must not be empty keeps an item or gets its filler; everything in `repair` rests on that.

This module turns what `walk.py` finds into arrays by row."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from lamr_base.records import dataclass

from lamr_postprocess.languages import Comment, Language
from lamr_postprocess.lines import BoolArray, IntArray
from lamr_postprocess.syntax import ParsedText
from lamr_postprocess.walk import NOBODY, SEGMENT_COLUMNS, TOP, UNIT_COLUMNS, ItemList, Walk

__all__ = ["NOBODY", "Outline", "outline_of"]


@dataclass(frozen=True, eq=False)
class Outline:
    """The units of a file of R rows, by row."""

    owner: IntArray  # [R], the group that owns the row; `NOBODY` for blank rows between units
    companion: BoolArray  # [R], the row belongs to a clause that accompanies another (`else:`)
    starts: BoolArray  # [R], a unit begins on the row
    groups: int  # the number of groups
    unit_group: IntArray  # [units], the group of each unit
    unit_parent: IntArray  # [units], the unit around each unit, or `NOBODY`
    unit_row: IntArray  # [units], the row in which each unit begins
    lists: list[ItemList]  # the lists that have items
    # pairs of units of which the first can't stand without the second, the item before it
    followers: list[tuple[int, int]]
    meanings: list[tuple[int, int]]  # pairs of units of which the second says what the first means
    remarked: list[tuple[int, int]]  # pairs of a comment and the unit that it stands right above
    list_end: IntArray  # [R], the last row of the innermost list around the unit that owns the row
    # [R], a number for the statement around the row; elements of a literal have the literal's
    statement: IntArray
    around: IntArray  # [R], the row in which the unit around the row's unit begins; `NOBODY` for none
    # [R], the comment syntax inside the row's list, as an index into `comments`; -1 for the language's
    markup: IntArray
    comments: tuple[Comment, ...]  # the comment syntaxes that lists bring


def outline_of(source: ParsedText, language: Language) -> Outline:
    """Find the units of a parsed file."""
    rows = source.rows.shape[0]
    walk = Walk(source)
    walk.run(rows)
    walk.close_broken()
    outline = _by_row(walk, rows, _continued(source, language))
    if source.damage is None and not source.tree.root_node.has_error:
        return outline
    alone = set() if source.damage is None else set(source.damage.rows)
    for row in np.flatnonzero(outline.owner == NOBODY).tolist():  # what no node covers
        if source.data[slice(*source.rows[row].tolist())].strip():
            alone.add(row)
    return _with_single_rows(outline, sorted(alone))


def _with_single_rows(outline: Outline, rows: Sequence[int]) -> Outline:
    """An outline in which each of some rows that no unit owns is a group of its own."""
    alone = np.array(rows, dtype=np.int64)
    alone = alone[outline.owner[alone] == NOBODY]
    owner, starts, statement = outline.owner.copy(), outline.starts.copy(), outline.statement.copy()
    owner[alone] = outline.groups + np.arange(len(alone))
    starts[alone] = True
    statement[alone] = len(outline.unit_group) + np.arange(len(alone))
    return replace(
        outline, owner=owner, starts=starts, statement=statement, groups=outline.groups + len(alone)
    )


def _continued(source: ParsedText, language: Language) -> IntArray:
    """Rows that end in the language's continuation character, which can't be parted from the next row."""
    if not language.continuation or language.continuation.encode() not in source.data:
        return np.zeros(0, dtype=np.int64)
    points = np.frombuffer(source.data, dtype=np.uint8)
    starts, ends = source.rows[:, 0], source.rows[:, 1]
    last = ends - 1
    last -= (points[last] == 10) & (last > starts)
    last -= (points[last] == 13) & (last > starts)
    rows = np.flatnonzero(points[last] == ord(language.continuation))
    return rows[rows < starts.shape[0] - 1]


def _by_row(walk: Walk, rows: int, continued: IntArray) -> Outline:
    """Turn segments into arrays by row and units into numbered groups."""
    unit_of_row = np.full(rows, NOBODY, dtype=np.int64)
    companion = np.zeros(rows, dtype=np.bool_)
    if walk.segments:
        parts = np.array(walk.segments, dtype=np.int64).reshape(-1, SEGMENT_COLUMNS)
        lengths = parts[:, 1] - parts[:, 0] + 1
        where = np.repeat(parts[:, 0] - (np.cumsum(lengths) - lengths), lengths) + np.arange(
            int(lengths.sum())
        )
        unit_of_row[where] = np.repeat(parts[:, 2], lengths)
        companion[where] = np.repeat(parts[:, 3], lengths).astype(np.bool_)
    for row in continued.tolist():
        if unit_of_row[row] != NOBODY and unit_of_row[row + 1] != NOBODY:
            walk.join(int(unit_of_row[row]), int(unit_of_row[row + 1]))
        elif unit_of_row[row] != NOBODY:
            unit_of_row[row + 1] = unit_of_row[row]
    heads = _heads(walk.joined)
    units = np.array(walk.units, dtype=np.int64).reshape(-1, UNIT_COLUMNS)
    parents, unit_rows, ends, statements, markups = units.T
    _, unit_group = np.unique(heads, return_inverse=True)
    owner = np.where(unit_of_row == NOBODY, NOBODY, unit_group[unit_of_row])
    starts = np.zeros(rows, dtype=np.bool_)
    starts[unit_rows[1:]] = True
    return Outline(
        owner=owner,
        companion=companion,
        starts=starts,
        groups=int(unit_group.max()) + 1,
        unit_group=unit_group.astype(np.int64),
        unit_parent=parents,
        unit_row=unit_rows,
        lists=[each for each in walk.lists if each.items],
        followers=walk.followers,
        meanings=walk.meanings,
        remarked=walk.remarked,
        list_end=np.where(unit_of_row == NOBODY, rows - 1, ends[unit_of_row]),
        statement=np.where(unit_of_row == NOBODY, NOBODY, heads[statements[unit_of_row]]),
        around=np.where(
            (unit_of_row == NOBODY) | (parents[unit_of_row] <= TOP), NOBODY, unit_rows[parents[unit_of_row]]
        ),
        markup=np.where(unit_of_row == NOBODY, NOBODY, markups[unit_of_row]),
        comments=tuple(walk.comments),
    )


def _heads(joined: Sequence[int]) -> IntArray:
    """The first of the units that each unit is joined with, int [units], for pointers that lead there step by step."""
    heads = np.array(joined, dtype=np.int64)
    while (heads != (further := heads[heads])).any():
        heads = further
    return heads
