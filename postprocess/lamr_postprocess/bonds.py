"""Rows of a text without a tree that are nothing without certain others, wherever these stand.

A row that introduces the next one, a table's head, a head whose block may not be empty, a clause after the clauses that
are tried before it, a jump to its target."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from lamr_base.expressions import expression

from lamr_postprocess.clock import in_time
from lamr_postprocess.frames import Frames
from lamr_postprocess.languages import Language
from lamr_postprocess.lines import BoolArray
from lamr_postprocess.wholes import Wholes

_BRACE = expression(r"\s*(?:[-*] )?\{\s*")
Bonds = Iterator[tuple[int, int]]


def bonds_of(
    lines: Sequence[str], blank: BoolArray, language: Language, frames: Frames, wholes: Wholes
) -> list[tuple[int, int]]:
    """The pairs of rows of which the first needs the second, in L lines. `blank`: bool [L], lines of white space
    alone, outside of what stands together."""
    remarks = {*wholes.remarks, *wholes.tags}
    rows = [row for row in np.flatnonzero(~blank).tolist() if row not in remarks]
    bonds = [
        *_introduced(lines, np.flatnonzero(~blank).tolist(), language, wholes),
        *_jumps(rows, language, wholes),
        *(_tables(lines, rows, language.tables) if language.tables else ()),
    ]
    begins = (row for row in reversed(rows) if wholes.head[row] == row)
    inner = [row for row in begins if lines[row][:1].isspace() or wholes.inside[row] >= 0]
    first = {int(outer[row]): row for outer in (frames.above, wholes.inside) for row in inner}
    # An item of a list that begins with a brace alone is named by its first row.
    lone = {outer for outer in first if outer >= 0 and _BRACE.fullmatch(wholes.code[outer])}
    named = {outer for outer in lone if wholes.head[outer] == outer and frames.opening[outer] < 0}
    bonds += [
        (outer, row) for outer, row in first.items() if outer in named or (language.filled and outer >= 0)
    ]
    if language.clauses:
        bonds += _clauses(lines, rows, language, frames)
    return bonds


def _introduced(lines: Sequence[str], rows: Sequence[int], language: Language, wholes: Wholes) -> Bonds:
    """The rows that say something of the next one, with it, and it with them."""
    if language.documents:
        begins = re.compile(rf"[ \t]*(?:{language.documents})")
        for row, below in in_time(pairwise(rows)):
            head = int(wholes.head[row])
            if head != wholes.head[below] and (begins.match(lines[row]) or begins.match(lines[head])):
                yield row, below
                yield below, row


def _tables(lines: Sequence[str], rows: Sequence[int], begins: str) -> Bonds:
    """The rows of tables, with the table's first two and its closing one."""
    cells = [row for row in rows if re.match(begins, lines[row])]
    breaks = [place for place, (row, below) in enumerate(pairwise(cells), start=1) if below > row + 1]
    for start, end in in_time(pairwise([0, *breaks, len(cells)] if cells else ())):
        first, second, last = cells[start], cells[min(start + 1, end - 1)], cells[end - 1]
        closed = lines[last].strip() == lines[first].strip()
        for row in cells[start:end]:
            yield row, first
            yield row, second
            yield row, last if closed else first


def _clauses(lines: Sequence[str], rows: Sequence[int], language: Language, frames: Frames) -> Bonds:
    """The definitions of one name that are told apart by their order, each with the one before it."""
    begins, last = re.compile(rf"[ \t]*(?:{language.clauses})"), dict[tuple[int, str], int]()
    for row in in_time(rows):
        if found := begins.match(lines[row]):
            key = int(frames.above[row]), found["name"]
            if key in last:
                yield row, last[key]
            last[key] = row


def _jumps(rows: Sequence[int], language: Language, wholes: Wholes) -> Bonds:
    """The rows that jump, with the nearest target of that name, and the targets with what stands there."""
    jump, target = (re.compile(each) for each in language.jumps)
    targets: dict[str, list[int]] = {}
    for row, below in pairwise([*rows, -1]):
        if found := target.match(wholes.code[row]):
            targets.setdefault(found["name"].lower(), []).append(row)
            if below >= 0:
                yield row, below
    for row in rows if targets else ():
        for found in jump.finditer(wholes.code[row]):
            places = targets.get(found["name"].lower(), [])
            if places:
                yield row, places[min(bisect_left(places, row), len(places) - 1)]
