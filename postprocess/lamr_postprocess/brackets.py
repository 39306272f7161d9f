"""Brackets over several rows of a text without a tree: what lies in them is nothing without their two ends.

Indentation says where most blocks begin and end. It doesn't where the last item of a list stands in one row with the
bracket behind it (`main.cpp)`), so that this row alone would part a pair.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import field

import numpy as np
from lamr_base.records import dataclass

from lamr_postprocess.clock import in_time
from lamr_postprocess.lines import IntArray

_OPENING = {")": "(", "]": "[", "}": "{"}
_NONE = -1


@dataclass(frozen=True, eq=False)
class Brackets:
    """The pairs of R rows.

    Attributes:
        around: int [R], the row of the innermost bracket that each row lies in, negative for none.
        pairs: the rows of a bracket that opens and of the one that closes it, of each pair over several rows.
        by_kind: the same pairs by the bracket that opens.
    """

    around: IntArray
    pairs: tuple[tuple[int, int], ...] = ()
    by_kind: Mapping[str, Set[tuple[int, int]]] = field(default_factory=dict)

    def short(self, most_rows: int) -> Iterator[tuple[int, int]]:
        """The round pairs of at most so many rows with no other brace over several rows inside."""
        braces = sorted(self.by_kind.get("{", ()))
        for first, last in self.by_kind.get("(", ()):
            at = bisect_left(braces, (first, 0))
            if last - first < most_rows and not (at < len(braces) and braces[at][0] <= last):
                yield first, last


def brackets_of(code: str, spans: IntArray, which: str) -> Brackets:
    """Find the pairs. A bracket that has no other one is none.

    Args:
        code: the text of R rows, without brackets in strings and comments.
        spans: int [R, 2], the offsets of the rows.
        which: the brackets that count.
    """
    if not which:
        return Brackets(np.full(spans.shape[0], _NONE, dtype=np.int64))
    found = list(re.finditer(f"[{re.escape(which)}]", code))
    rows = np.searchsorted(spans[:, 1], [each.start() for each in found], side="right").tolist()
    pairs = _pairs([each[0] for each in found], rows)
    every = sorted(
        {pair for of_kind in pairs.values() for pair in of_kind}, key=lambda pair: (pair[0], -pair[1])
    )
    return Brackets(around_rows(every, spans.shape[0]), tuple(every), pairs)


def _pairs(brackets: Sequence[str], rows: Sequence[int]) -> dict[str, set[tuple[int, int]]]:
    """The rows of pairs over several rows, by the bracket that opens."""
    opened: list[tuple[str, int]] = []
    waiting: Counter[str] = Counter()
    pairs: dict[str, set[tuple[int, int]]] = {}
    for bracket, row in in_time(zip(brackets, rows, strict=True)):
        opening = _OPENING.get(bracket)
        if opening is None:
            opened.append((bracket, row))
            waiting[bracket] += 1
            continue
        while waiting[opening]:
            last, first = opened.pop()
            waiting[last] -= 1
            if last == opening:
                if first < row:
                    pairs.setdefault(opening, set()).add((first, row))
                break
    return pairs


def around_rows(pairs: Sequence[tuple[int, int]], rows: int) -> IntArray:
    """The first row of the innermost pair around each row, int [rows], the row of its end included."""
    around = np.full(rows, _NONE, dtype=np.int64)
    inside: list[tuple[int, int]] = []
    ends = iter([*pairs, (rows, rows)])
    begin = next(ends)
    for row in range(rows):
        while inside and inside[-1][1] < row:
            inside.pop()
        if inside:
            around[row] = inside[-1][0]
        while begin[0] == row:
            inside.append(begin)
            begin = next(ends)
    return around
