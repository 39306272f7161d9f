"""Blocks of a text that its grammar can't read, by indentation: which rows begin, go on with and close each.

A block is a row with the deeper rows below it, and the rows at its own depth that close it or go on with it (`}`,
`else`). Code that isn't indented inside its braces (a namespace of C++) counts as deeper all the same."""

import re
from collections.abc import Sequence
from itertools import pairwise

from lamr_base.records import dataclass

from lamr_postprocess.clock import in_time
from lamr_postprocess.languages import Language
from lamr_postprocess.languages.table import NEVER

NO_DEPTH = -1
_TAB = 8
_MOST_HEADER_ROWS = 12
_CLOSED = (b";", b"}", b":")


@dataclass(frozen=True, eq=False)
class Blocks:
    """The rows of a text as blocks see them."""

    rows: Sequence[bytes]  # the text's R rows, as bytes
    # the depth of each row; `NO_DEPTH` for rows that go on with the one before (blank ones, the inside of comments
    # and strings)
    depths: Sequence[int]
    closes: Sequence[bool]  # whether a row closes a block or goes on with it
    leads: Sequence[bool]  # whether a row begins what goes on in the block after it, where nothing ends it
    braces: bool  # whether braces hold the inside of blocks

    def split(self, first: int, stop: int) -> list[tuple[int, int]]:
        """The outermost blocks of the rows from `first` up to `stop`: the first row of each, and the one after it."""
        begins: list[int] = []
        base = 0
        for row in in_time(range(first, stop)):
            depth = self.depths[row]
            if depth == NO_DEPTH or (begins and (depth > base or self.closes[row])):
                continue
            if not begins or depth != base or not self._goes_on(begins[-1], row):
                begins.append(row)
            base = depth
        return list(pairwise([*begins, stop]))

    def _goes_on(self, first: int, row: int) -> bool:
        """Whether a block from `first` up to a row of its depth is the head of what begins there."""
        return self.leads[first] and not self.rows[self._inked_end(first, row) - 1].rstrip().endswith(_CLOSED)

    def parts(self, first: int, stop: int) -> tuple[int, list[tuple[int, int]]]:
        """The row after a block's header, and the runs of rows inside the block; other rows are the block's frame."""
        base, header = self.depths[first], self._header_end(first, stop)
        runs: list[tuple[int, int]] = []
        begin = None
        for row in range(header, stop):
            depth = self.depths[row]
            if depth > base:
                begin = row if begin is None else begin
            elif depth != NO_DEPTH and begin is not None:
                runs.append((begin, self._inked_end(begin, row)))
                begin = None
        return header, [*runs, (begin, self._inked_end(begin, stop))] if begin is not None else runs

    def name_row(self, first: int, header: int) -> int:
        """The row of a block's header that follows what leads to it, such as annotations."""
        base = self.depths[first]
        rows = (row for row in range(first, header) if self.depths[row] == base and not self.closes[row])
        return max(rows, default=first)

    def _inked_end(self, first: int, stop: int) -> int:
        """The row after the last one with ink."""
        while stop > first + 1 and not self.rows[stop - 1].strip():
            stop -= 1
        return stop

    def _header_end(self, first: int, stop: int) -> int:
        """The row after the last one of a header: where its brackets are closed, and where its brace opens."""
        opened, end = 0, first
        for row in range(first, min(stop, first + _MOST_HEADER_ROWS)):
            text = self.rows[row]
            opened += text.count(b"(") - text.count(b")")
            if opened <= 0:
                end = row + 1
                break
        else:
            return first + 1
        for row in range(end - 1, min(stop, end + _MOST_HEADER_ROWS)) if self.braces else ():
            text = self.rows[row].rstrip()
            if text.endswith(b"{"):
                return row + 1
            if text.endswith(_CLOSED) or (row >= end and self.closes[row]):
                break
        return end


def blocks_of(rows: Sequence[bytes], inside: frozenset[int], language: Language) -> Blocks:
    """The blocks of a text. `inside`: rows inside of comments and strings, which go on with the row before.
    `language`: the text's; `frames` and `leading` of its table are used."""
    pattern = re.compile((language.frames or NEVER).encode())
    leading = re.compile((language.leading or NEVER).encode())
    depths, closes, leads = [NO_DEPTH] * len(rows), [False] * len(rows), [False] * len(rows)
    flat: list[int] = []  # the depths of the braces around whose inside isn't indented
    inked = [row for row, text in enumerate(rows) if row not in inside and text.strip()]
    before = (NO_DEPTH, b"")
    for at, row in enumerate(in_time(inked)):
        text = rows[row].rstrip()
        inner = text.lstrip(b" \t")
        depth = len(text[: len(text) - len(inner)].expandtabs(_TAB))
        closes[row] = pattern.match(inner) is not None
        leads[row] = leading.match(inner) is not None
        if flat and depth == flat[-1] and inner.startswith(b"}") and _is_outer(before, depth):
            flat.pop()
        depths[row] = depth + len(flat)
        if text.endswith(b"{") and at + 1 < len(inked) and _is_flat(rows[inked[at + 1]], depth, pattern):
            flat.append(depth)
        before = (depth, text)
    return Blocks(rows, depths, closes, leads, language.ending == "}")


def _is_outer(before: tuple[int, bytes], depth: int) -> bool:
    """Whether a closing brace closes more than the block before it, by the depth and the text of the row before."""
    return before[0] <= depth and not before[1].endswith(b"{")


def _is_flat(following: bytes, depth: int, closing: re.Pattern[bytes]) -> bool:
    """Whether the inside of a brace isn't indented, by the row after it."""
    inner = following.lstrip(b" \t")
    indent = len(following[: len(following) - len(inner)].expandtabs(_TAB))
    return indent == depth and closing.match(inner) is None
