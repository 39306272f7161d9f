"""`SafeRoot`: a folder whose files are reached by name, so that no name leads out of it, whoever gave the name.

An index, a tree or a list can name `../secret`, an absolute path or a file behind a link, and a folder can become a
link between listing and reading. So each folder on the way is opened in the one before it, and no link is
followed."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

from lamr_base.errors import LamrError
from lamr_base.expressions import expression

MOST_DEPTH = 100
"""Folders on the way to a file; more are made by programs, for programs."""
OUTSIDE = "outside of the root"
LINK = "symbolic link"
TOO_DEEP = f"more than {MOST_DEPTH} folders deep"

_BY_DESCRIPTOR = {os.open, os.stat} <= os.supports_dir_fd and os.scandir in os.supports_fd
"""Elsewhere, as on Windows, each folder on the way is asked whether it is a link before the file is opened: whoever can
change the folder in between isn't held off."""
# Nothing, `.`, `..` or git's own folder as a part of a name, that one however a file system may spell it.
_LEADS_OUT = expression(r"(?:^|/)(?:\.{0,2}|\.git[. ]*|git~\d)(?:/|$)|\0", re.IGNORECASE)
_LEADS_OUT_ON_WINDOWS = expression(rf"{_LEADS_OUT.pattern}|[\\:]", re.IGNORECASE)
_NAMES = _LEADS_OUT_ON_WINDOWS if os.name == "nt" else _LEADS_OUT
_FOLDER = (
    os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
)
_WAY = _FOLDER | getattr(os, "O_PATH", 0)  # folders that one may pass through but not list
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# A FIFO in the file's place would hold the opening until somebody writes.
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)


def problem_of(name: str) -> str | None:
    """Return why a name can't be a file's below a root, whatever lies there; None for one that can."""
    if _NAMES.search(name):
        return OUTSIDE
    return TOO_DEEP if name.count("/") > MOST_DEPTH else None


class NotBelowError(LamrError, OSError):
    """A name leads out of its root, or through a link."""

    def __init__(self, problem: str, name: str) -> None:
        super().__init__(errno.EPERM, problem, name)
        self.problem = problem  # `OUTSIDE`, `TOO_DEEP` or `LINK`


class SafeRoot:
    """The files below a root. It is a context manager, which closes what it has opened.

    Names have slashes, and are quickest in an order that stays in a folder. Its methods raise NotBelowError where a
    name leads out or a folder on the way is a link, and OSError where nothing is there or the system
    refuses."""

    def __init__(self, root: Path) -> None:
        """Open the root, which may be a link."""
        self._root = root
        self._way: list[str] = []
        self._opened: list[int] = []
        if _BY_DESCRIPTOR:
            self._opened.append(os.open(root, _FOLDER & ~getattr(os, "O_NOFOLLOW", 0)))

    def status(self, name: str) -> os.stat_result:
        """Return what lies at a name, a link itself rather than what it leads to."""
        place, folder = self._at(name)
        return os.stat(place, dir_fd=folder, follow_symlinks=False)

    def read(self, name: str, most: int) -> bytes | None:
        """Return a regular file's bytes; None for anything else. Of more than `most` it raises `errno.EFBIG`."""
        place, folder = self._at(name)
        with open(os.open(place, _FILE | _NO_WAIT, dir_fd=folder), "rb") as stream:  # noqa: PTH123  # a descriptor
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                return None
            data = stream.read(most + 1)
            if len(data) > most:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), name)
            return data

    def entries(self, folder: str) -> list[tuple[str, bool]]:
        """Return the names in a folder, "" for the root, and whether each is a folder itself; a link is none."""
        if not _BY_DESCRIPTOR:
            if folder and (problem := problem_of(folder)):
                raise NotBelowError(problem, folder)
            with os.scandir(self._checked(folder.split("/") if folder else [])) as found:
                return [(each.name, each.is_dir(follow_symlinks=False)) for each in found]
        place, parent = self._at(folder) if folder else (".", self._opened[0])
        descriptor = os.open(place, _FOLDER, dir_fd=parent)
        try:
            with os.scandir(descriptor) as found:
                return [(each.name, each.is_dir(follow_symlinks=False)) for each in found]
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Close what was opened. Closing twice is harmless."""
        while self._opened:
            os.close(self._opened.pop())

    def __enter__(self) -> SafeRoot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _at(self, name: str) -> tuple[str | Path, int | None]:
        """Return the last part of a name and the folder that it is in, or the whole path and None."""
        if problem := problem_of(name):
            raise NotBelowError(problem, name)
        *folders, last = name.split("/")
        if not _BY_DESCRIPTOR:
            return self._checked(folders) / last, None
        if folders != self._way:
            self._go(folders, name)
        return last, self._opened[-1]

    def _go(self, folders: list[str], name: str) -> None:
        """Open the folders on the way, those that aren't open yet."""
        same = 0
        for ours, theirs in zip(self._way, folders, strict=False):
            if ours != theirs:
                break
            same += 1
        del self._way[same:]
        while len(self._opened) > same + 1:
            os.close(self._opened.pop())
        for each in folders[same:]:
            try:
                self._opened.append(os.open(each, _WAY, dir_fd=self._opened[-1]))
            except OSError as error:
                if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                    raise
                found = os.stat(each, dir_fd=self._opened[-1], follow_symlinks=False)
                if not stat.S_ISLNK(found.st_mode):
                    raise
                raise NotBelowError(LINK, name) from error
            self._way.append(each)

    def _checked(self, folders: list[str]) -> Path:
        place = self._root
        for each in folders:
            place = place / each
            if stat.S_ISLNK(place.lstat().st_mode):
                raise NotBelowError(LINK, "/".join(folders))
        return place
