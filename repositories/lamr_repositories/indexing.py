"""Finds the files of a repository that count, and indexes those that aren't in its book as they are now.

A file that hasn't changed is recognized by its path, from which its language is told, and by its source's stamp, which
stands for its content; it isn't read. One without a stamp is read, and indexed if its content is another one.

The `Book` of a repository is kept in a cache. Changed files become a segment, and small segments, and those of which
little is left, a part of it. All that changes is written at once, so any number of processes may write."""

import contextlib
import hashlib
import json
import zlib
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from lamr_base.cache import Cache, unpacked
from lamr_base.records import dataclass
from lamr_postprocess import approximate_tokens, detect_language

from lamr_repositories.file_index import FileIndex, index_file, joined
from lamr_repositories.lexical import Pieces, query_numbers
from lamr_repositories.segment import Segment, to_bytes
from lamr_repositories.sources import FileSource, ListedFile
from lamr_repositories.walk import REASONS, WalkCount, WalkOptions, leaves_out, look_at, wanted_files

KIND = "repository"
FORMAT = "1"
"""Changes whenever pieces, words or outlines of the same content would, or what is said of it, or how it is written."""
_MOST_CELLS = 2_000_000
"""Of what is indexed at once: each takes some 100 bytes."""
_MOST_BYTES = 4 << 20  # of a segment that becomes a part of another one


class Row(NamedTuple):
    """What is known of a file."""

    stamp: str = ""  # see `ListedFile`; empty where nothing vouches for the content
    reason: str | None = None  # why its content may leave it out
    language: str = ""  # empty, as the key, for a file that isn't indexed
    key: str = ""  # the content's
    tokens: int = 0  # approximately
    place: int = -1  # among the files of all segments; -1 for a file that isn't indexed


@dataclass(frozen=True, eq=False)
class Book:
    """The files of a repository by path, and the segments that index them; it never changes."""

    rows: Mapping[str, Row] = field(default_factory=dict)
    segments: tuple[Segment, ...] = ()


@dataclass(frozen=True, eq=False)
class RepositoryIndex:
    """The files of a repository that compete, in the order of their paths, and their pieces, scored for a query."""

    files: list[ListedFile]
    rows: list[Row]
    pieces: Pieces
    cached: int  # how many files weren't indexed anew


