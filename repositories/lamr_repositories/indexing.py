"""Indexes all files of a repository, or takes their indexes from the cache, and adds them to the table of pieces.

Files go by in small groups, so no more than a group's texts are in memory. This module knows the order of the work;
what an index holds is `file_index`'s matter.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from lamr_postprocess import approximate_tokens, detect_language

from lamr_repositories.cache import Cache
from lamr_repositories.file_index import FileIndex, OutlineEntry, index_file, language_key
from lamr_repositories.lexical import PieceTable
from lamr_repositories.sources import Listed

KIND = "index"
_GROUP = 64


@dataclass(frozen=True, eq=False)
class Indexed:
    """What is remembered of one file beside its pieces."""

    listed: Listed
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


def index_repository(files: Iterable[tuple[Listed, bytes, str]], query: str, cache: Cache) -> RepositoryIndex:
    """Index files, and keep new indexes.

    Args:
        files: what `walk` yields.
        query: whose words are looked up.
        cache: keeps indexes by content and language.
    """
    found = RepositoryIndex(PieceTable(query))
    for group in _groups(files):
        keys = [key_of(listed.path, data, text) for listed, data, text in group]
        known = cache.get(KIND, (key for key, _ in keys))
        fresh: dict[str, bytes] = {}
        for (listed, _, text), (key, language) in zip(group, keys, strict=True):
            index = _read(known.get(key))
            if index is None:
                index = index_file(text, language)
                fresh[key] = index.to_bytes()
            else:
                found.cached += 1
            found.table.add(listed.path, index)
            found.files.append(Indexed(listed, key, language, index.lines, index.outline))
            found.tokens += approximate_tokens(text)
            found.lines += index.lines
        cache.put(KIND, fresh)
    return found


def key_of(path: str, data: bytes, text: str) -> tuple[str, str]:
    """Return the key of a file's index, and the name of the file's language."""
    language = detect_language(text, path).name
    return language_key(language, data), language


def same_content(indexed: Indexed, data: bytes) -> bool:
    """Return whether bytes are those that a file was indexed with."""
    return language_key(indexed.language, data) == indexed.key


def _read(data: bytes | None) -> FileIndex | None:
    if data is None:
        return None
    try:
        return FileIndex.from_bytes(data)
    except ValueError:  # a damaged entry is made again
        return None


def _groups(
    files: Iterable[tuple[Listed, bytes, str]],
) -> Iterator[list[tuple[Listed, bytes, str]]]:
    iterator = iter(files)
    while group := list(itertools.islice(iterator, _GROUP)):
        yield group


OnProgress = Callable[[str, int, int], None]
"""Takes what is being done, how much of it is done, and how much there is."""
