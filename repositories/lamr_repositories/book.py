"""`Book`: what is kept of a repository for the next question: its files, and the segments that index them.

A question that finds changed files adds a segment for them; small segments and those of which little is left become a
part of it. The list of files and the segments are entries of a cache: a segment's name is its content's, and all that
changes is written at once, so any number of processes may write. A process that stays keeps the last books itself.
"""

import hashlib
import json
import threading
import zlib
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

import numpy as np
from lamr_base.cache import Cache, unpacked
from lamr_base.records import dataclass
from lamr_postprocess import SourceFile
from lamr_postprocess.lines import IntArray

from lamr_repositories.file_index import FileIndex, joined
from lamr_repositories.lexical import PieceTable
from lamr_repositories.segment import Segment, to_bytes
from lamr_repositories.walk import REASONS

KIND = "repository"
_EARLIER_KINDS = ("index", "seen")
FORMAT = "1"
"""Changes whenever pieces, words or outlines of the same content would, or what is said of it, or how it is written."""
MOST_CELLS = 2_000_000
"""Of a segment, about: what is indexed at once takes some 100 bytes a cell."""
_BOOKS = 4  # repositories that a process keeps in memory
_MOST_CHARS = (
    1 << 21
)  # of the texts in memory; what is known of those in packs takes twenty times as many bytes
_NOWHERE = -1


class Row(NamedTuple):
    """What is known of a file."""

    stamp: str = ""  # see `ListedFile`; empty where nothing vouches for the content
    reason: str | None = None  # why its content may leave it out
    language: str = ""  # empty, as the key, for a file that isn't indexed
    key: str = ""  # the content's
    tokens: int = 0  # approximately
    segment: int = _NOWHERE  # the number of the segment with its index
    place: int = 0

    @property
    def is_indexed(self) -> bool:
        """Whether a segment holds it."""
        return self.segment != _NOWHERE


@dataclass(frozen=True, eq=False)
class Book:
    """The files of a repository by path, and the segments; it never changes."""

    rows: Mapping[str, Row] = field(default_factory=dict)
    segments: tuple[Segment, ...] = ()
    _table: list[tuple[list[str], PieceTable]] = field(default_factory=list)

    def table(self, paths: list[str]) -> PieceTable:
        """Return the table of some files; the last one is kept."""
        if not self._table or self._table[0][0] != paths:
            where = np.array([(self.rows[path].segment, self.rows[path].place) for path in paths], np.int64)
            number, place = where.reshape(-1, 2).T
            self._table[:] = [(paths, PieceTable(paths, self.segments, number, place))]
        return self._table[0][1]

    def lines(self, path: str) -> int:
        """Return how many lines an indexed file has."""
        row = self.rows[path]
        return int(self.segments[row.segment].lines[row.place])

    def definitions(self, path: str) -> IntArray:
        """Return what the outline of an indexed file shows, int64 [n, 2] (see `FileIndex`)."""
        row = self.rows[path]
        segment = self.segments[row.segment]
        first = int(segment.outline_starts[row.place])
        found: IntArray = segment.definitions[first : first + int(segment.outlined[row.place])]
        return found


class Growing:
    """A book in the making."""

    def __init__(self, book: Book, paths: Collection[str]) -> None:
        """Begin with the segments of a book and its rows of some files."""
        self.rows = {path: row for path, row in book.rows.items() if path in paths}
        self._segments = list(book.segments)

    def add(self, paths: Sequence[str], index: FileIndex) -> None:
        """Add the index of files that have a row already.

        Raises:
            ValueError: a segment that should become a part of the new one is damaged.
        """
        while self._segments:
            last, number = self._segments[-1], len(self._segments) - 1
            own = sorted((row.place, path) for path, row in self.rows.items() if row.segment == number)
            alive = np.zeros(len(last.lines), np.bool_)
            alive[[place for place, _ in own]] = True
            left = int(last.counts[alive].sum())
            small = left <= 2 * len(index.spans) or 2 * left < len(last.spans)
            if not small or last.cells + len(index.numbers) > MOST_CELLS:
                break
            index = joined([last.whole().of(alive), index])
            paths = [*(path for _, path in own), *paths]
            self._segments.pop()
        for place, path in enumerate(paths):
            self.rows[path] = self.rows[path]._replace(segment=len(self._segments), place=place)
        self._segments.append(Segment(to_bytes(index)))

    def done(self) -> Book:
        """Return the book."""
        return Book(self.rows, tuple(self._segments))


