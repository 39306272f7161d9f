"""Brackets and end words over several rows of a text, found without its grammar.

A grammar is older than the code that people write. What it can't read, or takes for something else, must not part a
bracket from its other half, so a text's pairs are found by a table alone (`lamr_postprocess.languages.scans`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from lamr_base.records import dataclass

from lamr_postprocess.brackets import around_rows
from lamr_postprocess.clock import in_time
from lamr_postprocess.languages.table import AtomicSpan, Scan
from lamr_postprocess.lines import IntArray

_FAR = 100
"""Characters before a word that tell whether it is one."""
_MOST_LOST, _MOST_OPEN = 200, 200
"""Here-documents without an end, and what is open where a preprocessor's branch begins: a bound on the time taken."""


class Pair(NamedTuple):
    """A block over several rows: the rows and the offsets of what opens and what closes it."""

    first: int
    last: int
    opening: int
    closing: int


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of R rows.

    Attributes:
        pairs: each block over several rows, in order of the first row and then of the last, downwards.
        rows: R.
        texts: the first and the last row of each text that a line above it begins (a here-document), in order.
        balanced: whether each bracket and word has its other half.
    """

    rows: int
    pairs: tuple[Pair, ...]
    texts: tuple[tuple[int, int], ...]
    balanced: bool

    @cached_property
    def around(self) -> IntArray:
        """The first row of the innermost block around each row, int [R], its last row included; negative for none."""
        return around_rows([pair[:2] for pair in self.pairs], self.rows)


def pairs_in(text: str, spans: IntArray, scan: Scan) -> Pairs:
    """Find the pairs of a text of R rows, whose offsets int [R, 2] are given."""
    text = text.replace("\r\n", " \n").replace("\r", "\n")  # expressions know one end of a line; offsets stay
    texts: list[tuple[int, int]] = []
    if scan.heredoc is not None and "<<" in text:
        text, texts = _without_texts(text, spans, scan.heredoc)
    token = scan.tokens.groupindex["token"]
    tokens = [(m.start(token), m[token]) for m in scan.tokens.finditer(text) if m.lastindex == token]
    if scan.led:
        behind = re.compile(scan.behind, re.MULTILINE)
        tokens = [
            each
            for each in tokens
            if each[1] not in scan.led or behind.search(text, max(each[0] - _FAR, 0), each[0])
        ]
    rows = np.searchsorted(spans[:, 1], [at for at, _ in tokens], side="right").tolist()
    pairs, balanced = _pairs(tokens, rows, scan)
    return Pairs(spans.shape[0], tuple(pairs), tuple(texts), balanced)


def _without_texts(text: str, spans: IntArray, kind: AtomicSpan) -> tuple[str, list[tuple[int, int]]]:
    """A text with spaces in place of here-documents, and the rows from each's beginning to its end.

    Those that begin in one line follow each other.
    """
    parts: list[str] = []
    rows: list[tuple[int, int]] = []
    never: set[str] = set()
    at, row_end = 0, 0  # up to where the text is copied, and where the line of the last beginning ends
    for found in in_time(re.finditer(kind.opening, text, re.MULTILINE)):
        if found.start() < at and found.start() >= row_end:
            continue  # inside of a text
        tag = re.escape(found["tag"])
        if found.start() >= row_end:
            row_end = text.find("\n", found.end()) + 1
        begin = max(at, row_end)
        closing = kind.closing.replace("{tag}", tag)
        end = (
            None if closing in never or not row_end else re.compile(closing, re.MULTILINE).search(text, begin)
        )
        if end is None:
            never.add(closing)
            continue
        parts += [text[at:begin], re.sub(r"[^\n]", " ", text[begin : end.end()])]
        at = end.end()
        first, last = np.searchsorted(spans[:, 1], [found.start(), end.end() - 1], side="right").tolist()
        rows.append((first, last))
    return "".join([*parts, text[at:]]), rows


class _Open(NamedTuple):
    """What is open: its sign, what closes it, its row, and where it begins."""

    sign: str
    closing: str
    row: int
    at: int


def _pairs(tokens: Sequence[tuple[int, str]], rows: Sequence[int], scan: Scan) -> tuple[list[Pair], bool]:
    """The pairs over several rows, and whether nothing is left over."""
    closings, begins, headed = frozenset(scan.pairs.values()), scan.pairs, scan.headed
    opened: list[_Open] = []
    waiting = dict.fromkeys(closings, 0)
    pairs: list[Pair] = []
    branches: list[list[_Open]] = []
    lone = 0
    for (at, sign), row in in_time(zip(tokens, rows, strict=True)):
        closing = begins.get(sign)
        if closing is not None:
            if sign in headed and opened and opened[-1].sign in scan.heads and opened[-1].row == row:
                continue
            opened.append(_Open(sign, closing, row, at))
            waiting[closing] += 1
        elif sign in closings:
            if opened and scan.loose.get(sign) == opened[-1].closing:
                continue
            if not waiting[sign]:
                lone += 1
            while waiting[sign]:
                last = opened.pop()
                waiting[last.closing] -= 1
                if last.closing == sign:
                    if last.row < row:
                        pairs.append(Pair(last.row, row, last.at, at))
                    break
                lone += 1
        elif sign.endswith("if") and not sign.endswith("endif"):
            branches.append(opened[-_MOST_OPEN:])
        elif branches and sign.endswith("endif"):
            branches.pop()
        elif branches:  # another branch: what the one before it has opened is opened by this one
            opened = list(branches[-1])
            waiting = {**dict.fromkeys(closings, 0), **Counter(each.closing for each in opened)}
    return sorted(pairs, key=lambda pair: (pair.first, -pair.last)), not (lone or opened)
