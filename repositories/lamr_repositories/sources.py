"""Where a repository's files come from: a folder, a folder that git knows, a git revision, or a list of names.

A source lists files and reads them; it judges none. Nothing outside the root is read: symbolic links are listed with
that as their problem, and names that lead out of the root are refused.
"""

from __future__ import annotations

import abc
import os
import stat
import subprocess
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pathspec

from lamr_repositories.errors import RepositoryError
from lamr_repositories.git import LIST_TREE, command, last_line, read_object, read_tree, run_git

_LINK, _FILE, _SUBMODULE = "120000", "100", "160000"
_LINK_PROBLEM = "symbolic link"
_SETTLED_NANOSECONDS = 2_000_000_000
"""How long ago a file must have changed for its times to tell the next change: the coarsest clock of a file system."""
_ASKED_AT_ONCE = 64  # names of blobs, which a pipe holds while git answers


@dataclass(frozen=True, slots=True)
class Listed:
    """A file as its source lists it.

    Attributes:
        path: from the root, with slashes.
        size: bytes.
        problem: why it can't be read; None where it can.
        stamp: stands for the content, so that it needn't be read to see that it is as it was. At a revision it is git's
            name of the blob; in a folder, the file's place on the disk, its size and its times. Empty where nothing
            vouches for the content.
    """

    path: str
    size: int
    problem: str | None = None
    stamp: str = ""


class Source(abc.ABC):
    """Lists and reads the files of one repository."""

    @abc.abstractmethod
    def files(self) -> Iterator[Listed]:
        """Yield the repository's files, in any order.

        Raises:
            RepositoryError: it can't be listed.
        """

    @abc.abstractmethod
    def read(self, path: str) -> bytes | None:
        """Return a file's bytes; None for one that isn't there or can't be read."""

    def read_all(self, listed: Sequence[Listed]) -> Generator[tuple[Listed, bytes | None]]:
        """Yield files with their bytes, in the order given, one at a time."""
        return ((each, self.read(each.path)) for each in listed)


class Folder(Source):
    """A folder: what git lists there where git knows it, else what no `.gitignore` in it rules out."""

    def __init__(self, root: Path) -> None:
        """Look at nothing yet.

        Raises:
            RepositoryError: the root isn't a folder.
        """
        if not root.is_dir():
            raise RepositoryError(
                f"{root} isn't a folder; name a repository's root, or - for a list of files", path=root
            )
        self._root = root

    def files(self) -> Iterator[Listed]:
        return (self._listed(path) for path in sorted(set(self._paths())))

    def read(self, path: str) -> bytes | None:
        place = self._root / path
        try:
            flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
            with open(os.open(place, flags), "rb") as stream:  # noqa: PTH123  # a descriptor, not a path
                return stream.read() if stat.S_ISREG(os.fstat(stream.fileno()).st_mode) else None
        except OSError:
            return None

    def _paths(self) -> Iterable[str]:
        done = run_git("rev-parse", "--is-inside-work-tree", folder=self._root, check=False)
        # A folder that a repository around it ignores, such as an installed package, has files of its own.
        if done.stdout.strip() != b"true" or self._is_ignored():
            return self._walked()
        listing = run_git(
            "ls-files", "-z", "--cached", "--others", "--exclude-standard", folder=self._root
        ).stdout
        return [os.fsdecode(name) for name in listing.split(b"\0") if name]

    def _is_ignored(self) -> bool:
        return run_git("check-ignore", "-q", ".", folder=self._root, check=False).returncode == 0

    def _walked(self) -> Iterator[str]:
        """Yield the paths of files that no `.gitignore` rules out."""
        waiting: list[tuple[str, tuple[tuple[str, pathspec.GitIgnoreSpec], ...]]] = [("", ())]
        while waiting:
            prefix, rules = waiting.pop()
            own = self.read(f"{prefix}.gitignore")
            if own:
                lines = own.decode("utf-8", "replace").splitlines()
                rules = (*rules, (prefix, pathspec.GitIgnoreSpec.from_lines(lines)))
            try:
                entries = sorted(os.scandir(self._root / prefix), key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False)
                path = f"{prefix}{entry.name}" + "/" * is_folder
                if entry.name == ".git" or _ignored(path, rules):
                    continue
                if is_folder:
                    waiting.append((path, rules))
                else:
                    yield path

    def _listed(self, path: str) -> Listed:
        try:
            found = (self._root / path).lstat()
        except OSError:
            return Listed(path, 0, "unreadable")
        if stat.S_ISLNK(found.st_mode) or self._through_link(path):
            return Listed(path, 0, _LINK_PROBLEM)
        if not stat.S_ISREG(found.st_mode):
            return Listed(path, 0, "not a regular file")
        return Listed(path, found.st_size, stamp=_stamp(found))

    def _through_link(self, path: str) -> bool:
        """Return whether a folder on the way to a file is a symbolic link."""
        parents = PurePosixPath(path).parents
        return any((self._root / parent).is_symlink() for parent in list(parents)[:-1])


