"""Blocks over several rows of a text, found without its grammar: brackets, end words, tags, and their other halves.

A grammar is older than the code that people write. What it can't read, or takes for something else, must not part a
bracket from its other half. A table (`lamr_postprocess.languages.scans`) tells brackets and words from texts and
comments; in formats without a grammar `lamr_postprocess.wholes` does. One stack pairs them all."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from lamr_base.expressions import expression
from lamr_base.records import dataclass

from lamr_postprocess.atomic import Found, found_in, masked
from lamr_postprocess.clock import in_time
from lamr_postprocess.languages.table import AtomicSpan, Scan, Template
from lamr_postprocess.lines import IntArray

_FAR, _NEAR = 100, 30
"""Characters before a word that tell whether it is one, with blanks at their end and without."""
_MOST_OPEN = 200
"""What is open where a preprocessor's branch begins: a bound on the time taken."""
_NONE = -1
_NAME = expression(r"[\w:.-]+")

OPENS, GOES_ON, CLOSES = "opens", "goes on", "closes"
_IF, _ELSE, _ENDIF = "if", "else", "endif"
_ANY = "any block"
_NOTHING = Scan("")


Token = tuple[str, str, int, int, str]
"""What opens a block, goes on with it or closes it: which of these, what closes the block, row, offset, and the sign.

Other roles part branches of a preprocessor, of which each may open the same block."""

_Open = tuple[str, int, int, str, list[int]]
"""A block that isn't closed: what closes it, the opening's row, offset and sign, and the rows of its branches."""


class Pair(NamedTuple):
    """A block over several rows: the rows and the offsets of what opens and closes it, and rows of its branches."""

    first: int
    last: int
    opening: int
    closing: int
    branches: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of R rows."""

    rows: int  # R
    # each block over several rows, in order of the first row and then of the last, downwards
    pairs: tuple[Pair, ...] = ()
    balanced: bool = True  # whether each bracket and word has its other half
    # the first and the last row of each text that a line above it begins (a here-document), in order
    texts: tuple[tuple[int, int], ...] = ()

    @cached_property
    def around(self) -> IntArray:
        """The first row of the innermost block around each row, int [R], its last row included; negative for none."""
        return self._around(0)

    @cached_property
    def between(self) -> IntArray:
        """The same without each block's last row."""
        return self._around(1)

    def _around(self, less: int) -> IntArray:
        around = np.full(self.rows, _NONE, dtype=np.int64)
        inside: list[tuple[int, int]] = []
        begins = iter([*((pair.first, pair.last - less) for pair in self.pairs), (self.rows, self.rows)])
        begin = next(begins)
        for row in range(self.rows):
            while inside and inside[-1][1] < row:
                inside.pop()
            if inside:
                around[row] = inside[-1][0]
            while begin[0] == row:
                inside.append(begin)
                begin = next(begins)
        return around


def pairs_in(text: str, spans: IntArray, scan: Scan, wholes: tuple[AtomicSpan, ...] = ()) -> Pairs:
    """Find the pairs of a text of R rows, whose offsets int [R, 2] are given.

    Args:
        text: the text.
        spans: the offsets of its rows.
        scan: its language's table.
        wholes: its language's texts and comments."""
    text = text.replace("\r\n", " \n").replace("\r", "\n")  # expressions know one end of a line; offsets stay
    if any("{indent}" in each.closing for each in wholes):  # which one expression can't say
        below, wholes = wholes, ()
    else:
        below = tuple(each for each in wholes if each.waits) if "<<" in text else ()
    texts = list(found_in(text, below))
    text = masked(text, texts, " ")
    pattern = scan.tokens(wholes)
    number = pattern.groupindex["token"]
    found = [(match.start(number), match[number]) for match in pattern.finditer(text) if match[number]]
    rows = _rows(spans, [at for at, _ in found])
    roles = {
        **{closing: (CLOSES, closing) for closing in scan.pairs.values()},
        **{opening: (OPENS, closing) for opening, closing in scan.pairs.items()},
    }
    tokens = [
        (*(roles.get(sign) or _other(sign)), row, at, sign)
        for (at, sign), row in zip(found, rows, strict=True)
        if sign not in scan.led or _leads(text[max(at - _FAR, 0) : at].rstrip(" \t"), scan)
    ]
    first, last = _rows(spans, [each[0] for each in texts]), _rows(spans, [each[1] - 1 for each in texts])
    return paired(tokens, len(spans), scan, tuple(zip(first, last, strict=True)))


