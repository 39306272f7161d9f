"""Finds the files of a repository that count, and indexes those that aren't in its book as they are now.

A file that hasn't changed is recognized by its path, from which its language is told, and by its source's stamp, which
stands for its content; it isn't read. One without a stamp is read, and indexed if its content is another one.
"""

import contextlib
import hashlib
from collections.abc import Callable, Mapping, Sequence, Set

from lamr_base.records import dataclass
from lamr_postprocess import approximate_tokens, detect_language

from lamr_repositories.book import FORMAT, MOST_CELLS, Book, Books, Growing, Row
from lamr_repositories.file_index import FileIndex, index_file, joined
from lamr_repositories.lexical import Pieces
from lamr_repositories.sources import FileSource, ListedFile
from lamr_repositories.walk import WalkCount, WalkOptions, leaves_out, look_at, wanted_files

_KEY = 24  # hexadecimal digits


@dataclass(frozen=True, eq=False)
class RepositoryIndex:
    """The files of a repository that compete, in the order of their paths, and their pieces, scored for a query."""

    book: Book
    files: list[ListedFile]
    pieces: Pieces
    cached: int
    """How many files weren't indexed anew."""

    @property
    def tokens(self) -> int:
        """About how many tokens they have."""
        return sum(self.book.rows[each.path].tokens for each in self.files)

    @property
    def lines(self) -> int:
        """How many lines they have."""
        return sum(self.book.lines(each.path) for each in self.files)

    def language(self, path: str) -> str:
        """Return the name of a file's language."""
        return self.book.rows[path].language


def index_repository(  # noqa: PLR0913  # what is read, by which rules, and what keeps what is found
    source: FileSource,
    options: WalkOptions,
    count: WalkCount,
    query: str,
    books: Books,
    *,
    on_progress: Callable[[int, int], None] | None = None,
) -> RepositoryIndex:
    """Index the files of a repository that count, and keep what was found.

    Raises:
        RepositoryError: a pattern can't be used, or the repository can't be listed.
    """
    wanted = wanted_files(source, options, count)
    earlier = books.read(source.name)
    try:
        found = _indexed(source, wanted, options, count, earlier, query, on_progress)
    except ValueError:  # a block of the book is damaged
        found = _indexed(source, wanted, options, count, Book(), query, on_progress)
    books.keep(source.name, found.book, earlier)
    return found


def _indexed(  # noqa: PLR0913, PLR0917  # as above
    source: FileSource,
    wanted: Sequence[ListedFile],
    options: WalkOptions,
    count: WalkCount,
    earlier: Book,
    query: str,
    on_progress: Callable[[int, int], None] | None,
) -> RepositoryIndex:
    making = _Making(earlier, options)
    unread = [each for each in wanted if not making.knows(each)]
    if source.is_whole:
        making.forget_others(count.listed)
    with contextlib.closing(source.read_all(unread)) as reading:
        for done, each in enumerate(wanted, 1):
            if each.path not in making.known:
                making.look(each, next(reading)[1])
            if on_progress:
                on_progress(done, len(wanted))
    book = making.done()
    files = [each for each in wanted if count.take(each.path, book.rows[each.path].reason, options)]
    pieces = book.table([each.path for each in files]).scored(query)
    return RepositoryIndex(book, files, pieces, len(files) - making.indexed)


class _Making:
    """The next book of a repository in the making."""

    def __init__(self, earlier: Book, options: WalkOptions) -> None:
        self.known: set[str] = set()  # the files that are as they were
        self.indexed = 0
        self._earlier, self._options = earlier, options
        self._growing: Growing | None = None  # None as long as nothing differs
        self._fresh: list[tuple[str, FileIndex]] = []
        self._cells = 0

    def knows(self, each: ListedFile) -> bool:
        """Note whether a file is as it was, and all that is needed of it is known."""
        row = self._earlier.rows.get(each.path)
        known = (
            row is not None
            and row.stamp != ""
            and row.stamp == _short(each.stamp)
            and (row.is_indexed or leaves_out(row.reason, self._options))
        )
        if known:
            self.known.add(each.path)
        return known

    def forget_others(self, paths: Set[str]) -> None:
        """Forget the files that are no longer listed."""
        if not self._earlier.rows.keys() <= paths:
            self._growing = Growing(self._earlier, paths)

    def look(self, each: ListedFile, data: bytes | None) -> None:
        """Take in a file that had to be read."""
        text, reason = look_at(each.path, data)
        row, earlier = Row(_short(each.stamp) if data is not None else "", reason), self._rows.get(each.path)
        if data is not None and text is not None and not leaves_out(reason, self._options):
            key, language = key_of(each.path, data, text)
            row = row._replace(language=language, key=key, tokens=approximate_tokens(text))
            if earlier and earlier.is_indexed and earlier.key == key:
                row = row._replace(segment=earlier.segment, place=earlier.place)
            else:
                self._index(each.path, index_file(text, language))
        if row != earlier:
            self._growing = self._growing or Growing(self._earlier, self._earlier.rows.keys())
            self._growing.rows[each.path] = row

    def done(self) -> Book:
        """Return the book."""
        self._flush()
        return self._growing.done() if self._growing else self._earlier

    @property
    def _rows(self) -> Mapping[str, Row]:
        return self._growing.rows if self._growing else self._earlier.rows

    def _index(self, path: str, index: FileIndex) -> None:
        if self._cells > MOST_CELLS:
            self._flush()
        self.indexed += 1
        self._fresh.append((path, index))
        self._cells += len(index.numbers)

    def _flush(self) -> None:
        if self._growing and self._fresh:
            self._growing.add([path for path, _ in self._fresh], joined([each for _, each in self._fresh]))
        self._fresh, self._cells = [], 0


def _short(stamp: str) -> str:
    """Return what a book keeps of a stamp."""
    return stamp and hashlib.blake2b(stamp.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def key_of(path: str, data: bytes, text: str) -> tuple[str, str]:
    """Return the key of a file's content in its language, and the language's name."""
    language = detect_language(text, path).name
    return _key(language, data), language


def same_content(row: Row, data: bytes) -> bool:
    """Return whether bytes are those that a file was indexed with."""
    return _key(row.language, data) == row.key


def _key(language: str, data: bytes) -> str:
    return hashlib.sha256(f"{FORMAT}\0{language}\0".encode() + data).hexdigest()[:_KEY]
