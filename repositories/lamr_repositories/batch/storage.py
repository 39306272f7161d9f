"""Where files of jobs and shards lie: a folder of this machine, or what fsspec knows by a URL.

A file appears whole or not at all: in a folder it is renamed when all of it is on the disk, elsewhere it is written as
one object."""

import contextlib
import os
import re
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import unquote, urlsplit

from lamr_base.errors import MissingPackageError, how_to_install
from lamr_base.expressions import expression
from lamr_base.files import check_regular, naming
from lamr_base.private_files import take_lock

from lamr_repositories.errors import RepositoryError

_LOCK = ".lock"
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_URL = expression(r"[a-z][a-z0-9+.-]*(?:::[a-z][a-z0-9+.-]*)*://", re.IGNORECASE)


def local_path(place: str | os.PathLike[str]) -> Path | None:
    """Return the path of a place in this machine's file system; None for another place."""
    text = os.fspath(place)
    if text.lower().startswith("file://"):
        return Path(unquote(urlsplit(text).path))
    return None if _URL.match(text) else Path(text)


def place_in(folder: Path, place: str) -> str:
    """Return a place that names the same wherever one stands; relative paths start from the folder."""
    path = local_path(place)
    return place if path is None else str(folder / path)


def open_place(place: str | os.PathLike[str]) -> BinaryIO:
    """Open a path or URL for reading.

    Raises:
        MissingPackageError: the URL's library isn't installed.
        RepositoryError: no library knows such URLs.
        OSError: it can't be read, or is a folder, a pipe or a device."""
    path = local_path(place)
    if path is not None:
        check_regular(path)
        return path.open("rb")
    system, inside = _file_system(os.fspath(place))
    return cast(BinaryIO, system.open(inside, "rb"))


class _Folder:
    """A flat set of files in a local folder, locked for as long as the process lives."""

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # What lies there already, whosever it is, is neither followed nor emptied.
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o666)
            self._lock = os.fdopen(lock, "rb", buffering=0)
            alone = take_lock(lock)
        except OSError as error:
            raise RepositoryError(
                f"{folder}: can't be written ({error.strerror or error})", path=folder
            ) from error
        if not alone:
            raise RepositoryError(f"another batch writes to {folder}; wait for it", path=folder)
        self._folder = folder
        for part in folder.glob("*.part"):  # what a killed process left
            part.unlink()

    def names(self) -> list[str]:
        return [path.name for path in self._folder.iterdir()]

    def open(self, name: str) -> BinaryIO:
        check_regular(self._folder / name)
        return (self._folder / name).open("rb")

    def write(self, name: str, data: bytes) -> None:
        file = self._folder / name
        part = file.with_suffix(".part")
        part.unlink(missing_ok=True)
        with naming(part), part.open("xb") as stream:  # which follows no link
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(file)
        with contextlib.suppress(OSError):  # not every file system lets a folder be synced
            folder = os.open(self._folder, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    create = write  # nobody else writes there

    def remove(self, name: str) -> None:
        (self._folder / name).unlink()

    def close(self) -> None:
        self._lock.close()


class _Objects:
    """The same below a URL. There is no lock; who writes a new file under a taken name learns it and stops."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._system, self._root = _file_system(url)
        with contextlib.suppress(OSError, NotImplementedError):  # where there are folders
            self._system.makedirs(self._root, exist_ok=True)

    def names(self) -> list[str]:
        self._system.invalidate_cache()
        try:
            return [str(path).rpartition("/")[2] for path in self._system.ls(self._root, detail=False)]
        except FileNotFoundError:
            return []

    def open(self, name: str) -> BinaryIO:
        return cast(BinaryIO, self._system.open(self._at(name), "rb"))

    def write(self, name: str, data: bytes) -> None:
        self._system.pipe_file(self._at(name), data)

    def create(self, name: str, data: bytes) -> None:
        try:
            self._system.pipe_file(self._at(name), data, mode="create")
        except FileExistsError as error:
            raise RepositoryError(
                f"another batch writes to {self._url}; wait for it", path=self._url
            ) from error

    def remove(self, name: str) -> None:
        self._system.rm_file(self._at(name))

    def close(self) -> None:
        pass

    def _at(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"


Storage = _Folder | _Objects


def open_storage(place: str | os.PathLike[str]) -> Storage:
    """Return the storage at a path or URL, made and ours alone. Raises `MissingPackageError`: the URL's library isn't
    installed. Raises `RepositoryError`: it can't be written, or another batch writes there."""
    path = local_path(place)
    return _Objects(os.fspath(place)) if path is None else _Folder(path)


def _file_system(url: str) -> tuple[Any, str]:
    try:
        import fsspec  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            f"{url} needs fsspec, which isn't installed: {how_to_install('batch')}", package="fsspec"
        ) from error
    try:
        system, inside = fsspec.core.url_to_fs(url)
    except ImportError as error:  # its text names the library: "Install s3fs to access S3"
        raise MissingPackageError(f"{url} needs a library of its own: {error}", package="fsspec") from error
    except Exception as error:  # each library's own
        raise RepositoryError(f"{url} can't be opened: {error}", path=url) from error
    return system, str(inside)