def index_repository(  # noqa: PLR0913  # what is read, by which rules, and what keeps what is found
    source: FileSource,
    options: WalkOptions,
    count: WalkCount,
    query: str,
    cache: Cache,
    *,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> RepositoryIndex:
    """Index the files of a repository that count, and keep what was found. Raises `RepositoryError`: a pattern can't
    be used, or the repository can't be listed."""
    wanted = wanted_files(source, options, count)
    earlier = read_book(cache, source.name)
    gone = earlier.rows.keys() - count.listed if source.is_whole else set[str]()

    def found(begun: Book) -> tuple[Book, RepositoryIndex]:
        growing = _Growing(begun, gone, options)
        book = growing.grown(source, wanted, on_progress)
        taken = [each for each in wanted if not leaves_out(book.rows[each.path].reason, options)]
        rows = [book.rows[each.path] for each in taken]
        asked = joined([each.read(query_numbers(query)) for each in book.segments])
        index = asked.of(np.array([row.place for row in rows], np.int64))
        pieces = Pieces.scored([each.path for each in taken], index, query)
        return book, RepositoryIndex(taken, rows, pieces, len(taken) - growing.indexed)

    try:
        book, index = found(earlier)
    except (ValueError, IndexError):  # a block of the book is damaged
        book, index = found(Book())
    keep_book(cache, source.name, book, earlier)
    for each in wanted:
        count.take(each.path, book.rows[each.path].reason, options)
    return index


class _Growing:
    """The next book of a repository in the making."""

    def __init__(self, earlier: Book, gone: Set[str], options: WalkOptions) -> None:
        self._earlier, self._options, self.indexed, self._cells = earlier, options, 0, 0
        self._rows = {path: row for path, row in earlier.rows.items() if path not in gone}
        self._segments, self._fresh = list(earlier.segments), dict[str, FileIndex]()

    def grown(
        self, source: FileSource, wanted: Sequence[ListedFile], on_progress: Callable[[int, int], None]
    ) -> Book:
        """Read the files that may have changed, or of which too little is known, and return the book."""
        unread = {each.path: each for each in wanted if not self._knows(each)}
        with contextlib.closing(source.read_all(list(unread.values()))) as reading:
            for done, each in enumerate(wanted, 1):
                if unread.pop(each.path, None):  # a broken tree may name a file twice
                    self._look(each, next(reading)[1])
                on_progress(done, len(wanted))
        self._flush()
        same = self._rows == self._earlier.rows
        return self._earlier if same else Book(self._rows, tuple(self._segments))

    def _knows(self, each: ListedFile) -> bool:
        row = self._rows.get(each.path, Row())
        same = row.stamp != "" and row.stamp == _short(each.stamp)
        return same and (row.place >= 0 or leaves_out(row.reason, self._options))

    def _look(self, each: ListedFile, data: bytes | None) -> None:
        text, reason = look_at(each.path, data)
        earlier = self._rows.get(each.path, Row())
        row = Row(_short(each.stamp) if data is not None else "", reason)
        if data is not None and text is not None and not leaves_out(reason, self._options):
            language = detect_language(text, each.path).name
            row = row._replace(language=language, key=key_of(language, data), tokens=approximate_tokens(text))
            if row.key == earlier.key and earlier.place >= 0:
                row = row._replace(place=earlier.place)
            else:
                self.indexed += 1
                self._fresh[each.path] = index_file(text, language)
                self._cells += len(self._fresh[each.path].cells)
        self._rows[each.path] = row
        if self._cells > _MOST_CELLS:
            self._flush()

    def _flush(self) -> None:
        """Make a segment of what was indexed, and of the last segments that are small or have little left."""
        if not self._fresh:
            return
        paths, index = list(self._fresh), joined(list(self._fresh.values()))
        first = sum(len(each.index.lines) for each in self._segments)
        while self._segments:
            last = self._segments[-1]
            begin = first - len(last.index.lines)
            own = sorted((row.place, path) for path, row in self._rows.items() if begin <= row.place < first)
            alive = np.array([place - begin for place, _ in own], np.int64)
            left = int(last.index.counts[alive].sum())
            small = left <= 2 * len(index.lengths) or 2 * left < len(last.index.lengths)
            if not small or len(last.data) > _MOST_BYTES:
                break
            index = joined([self._segments.pop().read().of(alive), index])
            paths, first = [*(path for _, path in own), *paths], begin
        for place, path in enumerate(paths, first):
            self._rows[path] = self._rows[path]._replace(place=place)
        self._segments.append(Segment(to_bytes(index)))
        self._fresh, self._cells = {}, 0


def read_book(cache: Cache, name: str) -> Book:
    """Return what is kept of a repository; an empty book where that is nothing, or damaged."""
    names, _, rows = cache.get(KIND, [_entry(name)]).get(_entry(name), b"").partition(b"\n")
    wanted = names.decode("ascii", "replace").split()
    data = cache.get(KIND, wanted)
    try:
        return _book(rows, *(data[each] for each in wanted))
    except (ValueError, TypeError, KeyError, RecursionError):
        return Book()


@lru_cache(maxsize=4)  # repositories that a process keeps in memory
def _book(rows: bytes, *segments: bytes) -> Book:
    read = tuple(map(Segment, segments))
    files = sum(len(each.index.lines) for each in read)
    return Book({str(path): _row(row, files) for path, *row in json.loads(unpacked(rows))}, read)


def _row(values: Sequence[object], files: int) -> Row:
    row = Row(*values)  # type: ignore[arg-type]  # seen to below
    kinds = [type(each) for each in (row.stamp, row.language, row.key, row.tokens, row.place)]
    fits = row.reason in {None, *REASONS} and row.tokens >= 0 and -1 <= row.place < files
    if kinds != [str, str, str, int, int] or not fits:
        raise ValueError("no row")
    return row


def keep_book(cache: Cache, name: str, book: Book, earlier: Book) -> None:
    """Keep a book in the place of an earlier one."""
    if book is earlier:
        return
    before, now = ({_digest(each.data, 32): each.data for each in some.segments} for some in (earlier, book))
    rows = json.dumps([[path, *row] for path, row in book.rows.items()], separators=(",", ":"))
    entries = {each: data for each, data in now.items() if each not in before}
    entries[_entry(name)] = " ".join(now).encode() + b"\n" + zlib.compress(rows.encode())
    cache.put(KIND, entries, gone=before.keys() - now.keys())


def _digest(data: bytes, digits: int) -> str:
    return hashlib.sha256(data).hexdigest()[:digits]


def _entry(name: str) -> str:
    return _digest(f"{FORMAT}\0{name}".encode("utf-8", "surrogatepass"), 64)


def _short(stamp: str) -> str:
    """Return what a book keeps of a stamp."""
    return stamp and _digest(stamp.encode("utf-8", "surrogatepass"), 16)


def key_of(language: str, data: bytes) -> str:
    """Return what stands for a file's content in a language."""
    return _digest(f"{language}\0".encode() + data, 16)
