"""`FileIndex`: what ranking needs to know of files: their pieces, how often each word occurs in them, their outlines.

A piece is a run of rows that competes for a budget: a function with the comments above it, or other lines. Together the
pieces hold every row that isn't blank, and none twice. The index of a file depends on its content and language
alone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

import numpy as np
from lamr_base.arrays import ranges
from lamr_base.expressions import expression
from lamr_base.records import dataclass
from lamr_model.words import TermIndex
from lamr_postprocess import language_named
from lamr_postprocess.definitions import DefinitionSpan, definition_spans
from lamr_postprocess.layout import line_layout
from lamr_postprocess.lines import BoolArray, IntArray
from numpy.typing import NDArray

MOST_ROWS = 80
"""A longer function is no piece of its own: its inner functions are, and the rest is cut at blank lines."""
ENOUGH_ROWS = 20
"""A run of lines outside functions ends at the first blank line after so many."""
_ABOVE = expression(r"\s*(?://|/\*|\*|#|@|\[|--|;;|template\b)")
"""How lines begin that belong to the function below them: comments, decorators, attributes."""


def cut(lines: Sequence[str], blank: BoolArray, definitions: Sequence[DefinitionSpan]) -> IntArray:
    """Return the first and one-past-last row of each piece, int64 [P, 2], of lines; blank ones are bool [L]."""
    count = len(lines)
    if not count or blank.all():
        return np.zeros((0, 2), np.int64)
    owner = np.zeros(count, np.int64)
    number = 0
    end = 0
    for each in definitions:
        rows = each.last - each.first + 1
        if not each.is_function or each.first < end or rows > MOST_ROWS:
            continue
        number += 1
        first = _with_what_is_above(lines, blank, each.first, end)
        owner[first : each.last + 1] = number
        end = each.last + 1
    return _runs(owner, blank)


def _with_what_is_above(lines: Sequence[str], blank: BoolArray, row: int, end: int) -> int:
    """Return the first row of the comments and decorators directly above a row, not above row `end`."""
    while row > end and not blank[row - 1] and _ABOVE.match(lines[row - 1]):
        row -= 1
    return row


def _runs(owner: IntArray, blank: BoolArray) -> IntArray:
    """Cut rows where their owner changes, and rows without one at blank lines."""
    inked = np.flatnonzero(~blank)
    owners = owner[inked]
    starts = np.append(True, owners[1:] != owners[:-1])
    free = owners == 0
    after_blank = np.append(True, np.diff(inked) > 1)
    begin = 0
    for place in np.flatnonzero(starts | (free & after_blank)).tolist():
        if starts[place] or inked[place] - begin >= ENOUGH_ROWS:
            starts[place] = True
            begin = inked[place]
    firsts = np.flatnonzero(starts)
    lasts = np.append(firsts[1:], len(inked)) - 1
    spans = np.stack([inked[firsts], inked[lasts] + 1], axis=1)
    return _short(spans)


def _short(spans: IntArray) -> IntArray:
    """Cut runs without a blank line, such as tables, after so many rows."""
    parts = np.maximum(-(-(spans[:, 1] - spans[:, 0]) // MOST_ROWS), 1)
    which = np.repeat(np.arange(len(spans)), parts)
    step = np.arange(len(which)) - np.repeat(np.cumsum(parts) - parts, parts)
    first = spans[which, 0] + step * MOST_ROWS
    return np.stack([first, np.minimum(first + MOST_ROWS, spans[which, 1])], axis=1)


LEAST_COPIED = 60
"""Characters that aren't white space of a piece that counts as a copy of an equal one."""
MOST_OUTLINE_ENTRIES = 400
_LOW = np.uint64((1 << 32) - 1)


@lru_cache(maxsize=1 << 18)
def term_number(term: str) -> int:
    """Return a term's number, whose lower half is 0. With a million terms, one of 4,000 has the number of another."""
    return _number(term) << 32


def _number(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4)
    return int.from_bytes(digest.digest(), "little")


