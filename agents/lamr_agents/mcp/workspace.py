"""The files that a client's tools may read: those under the given folders, within the client's own roots.

Links are followed before it is asked where a file lies."""

import errno
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lamr_base.records import dataclass
from lamr_client import InvalidInputError
from lamr_postprocess import decode, split_lines
from lamr_postprocess.patterns import LineSearch
from lamr_repositories.folders import Folder
from lamr_repositories.safe_root import SafeRoot
from lamr_repositories.walk import WalkCount, WalkOptions, walk
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import ListRoots
from mcp_types import ListRootsResult

MOST_BYTES = 4 << 20  # largest file that is read
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
    """Files under roots."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(root.resolve() for root in roots)
        wrong = [str(root) for root in self.roots if not root.is_dir()]
        if wrong or not self.roots:
            raise InvalidInputError(
                f"not a folder: {', '.join(wrong) or 'no root was given'}", argument="root"
            )

    def resolve(self, path: str) -> Path:
        """The file or folder that a path means, wherever links lead."""
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
        """The text of a file, whatever it is encoded in."""
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
        does; a file that the path names is searched, whatever it holds."""
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


async def ask_for_roots(context: Context) -> ListRoots | ListRootsResult:
    """Ask the client for its roots, where it says that it has some."""
    known = context.client_capabilities
    has_some = known is not None and known.roots is not None
    return ListRoots() if has_some else ListRootsResult(roots=[])


@dataclass(frozen=True)
class Reach:
    """The folders that may be read at the most."""

    folders: Sequence[Path]  # as the command names them; the first is what relative paths start from
    client_decides: bool = False
    """Whether the client's roots replace these, as for a client that started this process; else they narrow them."""

    def workspace(self, roots: ListRootsResult) -> Workspace:
        """The files for a client with these roots; a client that lists none leaves it at the folders."""
        own = [folder.resolve() for folder in self.folders]
        theirs = [path for root in roots.roots if (path := _path_of(str(root.uri))) is not None]
        if not roots.roots:
            return Workspace(own)
        common = theirs if self.client_decides else _common(own, theirs)
        found = [folder for folder in dict.fromkeys(common) if folder.is_dir()]
        if not found:
            wanted, here = (", ".join(map(str, each)) or "no folder" for each in (theirs, own))
            raise OutsideRootsError(
                f"the client's roots ({wanted}) have no folder in common with what may be read here ({here})",
                argument="root",
            )
        return Workspace(found)


def _common(own: Sequence[Path], theirs: Sequence[Path]) -> list[Path]:
    """The inner one of each two folders of which one lies in the other."""
    pairs = [pair for root in theirs for ours in own for pair in ((ours, root), (root, ours))]
    return list(dict.fromkeys(inner for outer, inner in pairs if inner.is_relative_to(outer)))


def _path_of(uri: str) -> Path | None:
    parts = urlsplit(uri)
    return Path(unquote(parts.path)).resolve() if parts.scheme == "file" and "\0" not in parts.path else None