def _stamp(found: os.stat_result) -> str:
    """Return what differs after every change of a file; empty for one that was changed just now."""
    if time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) < _SETTLED_NANOSECONDS:
        return ""
    parts = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return ":".join(map(str, parts))


def _ignored(path: str, rules: Sequence[tuple[str, pathspec.GitIgnoreSpec]]) -> bool:
    """Return whether the deepest `.gitignore` that says anything of a path rules it out."""
    for prefix, spec in reversed(rules):
        verdict = spec.check_file(path[len(prefix) :]).include
        if verdict is not None:
            return bool(verdict)
    return False


class NamedFiles(Folder):
    """The files of a list, all of them below a root."""

    def __init__(self, root: Path, names: Iterable[str]) -> None:
        """Take the names in.

        Raises:
            RepositoryError: a name leads out of the root, or the root isn't a folder.
        """
        super().__init__(root)
        self._names = [self._inside(name) for name in names]

    def _paths(self) -> Iterable[str]:
        return self._names

    def _inside(self, name: str) -> str:
        path = os.path.normpath(os.path.relpath(name, self._root) if os.path.isabs(name) else name)  # noqa: PTH117
        if path.startswith(os.pardir) or os.path.isabs(path):  # noqa: PTH117
            raise RepositoryError(
                f"{name} lies outside of {self._root}; list files below the root", path=name
            )
        return path.replace(os.sep, "/")


class Revision(Source):
    """The files of one git revision, read from git's objects; the work tree isn't looked at."""

    def __init__(self, root: Path, revision: str) -> None:
        """Find the revision.

        Args:
            root: a work tree, a folder of one, or a bare repository.
            revision: a branch, a tag or a commit.

        Raises:
            RepositoryError: git knows no repository there, or not the revision.
        """
        if not root.is_dir():
            raise RepositoryError(f"{root} isn't a folder; name a repository", path=root)
        self._place, prefix = _git_directory(root)
        name = f"{revision}^{{commit}}"
        done = run_git(
            "rev-parse", "--verify", "-q", "--end-of-options", name, place=self._place, check=False
        )
        if done.returncode:
            raise RepositoryError(
                f"{root} has no revision {revision!r}; fetch it, or name another", path=root
            )
        self.commit = done.stdout.decode().split()[-1]
        self._tree = f"{self.commit}:{prefix}"

    def files(self) -> Iterator[Listed]:
        for entry in read_tree(run_git(*LIST_TREE, self._tree, place=self._place).stdout):
            path = os.fsdecode(entry.path)
            if entry.mode.startswith(_FILE):
                yield Listed(path, entry.size or 0, stamp=entry.name)
            else:
                yield Listed(path, 0, _LINK_PROBLEM if entry.mode == _LINK else "submodule")

    def read(self, path: str) -> bytes | None:
        done = run_git("cat-file", "blob", f"{self._tree}{path}", place=self._place, check=False)
        return None if done.returncode else done.stdout

    def read_all(self, listed: Sequence[Listed]) -> Generator[tuple[Listed, bytes | None]]:
        """See `Source.read_all`; one git process answers for all files."""
        with subprocess.Popen(
            [*command(self._place), "cat-file", "--batch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as git:
            assert git.stdin is not None
            assert git.stdout is not None
            try:
                for first in range(0, len(listed), _ASKED_AT_ONCE):
                    asked = listed[first : first + _ASKED_AT_ONCE]
                    git.stdin.write("".join(f"{each.stamp}\n" for each in asked).encode())
                    git.stdin.flush()
                    for each in asked:
                        answer = read_object(git.stdout)
                        yield each, None if answer is None else answer[1]
            finally:
                git.stdin.close()
                git.kill()


def is_bare(root: Path) -> bool:
    """Return whether a folder is a bare repository, which has files at its revisions only."""
    return (root / "HEAD").is_file() and (root / "objects").is_dir()


def _git_directory(root: Path) -> tuple[Path, str]:
    """Return the git directory of a bare repository or a work tree, and the root's path in the work tree.

    Raises:
        RepositoryError: git knows no repository there.
    """
    if is_bare(root):
        return root, ""
    done = run_git("rev-parse", "--absolute-git-dir", "--show-prefix", folder=root, check=False)
    if done.returncode:
        raise RepositoryError(
            f"{root} is no git repository ({last_line(done)}); leave the revision out", path=root
        )
    place, prefix = os.fsdecode(done.stdout).split("\n")[:2]
    return Path(place), prefix