@dataclass(frozen=True, eq=False)
class KnownText:
    """A file's text, and the name of its encoding where that was guessed."""

    source: SourceFile
    guessed: str = ""


class Memory:
    """The books and the texts that a process asked for last. Threads may share it."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._books = OrderedDict[str, Book]()
        self._files = OrderedDict[tuple[str, str], KnownText]()
        self._chars = 0
        self._lock = threading.Lock()

    def get(self, name: str) -> Book | None:
        """Return the book of a repository."""
        with self._lock:
            if name in self._books:
                self._books.move_to_end(name)
            return self._books.get(name)

    def put(self, name: str, book: Book) -> None:
        """Keep a book, and give up that which was asked for longest ago."""
        with self._lock:
            self._books[name] = book
            self._books.move_to_end(name)
            if len(self._books) > _BOOKS:
                self._books.popitem(last=False)

    def text(self, path: str, row: Row) -> KnownText | None:
        """Return the text of a file that is as it was, with all that was found out about it since."""
        with self._lock:
            return self._files.get((path, row.key)) if row.stamp else None

    def put_text(self, row: Row, read: KnownText) -> None:
        """Keep a text, and give up those that were asked for longest ago."""
        key = read.source.path, row.key
        with self._lock:
            if key not in self._files:
                self._chars += len(read.source.text)
            self._files[key] = read
            self._files.move_to_end(key)
            while self._chars > _MOST_CHARS:
                _, oldest = self._files.popitem(last=False)
                self._chars -= len(oldest.source.text)


class Books:
    """Reads and keeps books, by the names of repositories. Threads may share a memory."""

    def __init__(self, cache: Cache, memory: Memory | None = None) -> None:
        """Take the cache, and what the process keeps itself; None for one that keeps nothing."""
        self._cache, self.memory = cache, memory

    def read(self, name: str) -> Book:
        """Return what is kept of a repository; an empty book where that is nothing, or damaged."""
        known = self.memory.get(name) if self.memory else None
        return known or self._read(name)

    def keep(self, name: str, book: Book, earlier: Book) -> None:
        """Keep a book in the place of an earlier one."""
        if self.memory:
            self.memory.put(name, book)
        if book is earlier:
            return
        known = {each.name for each in earlier.segments}
        entries = {each.name: each.data for each in book.segments if each.name not in known}
        head = [
            FORMAT,
            [each.name for each in book.segments],
            [[path, *row] for path, row in book.rows.items()],
        ]
        entries[_head(name)] = zlib.compress(json.dumps(head, separators=(",", ":")).encode())
        self._cache.put(KIND, entries, gone=known - {each.name for each in book.segments})
        if not earlier.rows:
            self._cache.forget(_EARLIER_KINDS)

    def _read(self, name: str) -> Book:
        head = self._cache.get(KIND, [_head(name)]).get(_head(name))
        if head is None:
            return Book()
        try:
            form, names, rows = json.loads(unpacked(head))
            if form != FORMAT:
                return Book()
            data = self._cache.get(KIND, map(str, names))
            segments = [Segment(data[each]) for each in names]
            known = {str(path): _row(row, segments) for path, *row in rows}
        except (ValueError, TypeError, KeyError, RecursionError):
            return Book()
        return Book(known, tuple(segments))


def _row(values: Sequence[object], segments: Sequence[Segment]) -> Row:
    """Return a row as it was kept.

    Raises:
        ValueError, TypeError: it is none.
    """
    row = Row(*values)  # type: ignore[arg-type]  # seen to below
    texts = all(isinstance(each, str) for each in (row.stamp, row.language, row.key))
    numbers = all(type(each) is int for each in (row.tokens, row.segment, row.place))
    if not (texts and numbers and row.tokens >= 0 and (row.reason is None or row.reason in REASONS)):
        raise ValueError("no row")
    if row.is_indexed and not (
        0 <= row.segment < len(segments) and 0 <= row.place < len(segments[row.segment].lines)
    ):
        raise ValueError("a row of no segment")
    return row


def _head(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
