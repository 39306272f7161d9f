"""`FileIndex`: what ranking needs to know of files: their pieces, how often each word occurs in them, their outlines.

A piece is a run of rows that competes for a budget: a function with the comments above it, or other lines. Together the
pieces hold every row that isn't blank, and none twice. The index of a file depends on its content and language alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import islice

import numpy as np
from lamr_base.expressions import expression
from lamr_base.records import dataclass
from lamr_model.words import TermIndex, term_number
from lamr_postprocess import language_named
from lamr_postprocess.definitions import DefinitionSpan, definition_spans
from lamr_postprocess.layout import LineLayout, line_layout
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
    after_blank = np.append(True, np.diff(inked) > 1)
    places = np.flatnonzero(starts | ((owners == 0) & after_blank))
    begin, more = 0, []
    for place, row, is_start in zip(
        places.tolist(), inked[places].tolist(), starts[places].tolist(), strict=True
    ):
        if is_start or row - begin >= ENOUGH_ROWS:
            more.append(place)
            begin = row
    starts[more] = True
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
NUMBER_BITS = 32
"""Of a term's number. With a million terms one in 4,000 that a query asks for is taken for another one."""
DIGEST_BITS = 32
"""Of a piece's digest; copies have as many terms as well."""
_PIECE_BITS = 64 - NUMBER_BITS


def term_numbers(terms: Sequence[str]) -> NDArray[np.uint64]:
    """Return the numbers uint64 [Q] of terms, as indexes keep them."""
    return np.array([term_number(term) >> _PIECE_BITS for term in terms], np.uint64)


@dataclass(frozen=True, eq=False)
class FileIndex:
    """F files with P pieces, one file's after another's, and n cells: a term in a piece.

    Attributes:
        lines, counts: int64 [F], the lines and the pieces of each file.
        spans: int64 [P, 2], first and one-past-last row of each piece.
        lengths: int64 [P], how many terms each piece has.
        digests: uint64 [P], the same for the same text but for white space; 0 for a few letters.
        numbers: uint64 [n], the cells' terms, ascending.
        piece: int64 [n], their pieces, ascending for each term.
        times: int64 [n], how often the term stands there.
        outlined: int64 [F], the definitions that each file's outline shows.
        definitions: int64 [sum of `outlined`, 2], the row of each, and in how many others it lies.
    """

    lines: IntArray
    counts: IntArray
    spans: IntArray
    lengths: IntArray
    digests: NDArray[np.uint64]
    numbers: NDArray[np.uint64]
    piece: IntArray
    times: IntArray
    outlined: IntArray
    definitions: IntArray

    def of(self, files: NDArray[np.bool_]) -> FileIndex:
        """Return the index of some of the files, bool [F]."""
        pieces = np.repeat(files, self.counts)
        cells = pieces[self.piece]
        return FileIndex(
            self.lines[files],
            self.counts[files],
            self.spans[pieces],
            self.lengths[pieces],
            self.digests[pieces],
            self.numbers[cells],
            (np.cumsum(pieces) - 1)[self.piece[cells]],
            self.times[cells],
            self.outlined[files],
            self.definitions[np.repeat(files, self.outlined)],
        )


def joined(indexes: Sequence[FileIndex]) -> FileIndex:
    """Return the index of the files of several."""
    bases = np.cumsum([0, *(len(each.spans) for each in indexes)]).tolist()
    numbers = np.concatenate([each.numbers for each in indexes])
    piece = np.concatenate([each.piece + base for each, base in zip(indexes, bases, strict=False)])
    order = np.argsort(numbers, kind="stable")
    names = ("lines", "counts", "spans", "lengths", "digests", "times", "outlined", "definitions")
    columns = {name: np.concatenate([getattr(each, name) for each in indexes]) for name in names}
    columns |= {"numbers": numbers[order], "piece": piece[order], "times": columns["times"][order]}
    return FileIndex(**columns)


def index_file(text: str, language: str) -> FileIndex:
    """Cut a file into pieces and count its words."""
    layout = line_layout(text)
    definitions = definition_spans(text, language_named(language))
    spans = cut(_Lines(text, layout), layout.blank, definitions)
    heads: dict[int, int] = {}
    for each in definitions:
        heads.setdefault(each.head, each.depth)  # a line stands once in an outline
    outline = np.array(list(islice(heads.items(), MOST_OUTLINE_ENTRIES)), np.int64).reshape(-1, 2)
    terms = TermIndex.of(text, layout)
    numbers, line = terms.numbers()
    piece = np.searchsorted(spans[:, 1], np.arange(len(layout.spans)), side="right")
    low = np.uint64((1 << _PIECE_BITS) - 1)
    cells = np.sort((numbers & ~low) | piece[line].astype(np.uint64))
    firsts = np.flatnonzero(np.append(True, cells[1:] != cells[:-1])) if len(cells) else np.zeros(0, np.int64)
    cells, times = cells[firsts], np.diff(firsts, append=len(cells))
    return FileIndex(
        np.array([len(layout.spans)]),
        np.array([len(spans)]),
        spans,
        np.bincount(piece, terms.lengths, len(spans))[: len(spans)].astype(np.int64),
        np.array([_digest(text[a:b]) for a, b in _characters(spans, layout)], np.uint64),
        cells >> np.uint64(_PIECE_BITS),
        (cells & low).astype(np.int64),
        times,
        np.array([len(outline)]),
        outline,
    )


def _characters(spans: IntArray, layout: LineLayout) -> list[tuple[int, int]]:
    """Return the first and one-past-last character of each of some runs of rows."""
    return list(
        zip(layout.spans[spans[:, 0], 0].tolist(), layout.spans[spans[:, 1] - 1, 1].tolist(), strict=True)
    )


def _digest(text: str) -> int:
    """Return the number of a piece's text, whatever its white space; 0 where it has too few letters to be a copy."""
    letters = "".join(text.split())
    if len(letters) < LEAST_COPIED:
        return 0
    digest = hashlib.blake2b(letters.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BITS // 8)
    return int.from_bytes(digest.digest(), "little") or 1


class _Lines(Sequence[str]):
    """The lines of a text, of which few are looked at."""

    def __init__(self, text: str, layout: LineLayout) -> None:
        self._text, self._spans = text, layout.spans

    def __len__(self) -> int:
        return len(self._spans)

    def __getitem__(self, row: int) -> str:  # type: ignore[override]  # nobody asks for a slice
        first, stop = self._spans[row].tolist()
        return self._text[first:stop]
