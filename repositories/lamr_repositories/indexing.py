"""Indexes all files of a repository, or takes their indexes from the cache, and adds them to the table of pieces.

Files go by in small groups, so no more than a group's texts are in memory. What files were found to be is kept too, so
that one that hasn't changed needn't be read again: it is recognized by its path, from which its language is told, and
by its source's stamp, which stands for its content.
"""

import contextlib
import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, field

from lamr_base.cache import Cache
from lamr_base.records import dataclass
from lamr_postprocess import approximate_tokens, detect_language

from lamr_repositories.file_index import FORMAT as INDEX_FORMAT
from lamr_repositories.file_index import FileIndex, OutlineEntry, index_file, language_key
from lamr_repositories.lexical import PieceTable
from lamr_repositories.sources import FileSource, ListedFile
from lamr_repositories.walk import REASONS, WalkCount, WalkOptions, leaves_out, look_at, wanted_files

KIND, SEEN_KIND = "index", "seen"
SEEN_FORMAT = "3"
"""Changes whenever a content would be left out for another reason, or would be of another language. The keys of indexes
that are kept here have the indexes' own format."""
_GROUP = 64


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What a look at a file's content told."""

    reason: str | None = None  # why its content may leave it out
    language: str = ""  # empty, as the key of its index, for a file that wasn't indexed
    key: str = ""
    tokens: int = 0  # approximately


def recall(cache: Cache, listed: Iterable[ListedFile]) -> dict[str, FileFacts]:
    """Return what is known of files whose stamps say that they are as they were, by path."""
    by_key = {_key(each): each.path for each in listed if each.stamp}
    found = ((by_key[key], _parsed(data)) for key, data in cache.get(SEEN_KIND, by_key).items())
    return {path: seen for path, seen in found if seen is not None}


def remember(cache: Cache, looked_at: Mapping[ListedFile, FileFacts]) -> None:
    """Keep what was found, of all files that have a stamp."""
    cache.put(
        SEEN_KIND,
        {_key(each): json.dumps(astuple(seen)).encode() for each, seen in looked_at.items() if each.stamp},
    )


def _key(each: ListedFile) -> str:
    name = f"{SEEN_FORMAT}\0{INDEX_FORMAT}\0{each.stamp}\0{each.path}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(name).hexdigest()


def _parsed(data: bytes) -> FileFacts | None:
    """Return facts as they were kept; None for a damaged entry, whose file is read again."""
    try:
        reason, language, key, tokens = json.loads(data)
    except (ValueError, TypeError, RecursionError):
        return None
    known = isinstance(language, str) and isinstance(key, str) and isinstance(tokens, int) and tokens >= 0
    return (
        FileFacts(reason, language, key, tokens) if known and (reason is None or reason in REASONS) else None
    )


@dataclass(frozen=True, eq=False)
class Indexed:
    """What is remembered of one file beside its pieces."""

    listed: ListedFile
    key: str
    language: str
    lines: int
    outline: tuple[OutlineEntry, ...]


@dataclass(eq=False)
class RepositoryIndex:
    """The files of a repository in the order of their paths, and the table of their pieces."""

    table: PieceTable
    files: list[Indexed] = field(default_factory=list)
    cached: int = 0
    tokens: int = 0
    lines: int = 0


def index_repository(  # noqa: PLR0913  # what is read, by which rules, and what keeps what is found
    source: FileSource,
    options: WalkOptions,
    count: WalkCount,
    query: str,
    cache: Cache,
    *,
    on_progress: Callable[[int, int], None] | None = None,
) -> RepositoryIndex:
    """Index the files of a repository that count, and keep what was found.

    A file whose stamp says that it is as it was when its index was made isn't read.

    Raises:
        RepositoryError: a pattern can't be used, or the repository can't be listed.
    """
    index = RepositoryIndex(PieceTable(query))
    wanted = wanted_files(source, options, count)
    done = 0
    waiting = _looks(source, wanted, options, cache)
    while group := list(itertools.islice(waiting, _GROUP)):
        known = _indexes(cache, group)
        fresh: dict[str, bytes] = {}
        looks = list(_with_text(source, group, known, options))
        for look in looks:
            done += 1
            if count.take(look.listed.path, look.seen.reason, options):
                _take(index, look, known, fresh)
            if on_progress:
                on_progress(done, len(wanted))
        cache.put(KIND, fresh)
        remember(cache, {look.listed: look.seen for look in looks if look.is_new})
    return index


@dataclass(frozen=True, eq=False)
class _Look:
    """A file on its way into the index."""

    listed: ListedFile
    seen: FileFacts
    text: str | None = None  # None for one that wasn't read, because all that is needed is known
    is_new: bool = False  # it was read, and can be remembered


def _looks(
    source: FileSource, wanted: Sequence[ListedFile], options: WalkOptions, cache: Cache
) -> Iterator[_Look]:
    """Yield files with what is known of them, in their order; those of which too little is known are read."""
    known = {
        path: seen
        for path, seen in recall(cache, wanted).items()
        if seen.key or leaves_out(seen.reason, options)
    }
    unread = [each for each in wanted if each.path not in known]
    with contextlib.closing(source.read_all(unread)) as reading:
        for each in wanted:
            if each.path in known:
                yield _Look(each, known[each.path])
            else:
                yield _read(each, next(reading)[1], options)


def _read(listed: ListedFile, data: bytes | None, options: WalkOptions) -> _Look:
    text, reason = look_at(listed.path, data)
    if data is None or text is None or leaves_out(reason, options):
        return _Look(listed, FileFacts(reason), text, is_new=data is not None)
    key, language = key_of(listed.path, data, text)
    return _Look(listed, FileFacts(reason, language, key, approximate_tokens(text)), text, is_new=True)


def _indexes(cache: Cache, looks: Sequence[_Look]) -> dict[str, FileIndex]:
    """Return the indexes that are kept, by key; damaged ones are made again."""
    indexes: dict[str, FileIndex] = {}
    for key, data in cache.get(KIND, (look.seen.key for look in looks if look.seen.key)).items():
        with contextlib.suppress(ValueError):
            indexes[key] = FileIndex.from_bytes(data)
    return indexes


def _with_text(
    source: FileSource, looks: Sequence[_Look], known: Mapping[str, FileIndex], options: WalkOptions
) -> Iterator[_Look]:
    """Return the same files; those whose index is no longer kept are read."""
    lost = [
        look.listed for look in looks if look.seen.key and look.seen.key not in known and look.text is None
    ]
    read = {each: _read(each, data, options) for each, data in source.read_all(lost)} if lost else {}
    return (read.get(look.listed, look) for look in looks)


def _take(
    found: RepositoryIndex, look: _Look, known: Mapping[str, FileIndex], fresh: dict[str, bytes]
) -> None:
    """Add a file to the table; what had to be indexed is added to `fresh`."""
    seen = look.seen
    index = known.get(seen.key)
    if index is None:
        assert look.text is not None
        index = index_file(look.text, seen.language)
        fresh[seen.key] = index.to_bytes()
    else:
        found.cached += 1
    found.table.add(look.listed.path, index)
    found.files.append(Indexed(look.listed, seen.key, seen.language, index.lines, index.outline))
    found.tokens += seen.tokens
    found.lines += index.lines


def key_of(path: str, data: bytes, text: str) -> tuple[str, str]:
    """Return the key of a file's index, and the name of the file's language."""
    language = detect_language(text, path).name
    return language_key(language, data), language


def same_content(indexed: Indexed, data: bytes) -> bool:
    """Return whether bytes are those that a file was indexed with."""
    return language_key(indexed.language, data) == indexed.key
