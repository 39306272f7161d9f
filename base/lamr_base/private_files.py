"""Folders and files that are the user's alone, on machines that others share: owner only, and no link is followed.

What lamr keeps between two calls (caches, stores, locks, sockets) tells of the user's code. Somebody else may have made
a folder or a link in its place, so that each is checked before it is trusted. Where the system has no owners (Windows),
a user's own folders are private by their place."""

import contextlib
import errno
import glob
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from lamr_base.errors import LamrError
from lamr_base.files import naming

BESIDE = ("-wal", "-shm", "-journal")
"""The ends of the names of files that SQLite keeps beside a database and that belong to it."""
BROKEN = ".broken"
"""What the name of a database that was set aside ends with."""
_OWNED = hasattr(os, "getuid")
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# A FIFO in the file's place would hold the opening until somebody writes.
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)


class NoHomeError(LamrError, RuntimeError):
    """The user has no home, as under a user id that nobody has and without HOME."""

    def __init__(self, variable: str) -> None:
        super().__init__(f"you have no home folder; set HOME or {variable} to a folder of your own")


def cache_folder() -> Path:
    """Where lamr keeps what it can make again: `lamr` in the user's cache folder; nothing is made. Raises
    `NoHomeError`: the user has no home."""
    return _users_folder("XDG_CACHE_HOME", ".cache")


def config_folder() -> Path:
    """Where the user's settings lie: `lamr` in the user's folder for settings; nothing is made. Raises `NoHomeError`:
    the user has no home."""
    return _users_folder("XDG_CONFIG_HOME", ".config")


def state_folder() -> Path:
    """Where lamr keeps what it can't make again: `lamr` in the user's folder for states; nothing is made. Raises
    `NoHomeError`: the user has no home."""
    return _users_folder("XDG_STATE_HOME", ".local/state")


def _users_folder(variable: str, below_home: str) -> Path:
    named = Path(os.environ.get(variable) or "")
    # A relative one is to be ignored (XDG Base Directory Specification): it would lie in whatever folder is current.
    if named.is_absolute():
        return named / "lamr"
    try:
        home = Path.home()
    except RuntimeError as error:
        raise NoHomeError(variable) from error
    if not home.is_absolute():
        raise NoHomeError(variable)
    return home / below_home / "lamr"


def private_folder(path: Path) -> Path:
    """Make a folder for the user alone, or see that the one there is; missing folders above it are made likewise.

    A folder of the user's that others may enter is closed to them: so this is for lamr's own folders, and never for one
    that a caller named. Raises `OSError`: it can't be made, is a link or no folder, or belongs to somebody else."""
    if not path.exists() and not path.is_symlink():
        if not path.parent.exists():
            private_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
    status = path.lstat()
    _check(status, stat.S_ISDIR(status.st_mode), path, "a folder")
    if _OWNED and status.st_mode & 0o077:
        path.chmod(0o700)
    return path


def private_file(path: Path, *, make: bool = True) -> bool:
    """Make a file for the user alone, or see that the one there is; for files that a library opens by their names.

    No descriptor of a file that is there is opened: closing it would release the locks that SQLite has on it elsewhere
    in this process.

    Args:
        make: whether a missing one is made.

    Returns:
        whether it is there now.

    Raises:
        OSError: it can't be made, is a link or no regular file, or belongs to somebody else."""
    if make:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o600))
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    _check_file(status, path)
    if _OWNED and status.st_mode & 0o077:
        path.chmod(0o600)
    return True


def open_private(path: Path, flags: int = os.O_RDWR | os.O_CREAT) -> int:
    """Open a regular file of the user's and return its descriptor; one that is made is readable by the user alone.
    `flags`: of `os.open`; links are never followed. Raises `OSError`: it can't be opened, is a link or no regular
    file, or belongs to somebody else."""
    try:
        descriptor = os.open(path, flags | _NO_LINK | _NO_WAIT, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _refused(path, "it is a link") from error
        raise
    try:
        status = os.fstat(descriptor)
        _check_file(status, path)
        if _OWNED and status.st_mode & 0o077:
            os.fchmod(descriptor, 0o600)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def take_lock(descriptor: int) -> bool:
    """Lock an open file until it is closed, without waiting; False where another process holds the lock. Raises
    `OSError`: the file can't be locked."""
    try:
        import fcntl  # noqa: PLC0415
    except ImportError:  # Windows has none, and nothing is locked there
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def replaced(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """A new file beside a file, which takes its place if the block succeeds and is removed if it fails.

    So nobody ever reads half of the file. Where a link leads, the file there is replaced; what is no regular file, such
    as a pipe, is given itself.

    Args:
        path: the file, which keeps its mode if it is there.
        mode: of one that isn't there yet, less what the process's umask takes.

    Raises:
        OSError: it can't be written."""
    if path.exists() and not path.is_file():
        with naming(path):
            yield path
        return
    target = path.resolve()
    part = target.with_name(f"{_prefix(target)}{secrets.token_hex(4)}")
    try:
        if target.exists():  # its words are never open to more people than it was
            mode &= target.stat().st_mode | 0o600
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        yield part
        if target.exists():
            part.chmod(target.stat().st_mode & 0o777)
        part.replace(target)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(part)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with contextlib.suppress(OSError):  # it is gone, or was never there
            part.unlink()


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace a file whole or not at all, as `replaced` does; a new one is its owner's alone. Raises `OSError`: it
    can't be written."""
    with replaced(path, 0o600) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)


def sweep_parts(path: Path) -> None:
    """Remove what killed runs of `write_whole` left beside a file; for who holds a lock that all its writers take.
    Raises `OSError`: it can't be removed."""
    target = path.resolve()
    for part in target.parent.glob(f"{glob.escape(_prefix(target))}*"):
        part.unlink(missing_ok=True)


def _prefix(target: Path) -> str:
    return f".{target.name}.lamr-"


def set_aside(database: Path) -> Path:
    """Rename an SQLite file that is broken and return its new name; one that was set aside before is replaced. Raises
    `OSError`: it can't be renamed."""
    aside = database.with_name(f"{database.name}{BROKEN}")
    database.replace(aside)
    for rest in BESIDE:
        database.with_name(database.name + rest).unlink(missing_ok=True)
    return aside


def _check_file(status: os.stat_result, path: Path) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise _refused(path, "it is a link")
    _check(status, stat.S_ISREG(status.st_mode), path, "a regular file")
    if status.st_nlink > 1:
        raise _refused(path, "it has a second name elsewhere")


def _check(status: os.stat_result, right_kind: bool, path: Path, kind: str) -> None:
    if not right_kind:
        raise _refused(path, f"it is not {kind}")
    if _OWNED and status.st_uid != os.geteuid():
        raise _refused(path, f"it belongs to user {status.st_uid}")


def _refused(path: Path, why: str) -> PermissionError:
    return PermissionError(
        errno.EPERM, f"{why}, so that it isn't used; remove it or name another place", os.fspath(path)
    )
