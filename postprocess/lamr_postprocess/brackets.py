"""Brackets over several rows of a text without a tree: what lies in them is nothing without their two ends.

Indentation says where most blocks begin and end. It doesn't where the last item of a list stands in one row with the
bracket behind it (`main.cpp)`), so that this row alone would part a pair.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
    """

    around: IntArray
    pairs: tuple[tuple[int, int], ...] = ()


def brackets_of(text: str, skipped: Sequence[tuple[int, int]], spans: IntArray, which: str) -> Brackets:
    """Find the pairs. A bracket that has no other one is none.

    Args:
        text: the text of R rows.
        skipped: where strings and comments begin and end, in order.
        spans: int [R, 2], the offsets of the rows.
        which: the brackets that count.
    """
    bracket = re.compile(f"[{re.escape(which)}]")
    places = np.array([found.start() for found in bracket.finditer(text)], dtype=np.int64)
    if skipped and places.size:
        starts, ends = np.array(skipped).T
        within = np.searchsorted(starts, places, side="right") - 1
        places = places[(within < 0) | (places >= ends[within])]
    rows = np.searchsorted(spans[:, 1], places, side="right").tolist()
    pairs = _pairs([text[place] for place in places.tolist()], rows)
    return Brackets(_around(pairs, spans.shape[0]), tuple(pairs))


def _pairs(brackets: Sequence[str], rows: Sequence[int]) -> list[tuple[int, int]]:
    """The rows of pairs over several rows, each once, in order of the first and then of the last, downwards."""
    opened: list[tuple[str, int]] = []
    waiting: Counter[str] = Counter()
    pairs: set[tuple[int, int]] = set()
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
                    pairs.add((first, row))
                break
    return sorted(pairs, key=lambda pair: (pair[0], -pair[1]))


def _around(pairs: Sequence[tuple[int, int]], rows: int) -> IntArray:
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