@dataclass(frozen=True, eq=False)
class FileIndex:
    """F files with P pieces, one file's after another's."""

    lines: IntArray  # lines, counts: int64 [F], the lines and the pieces of each file
    counts: IntArray
    spans: IntArray  # int64 [P, 2], first and one-past-last row of each piece
    lengths: IntArray  # int64 [P], how many terms each piece has
    digests: IntArray  # int64 [P], the same for the same text but for white space; 0 for a few letters
    # uint64 [n], each term that a piece has, as the sum of the term's number and the piece; ascending
    cells: NDArray[np.uint64]
    times: IntArray  # int64 [n], how often the term stands there
    outlined: IntArray  # int64 [F], how many definitions each file's outline shows
    definitions: IntArray  # int64 [sum of `outlined`, 2], the row of each, and in how many others it lies

    def find(self, wanted: NDArray[np.uint64]) -> tuple[IntArray, IntArray, IntArray]:
        """Return where terms, uint64 [Q], stand: for each cell its piece, its term's place in Q, and how often."""
        first, stop = np.searchsorted(self.cells, wanted), np.searchsorted(self.cells, wanted | _LOW, "right")
        at = ranges(first, stop - first)
        term = np.repeat(np.arange(len(wanted)), stop - first)
        return (self.cells[at] & _LOW).astype(np.int64), term, self.times[at]

    def of(self, files: IntArray) -> FileIndex:
        """Return the index of some of the files, int64, in any order."""
        counts, outlined = self.counts[files], self.outlined[files]
        pieces = ranges((np.cumsum(self.counts) - self.counts)[files], counts)
        shown = ranges((np.cumsum(self.outlined) - self.outlined)[files], outlined)
        place = np.full(len(self.lengths), -1, np.int64)
        place[pieces] = np.arange(len(pieces))
        own = place[self.cells & _LOW]
        kept = own >= 0
        cells, times = _ordered((self.cells & ~_LOW)[kept] + own[kept].astype(np.uint64), self.times[kept])
        columns = (self.spans[pieces], self.lengths[pieces], self.digests[pieces], cells, times, outlined)
        return FileIndex(self.lines[files], counts, *columns, self.definitions[shown])


def _ordered(cells: NDArray[np.uint64], times: IntArray) -> tuple[NDArray[np.uint64], IntArray]:
    order = np.argsort(cells, kind="stable")
    return cells[order], times[order]


def joined(indexes: Sequence[FileIndex]) -> FileIndex:
    """Return the index of the files of several."""
    indexes = [index_file("", "text").of(np.zeros(0, np.int64)), *indexes]
    bases = np.cumsum([0, *(len(each.lengths) for each in indexes)]).astype(np.uint64)
    columns = {
        name: np.concatenate([getattr(each, name) for each in indexes])
        for name in FileIndex.__dataclass_fields__
    }
    moved = np.concatenate([each.cells + base for each, base in zip(indexes, bases, strict=False)])
    columns["cells"], columns["times"] = _ordered(moved, columns["times"])
    return FileIndex(**columns)


def index_file(text: str, language: str) -> FileIndex:
    """Cut a file into pieces and count its words."""
    layout = line_layout(text)
    lines = [text[a:b] for a, b in layout.spans.tolist()]
    definitions = definition_spans(text, language_named(language))
    spans = cut(lines, layout.blank, definitions)
    depths: dict[int, int] = {}
    for each in definitions:
        depths.setdefault(each.head, each.depth)  # a line stands once in an outline
    outline = np.array(list(islice(depths.items(), MOST_OUTLINE_ENTRIES)), np.int64).reshape(-1, 2)
    terms = TermIndex.of(text, layout)
    names, term, line = terms.occurrences()
    numbers = np.array([term_number(name) if len(name) > 1 else 0 for name in names], np.uint64)
    piece = np.searchsorted(spans[:, 1], np.arange(len(lines)), side="right")
    told = numbers[term] > 0  # no query has a term of one character
    cells, times = np.unique(numbers[term[told]] + piece[line[told]].astype(np.uint64), return_counts=True)
    return FileIndex(
        lines=np.array([len(lines)]),
        counts=np.array([len(spans)]),
        spans=spans,
        lengths=np.bincount(piece, terms.lengths, len(spans))[: len(spans)].astype(np.int64),
        digests=np.array([_digest("".join(lines[a:b])) for a, b in spans.tolist()], np.int64),
        cells=cells,
        times=times,
        outlined=np.array([len(outline)]),
        definitions=outline,
    )


def _digest(text: str) -> int:
    """Return the number of a piece's text, whatever its white space; 0 where it has too few letters to be a copy."""
    letters = "".join(text.split())
    return _number(letters) if len(letters) >= LEAST_COPIED else 0
