"""Several repositories as one: each stands in a folder of its own name."""

from __future__ import annotations

import itertools
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace

from lamr_repositories.ignoring import literal
from lamr_repositories.sources import MOST_BYTES, FileSource, ListedFile
from lamr_repositories.walk import IGNORE_FILE, own_patterns


def unique(names: Sequence[str]) -> list[str]:
    """Return names of which none equals another: a later one of the same gets a number."""
    found: list[str] = []
    for name in names:
        numbered = (name, *(f"{name}-{number}" for number in range(2, len(names) + 1)))
        found.append(next(each for each in numbered if each not in found))
    return found


class Several(FileSource):
    """The files of several sources, below their names."""

    def __init__(self, sources: Mapping[str, FileSource]) -> None:
        """Take the sources by their names, which have no slash."""
        self._sources = sources

    def files(self) -> Iterator[ListedFile]:
        """Yield all files, each path below its source's name."""
        for name, source in self._sources.items():
            for each in source.files():
                yield replace(each, path=f"{name}/{each.path}")

    def read(self, path: str, most: int = MOST_BYTES) -> bytes | None:
        """Return a file's bytes. The ignore file of all has the patterns of each one's own."""
        if path == IGNORE_FILE:
            rows = [
                _below(name, row) for name in self._sources for row in own_patterns(self._sources[name], most)
            ]
            return b"\n".join(rows)
        name, _, inside = path.partition("/")
        return self._sources[name].read(inside, most) if name in self._sources else None

    def read_all(self, listed: Sequence[ListedFile]) -> Generator[tuple[ListedFile, bytes | None]]:
        """Yield files with their bytes, in the order given."""
        for name, group in itertools.groupby(listed, lambda each: each.path.partition("/")[0]):
            given = list(group)
            inside = [replace(each, path=each.path.partition("/")[2]) for each in given]
            read = self._sources[name].read_all(inside)
            yield from ((each, data) for each, (_, data) in zip(given, read, strict=True))


def _below(name: str, pattern: bytes) -> bytes:
    """Return a pattern as it reads one folder further up. A slash in or before a pattern ties it to its folder."""
    if not pattern.strip() or pattern.startswith(b"#"):
        return pattern
    sign, rest = (b"!", pattern[1:]) if pattern.startswith(b"!") else (b"", pattern)
    anywhere = b"" if b"/" in rest.rstrip(b"/ ") else b"**/"
    return sign + b"/" + os.fsencode(literal(name)) + b"/" + anywhere + rest.lstrip(b"/")
