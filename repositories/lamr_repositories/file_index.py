"""`FileIndex`: what ranking needs to know of one file: its pieces, how often each word occurs in them, its outline.

A piece is a run of rows that competes for a budget: a function with the comments above it, or other lines. Together the
pieces hold every row that isn't blank, and none twice. The index depends on the file's content and language alone, so
it is kept by content: a later question reads it back instead of parsing and splitting the file again.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
from lamr_base.arrays import Float64Array, ranges
from lamr_base.cache import unpacked
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


FORMAT = "5"
"""Changes whenever pieces, words or outlines of the same content would."""
LEAST_COPIED = 60
"""Characters that aren't white space of a piece that counts as a copy of an equal one."""
MOST_OUTLINE_CHARS = 120
MOST_OUTLINE_ENTRIES = 400
_ARRAYS = {
    "spans": "<i4",
    "lengths": "<f4",
    "digests": "<u8",
    "hashes": "<u8",
    "bounds": "<i4",
    "piece_of": "<i4",
    "times": "<i4",
}


@lru_cache(maxsize=1 << 18)
def term_hash(term: str) -> int:
    """Return the 64-bit number that stands for a term in an index."""
    return _number(term)


def _number(text: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little"
    )


@dataclass(frozen=True)
class OutlineEntry:
    """One definition: its 1-based line, in how many others it lies, and the text of its first line."""

    line: int
    depth: int
    text: str


@dataclass(frozen=True, eq=False)
class FileIndex:
    """One file of L lines in P pieces, with V distinct terms."""

    language: str
    lines: int
    spans: NDArray[Any]  # int [P, 2], first and one-past-last row of each piece
    lengths: NDArray[Any]  # float [P], how many terms each piece has
    digests: NDArray[Any]  # uint64 [P], the same for the same text but for white space; 0 for a few letters
    hashes: NDArray[Any]  # uint64 [V], the terms' numbers, ascending
    bounds: NDArray[Any]  # int [V + 1]; term v occurs in the pieces `piece_of[bounds[v]:bounds[v + 1]]`
    piece_of: NDArray[Any]
    times: NDArray[Any]  # how often, at the places of `piece_of`
    outline: tuple[OutlineEntry, ...]

    def frequencies(self, wanted: NDArray[np.uint64]) -> tuple[IntArray, IntArray, Float64Array]:
        """Return where terms, uint64 [Q], occur: for each place its piece, its term's position, and how often."""
        if not len(self.hashes):
            none = np.zeros(0, np.int64)
            return none, none, np.zeros(0)
        at = np.minimum(np.searchsorted(self.hashes, wanted), len(self.hashes) - 1)
        term = np.flatnonzero(self.hashes[at] == wanted)
        firsts = self.bounds[at[term]].astype(np.int64)
        many = self.bounds[at[term] + 1].astype(np.int64) - firsts
        places = ranges(firsts, many)
        return (
            self.piece_of[places].astype(np.int64),
            np.repeat(term, many),
            self.times[places].astype(np.float64),
        )

    def to_bytes(self) -> bytes:
        """Return the index as bytes that `from_bytes` reads back."""
        head = json.dumps(
            {
                "language": self.language,
                "lines": self.lines,
                "outline": [[each.line, each.depth, each.text] for each in self.outline],
                "sizes": {name: int(getattr(self, name).size) for name in _ARRAYS},
            }
        ).encode()
        arrays = b"".join(
            np.ascontiguousarray(getattr(self, name), kind).tobytes() for name, kind in _ARRAYS.items()
        )
        return zlib.compress(len(head).to_bytes(4, "little") + head + arrays, 1)

    @classmethod
    def from_bytes(cls, data: bytes) -> FileIndex:
        """Read what `to_bytes` wrote."""
        try:
            raw = unpacked(data)
            start = 4 + int.from_bytes(raw[:4], "little")
            head = json.loads(raw[4:start])
            arrays: dict[str, NDArray[Any]] = {}
            for name, kind in _ARRAYS.items():
                arrays[name] = np.frombuffer(raw, kind, head["sizes"][name], start)
                start += arrays[name].nbytes
            arrays["spans"] = arrays["spans"].reshape(-1, 2)
            outline = tuple(
                OutlineEntry(int(line), int(depth), str(text)) for line, depth, text in head["outline"]
            )
            index = cls(language=str(head["language"]), lines=int(head["lines"]), outline=outline, **arrays)
        except (ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError) as error:
            raise ValueError(f"not a file's index ({error})") from error
        if not index.fits():
            raise ValueError("not a file's index: its parts don't fit together")
        return index

    def fits(self) -> bool:
        """Return whether every number of a part names something in another, so that nothing is looked up in vain."""
        bounds, rows, pieces = self.bounds, self.spans.reshape(-1), len(self.spans)
        return bool(
            len(self.lengths) == len(self.digests) == pieces
            and len(bounds) == len(self.hashes) + 1
            and len(self.piece_of) == len(self.times) == bounds[-1]
            and bounds[0] == 0
            and (bounds[1:] >= bounds[:-1]).all()
            and (rows[1:] >= rows[:-1]).all()
            and (not pieces or (rows[0] >= 0 and rows[-1] <= self.lines))
            # A negative one is a large one so.
            and (not bounds[-1] or self.piece_of.astype("<u4").max() < pieces)
            and self.lengths.sum() < np.inf  # nor is NaN
        )