def _rows(spans: IntArray, places: Sequence[int]) -> list[int]:
    rows: list[int] = np.searchsorted(spans[:, 1], places, side="right").tolist()
    return rows


def _leads(before: str, scan: Scan) -> bool:
    """Whether a text may end before a word that is one only there."""
    behind = re.compile(rf"(?:{scan.behind})\Z", re.MULTILINE)
    return behind.search(before, max(len(before) - _NEAR, 0)) is not None


def _other(sign: str) -> tuple[str, str]:
    """What a tag does, and its name; or what a line of a preprocessor does."""
    if sign.startswith("<"):
        name = _NAME.search(sign)
        return CLOSES if sign[1] == "/" else OPENS, name[0].lower() if name else ""
    return _ENDIF if sign.endswith("endif") else _IF if sign.endswith("if") else _ELSE, ""


def tags_in(text: str, found: Sequence[Found], spans: IntArray, template: Template) -> list[Token]:
    """The tags among what was found in a text that open blocks, go on with them or close them."""
    kinds = [
        (role, re.compile(each).search)
        for role, each in ((CLOSES, template.closes), (GOES_ON, template.goes_on), (OPENS, template.opens))
    ]
    tokens = []
    for (start, end, _), row in zip(found, _rows(spans, [start for start, _, _ in found]), strict=True):
        for role, search in kinds:
            if tag := search(text[start:end]):
                name = tag.groupdict().get("name")
                any_block = role == CLOSES and name == ""
                tokens.append((role, _ANY if any_block else (name or "").lower(), row, start, ""))
                break
    return tokens


def paired(
    tokens: Iterable[Token], rows: int, scan: Scan | None = None, texts: tuple[tuple[int, int], ...] = ()
) -> Pairs:
    """Pair tokens, in the order of a text of so many rows. What closes nothing or isn't closed is in no pair."""
    scan = scan or _NOTHING
    opened: list[_Open] = []
    waiting, states = Counter[str](), list[list[_Open]]()
    pairs: list[Pair] = []
    lone = 0
    for role, name, row, at, sign in in_time(tokens):
        if role == OPENS:
            if sign in scan.headed and opened and opened[-1][3] in scan.heads and opened[-1][1] == row:
                continue
            opened.append((name, row, at, sign, []))
            waiting[name] += 1
        elif role == CLOSES:
            last = opened[-1][0] if opened else ""
            if last and scan.loose.get(name) == last:
                continue
            wanted = last if name == _ANY else name
            lone += not waiting[wanted] and wanted not in scan.optional
            while waiting[wanted]:
                closing, first, opening, _, branches = opened.pop()
                waiting[closing] -= 1
                if closing == wanted:
                    if first < row:
                        pairs.append(Pair(first, row, opening, at, tuple(branches)))
                    break
                lone += closing not in scan.optional
        elif role == GOES_ON and opened:
            opened[-1][4].append(row)
        elif role == _IF:
            states.append(opened[-_MOST_OPEN:])
        elif role == _ENDIF and states:
            states.pop()
        elif role == _ELSE and states:  # what the branch before it has opened is opened by this one
            opened = list(states[-1])
            waiting = Counter(each[0] for each in opened)
    pairs.sort(key=itemgetter(1), reverse=True)
    pairs.sort(key=itemgetter(0))
    return Pairs(
        rows, tuple(pairs), not (lone or [each for each in opened if each[0] not in scan.optional]), texts
    )
