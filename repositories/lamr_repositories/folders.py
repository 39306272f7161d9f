"""The files of a folder: those that git lists there, or else those that no `.gitignore` rules out, or those of a list.

git's list counts where git knows the folder. Where it doesn't, or where its own matcher doesn't come to an end, the
folder is walked. What is read lies below the root, whatever listed it (see `safe_root`)."""

import errno
import os
import stat
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path

from lamr_repositories.errors import GitError, RepositoryError, SlowGitError
from lamr_repositories.git import MOST_LIST_BYTES, MOST_NAMES, list_rows, run_git, too_many
from lamr_repositories.ignoring import MOST_IGNORE_BYTES, Budget, Patterns, lines_of
from lamr_repositories.safe_root import LINK, MOST_DEPTH, TOO_DEEP, NotBelowError, SafeRoot, problem_of
from lamr_repositories.sources import MOST_BYTES, FileSource, ListedFile, larger

_IGNORE_FILE = ".gitignore"
_FOLDER = "folder, such as a submodule"  # of which git lists the name alone
_SETTLED_NANOSECONDS = 2_000_000_000
"""How long ago a file must have changed for its times to tell the next change: the coarsest clock of a file system."""
_MATCHING_SECONDS = 10.0
"""How long git may think about untracked files: its matcher tries some patterns in exponentially many ways."""
_NO_REPOSITORY = ("not a git repository", "must be run in a work tree")
_NOT_THE_USERS = "dubious ownership"


class Folder(FileSource):
    """A folder: what git lists there where git knows it, else what no `.gitignore` in it rules out."""

    def __init__(self, root: Path) -> None:
        """Look at nothing yet."""
        if not root.is_dir():
            raise RepositoryError(
                f"{root} isn't a folder; name a repository's root, or - for a list of files", path=root
            )
        self._root = root
        self.name = f"folder {root.absolute()}"

    def files(self) -> Iterator[ListedFile]:
        paths = sorted(set(self._paths()))
        with self._below() as below:
            for path in paths:
                yield _listed(below, path)

    def read(self, path: str, most: int = MOST_BYTES) -> bytes | None:
        with self._below() as below:
            return _read_whole(below, path, most)

    def read_all(self, listed: Sequence[ListedFile]) -> Generator[tuple[ListedFile, bytes | None]]:
        with self._below() as below:
            for each in listed:
                yield each, _read(below, each.path, each.most)

    def _below(self) -> SafeRoot:
        try:
            return SafeRoot(self._root)
        except OSError as error:
            raise RepositoryError(
                f"{self._root} can't be opened: {error.strerror}", path=self._root
            ) from error

    def _paths(self) -> Iterable[str]:
        listing = ("ls-files", "-z", "--cached")
        try:
            # A repository's configuration can say that its work tree is elsewhere, which git then lists.
            if run_git("rev-parse", "--is-inside-work-tree", folder=self._root).stdout.strip() != b"true":
                return self._walked()
        except GitError as error:
            if self._is_repository(error):
                raise
            return self._walked()
        try:
            found = list_rows(
                *listing, "--others", "--exclude-standard", folder=self._root, seconds=_MATCHING_SECONDS
            )
        except SlowGitError:
            tracked = list_rows(*listing, folder=self._root)
            return [*map(os.fsdecode, tracked), *self._walked()]
        # A folder that a repository around it ignores, such as an installed package, has files of its own.
        asked = ("check-ignore", "-q", ".")
        if (
            not found
            and not run_git(*asked, folder=self._root, check=False, seconds=_MATCHING_SECONDS).returncode
        ):
            return self._walked()
        return map(os.fsdecode, found)

    def _is_repository(self, error: GitError) -> bool:
        """Return whether git failed in a repository, by what it said."""
        if any(words in error.said for words in _NO_REPOSITORY):
            return False
        # Whoever makes a repository above the user's folders doesn't keep the user from reading them.
        return _NOT_THE_USERS not in error.said or os.path.lexists(self._root / ".git")

    def _walked(self) -> list[str]:
        """Return the paths of files that no `.gitignore` rules out."""
        paths: list[str] = []
        size, budget = 0, Budget()
        waiting: list[tuple[str, tuple[tuple[int, Patterns], ...]]] = [("", ())]
        with self._below() as below:
            while waiting:
                prefix, rules = waiting.pop()
                own = _read_whole(below, f"{prefix}{_IGNORE_FILE}", MOST_IGNORE_BYTES)
                if own:
                    rules = (*rules, (len(os.fsencode(prefix)), Patterns(lines_of(own), budget)))
                for name, is_folder in _entries(below, prefix):
                    path = f"{prefix}{name}"
                    size += len(path)
                    if problem_of(path) not in (None, TOO_DEEP) or _ignored(path, is_folder, rules):
                        continue
                    if is_folder and prefix.count("/") < MOST_DEPTH:
                        waiting.append((f"{path}/", rules))
                    else:
                        paths.append(f"{path}/" * is_folder or path)
                    if len(paths) + len(waiting) > MOST_NAMES or size > MOST_LIST_BYTES:
                        raise too_many(self._root)
        return paths


def _entries(below: SafeRoot, prefix: str) -> Iterable[tuple[str, bool]]:
    try:
        return sorted(below.entries(prefix[:-1]))
    except OSError:
        return ()


def _read(below: SafeRoot, path: str, most: int) -> bytes | None:
    try:
        return below.read(path, most)
    except OSError:
        return None


def _read_whole(below: SafeRoot, path: str, most: int) -> bytes | None:
    """Return a file's bytes; None for one that can't be read."""
    try:
        return below.read(path, most)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise larger(path, most) from error
        return None


def _listed(below: SafeRoot, path: str) -> ListedFile:
    # A repository in this one, into which git doesn't look, or a folder that is too deep.
    if path.endswith("/"):
        too_deep = TOO_DEEP if path.count("/") > MOST_DEPTH else None
        return ListedFile(path, 0, problem_of(path[:-1]) or too_deep or _FOLDER)
    try:
        found = below.status(path)
    except NotBelowError as error:
        return ListedFile(path, 0, error.problem)
    except OSError:
        return ListedFile(path, 0, "unreadable")
    if stat.S_ISLNK(found.st_mode):
        return ListedFile(path, 0, LINK)
    if not stat.S_ISREG(found.st_mode):
        return ListedFile(path, 0, _FOLDER if stat.S_ISDIR(found.st_mode) else "not a regular file")
    return ListedFile(path, found.st_size, stamp=_stamp(found))


def _stamp(found: os.stat_result) -> str:
    """Return what differs after every change of a file; empty for one that was changed just now."""
    if time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) < _SETTLED_NANOSECONDS:
        return ""
    parts = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return ":".join(map(str, parts))


def _ignored(path: str, is_folder: bool, rules: Sequence[tuple[int, Patterns]]) -> bool:
    """Return whether the deepest `.gitignore` that says anything of a path rules it out."""
    if not rules:
        return False
    name = os.fsencode(path)
    for length, patterns in reversed(rules):
        verdict = patterns.verdict(name[length:], is_folder)
        if verdict is not None:
            return verdict
    return False


class NamedFiles(Folder):
    """The files of a list, all of them below a root."""

    is_whole = False

    def __init__(self, root: Path, names: Iterable[str]) -> None:
        """Take the names in."""
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