def index_file(text: str, language: str) -> FileIndex:
    """Cut a file into pieces and count its words."""
    layout = line_layout(text)
    lines = [text[a:b] for a, b in layout.spans.tolist()]
    definitions = definition_spans(text, language_named(language))
    spans = cut(lines, layout.blank, definitions)
    depths: dict[int, int] = {}
    for each in definitions:
        depths.setdefault(each.head, each.depth)  # a line stands once in an outline
    outline = tuple(
        OutlineEntry(head + 1, depth, lines[head].strip()[:MOST_OUTLINE_CHARS])
        for head, depth in islice(depths.items(), MOST_OUTLINE_ENTRIES)
    )
    index = counted(TermIndex.of(text, layout), spans)
    digests = np.array([_digest("".join(lines[a:b])) for a, b in spans.tolist()], np.uint64)
    return replace(index, language=language, lines=len(lines), digests=digests, outline=outline)


def _digest(text: str) -> int:
    """Return the number of a piece's text, whatever its white space; 0 where it has too few letters to be a copy."""
    letters = "".join(text.split())
    return _number(letters) if len(letters) >= LEAST_COPIED else 0


def counted(terms: TermIndex, spans: IntArray) -> FileIndex:
    """Return the index of a text in any pieces int [P, 2], with its arrays alone."""
    names, term, line = terms.occurrences()
    pieces = len(spans)
    piece = np.searchsorted(spans[:, 1], line, side="right")
    hashes = np.array([term_hash(name) for name in names], np.uint64)
    order = np.argsort(hashes)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    cells, times = np.unique(rank[term] * max(pieces, 1) + piece, return_counts=True)
    row, piece_of = np.divmod(cells, max(pieces, 1))
    lengths = np.bincount(np.searchsorted(spans[:, 1], np.arange(len(terms.lengths)), side="right"),
                          terms.lengths, pieces)[:pieces]  # fmt: skip
    return FileIndex(
        language="",
        lines=0,
        spans=spans,
        lengths=lengths,
        digests=np.zeros(pieces, np.uint64),
        hashes=hashes[order],
        bounds=np.searchsorted(row, np.arange(len(order) + 1)),
        piece_of=piece_of,
        times=times,
        outline=(),
    )


def language_key(path_language: str, data: bytes) -> str:
    """Return the key under which the index of a content in a language is kept: the same for the same of both."""
    return hashlib.sha256(f"{FORMAT}\0{path_language}\0".encode() + data).hexdigest()


def term_hashes(terms: Sequence[str]) -> NDArray[np.uint64]:
    """Return the numbers uint64 [Q] of terms."""
    return np.array([term_hash(term) for term in terms], np.uint64)
