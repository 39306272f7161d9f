"""The files that an agent's tools may read: those under the given roots and nothing else.

Links are followed before it is asked where a file lies.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lamr_client import InvalidInputError
from lamr_postprocess import decode, split_lines
from lamr_postprocess.patterns import LineSearch
from lamr_repositories.folders import Folder
from lamr_repositories.safe_root import SafeRoot
from lamr_repositories.walk import WalkCount, WalkOptions, walk

MOST_BYTES = 4 << 20
"""Of a file that is read."""
MOST_MATCHES = 200
_LONGEST_MATCH = 300


class OutsideRootsError(InvalidInputError):
    """A path leads out of the roots."""


@dataclass(frozen=True)
class Match:
    """A line that a search found: the file, relative to its root where that can be, its 1-based number, its text."""

    path: str
    line: int
    text: str


class Workspace:
    """Files under roots.

    Args:
        roots: folders; the first is what relative paths start from.

    Raises:
        InvalidInputError: there is no root, or one is no folder.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(root.resolve() for root in roots)
        wrong = [str(root) for root in self.roots if not root.is_dir()]
        if wrong or not self.roots:
            raise InvalidInputError(
                f"not a folder: {', '.join(wrong) or 'no root was given'}", argument="root"
            )

    def resolve(self, path: str) -> Path:
        """The file or folder that a path means, wherever links lead.

        Raises:
            OutsideRootsError: it lies outside the roots.
            InvalidInputError: there can be no such path.
        """
        if "\0" in path:
            raise OutsideRootsError("a path can't hold NUL", argument="path")
        try:
            meant = (self.roots[0] / path).resolve()
            meant.exists()  # an error for a name that is too long, which not every Python's `resolve` takes as one
        except (OSError, RuntimeError, ValueError) as error:  # a circle of links, too long, half a character
            raise InvalidInputError(f"{path:.200}: no such file", argument="path") from error
        if not any(meant == root or root in meant.parents for root in self.roots):
            known = ", ".join(map(str, self.roots))
            raise OutsideRootsError(
                f"{path} lies outside {known}; only files there are read", argument="path"
            )
        return meant

    def read(self, path: str) -> str:
        """The text of a file, whatever it is encoded in.

        Raises:
            OutsideRootsError: it lies outside the roots.
            InvalidInputError: it doesn't exist, isn't a file, is too large, or is binary.
        """
        meant = self.resolve(path)
        if not meant.is_file():
            raise InvalidInputError(f"{path:.200}: no such file", argument="path")
        root = next(root for root in self.roots if root in meant.parents)
        try:
            with SafeRoot(root) as below:  # a folder can become a link after it was resolved
                data = below.read(meant.relative_to(root).as_posix(), MOST_BYTES)
        except OSError as error:
            too_large = error.errno == errno.EFBIG
            why = f"more than {MOST_BYTES:,} bytes" if too_large else error.strerror
            raise InvalidInputError(f"{path:.200}: {why}", argument="path") from error
        if data is None:
            raise InvalidInputError(f"{path:.200}: no regular file", argument="path")
        decoded = decode(data)
        if decoded is None:
            raise InvalidInputError(f"{path}: a binary file", argument="path")
        return decoded.text

    def search(self, pattern: str, path: str = ".") -> tuple[list[Match], bool]:
        """The lines that match, in the order of their paths, and whether there are more than `MOST_MATCHES`.

        Files that git ignores, that programs wrote or that hold secrets are passed over, as `lamr_repositories.walk`
        does; a file that the path names is searched, whatever it holds.

        Raises:
            OutsideRootsError: the path lies outside the roots.
            InvalidInputError: the pattern isn't a regular expression, or searches too long.
        """
        wanted = LineSearch(pattern, argument="pattern")
        matches: list[Match] = []
        for file, text in self._texts(self.resolve(path)):
            lines = split_lines(text)
            for place in wanted.found(lines):
                if len(matches) == MOST_MATCHES:
                    return matches, True
                matches.append(Match(self._shown(file), place + 1, _shortened(lines[place].strip())))
        return matches, False

    def _texts(self, start: Path) -> Iterator[tuple[Path, str]]:
        """The files under a folder with their texts, or the one file."""
        if start.is_file():
            yield start, self.read(str(start))
            return
        for listed, _, text in walk(Folder(start), WalkOptions(), WalkCount()):
            yield start / listed.path, text

    def _shown(self, file: Path) -> str:
        root = self.roots[0]
        return str(file.relative_to(root)) if root in file.parents else str(file)


def _shortened(line: str) -> str:
    return line if len(line) <= _LONGEST_MATCH else f"{line[:_LONGEST_MATCH]} \u2026"
