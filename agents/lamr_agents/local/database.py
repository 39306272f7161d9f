"""A SQLite file of the user's alone, opened when it is first needed.

A file that is broken is set aside, once, with an error that says so; the next call begins a new one. After every other
error it is opened anew, since somebody may have removed or mended it meanwhile. Nobody waits until the disk has what is
written: the system keeps it even if the process is killed, and what a power failure breaks is set aside.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lamr_base.private_files import private_file, private_folder, set_aside

from lamr_agents.thin import check_folder

_BUSY_SECONDS = 2.0
_OTHER_TABLES = re.compile(r"no such column|has \d+ columns|may not be indexed|Could not decode")
"""What SQLite says of a file whose tables aren't those that the script makes; all else that it says may pass."""


class Database:
    """The file; threads and processes may share it.

    Args:
        path: where it lies or is made.
        script: makes the tables where they aren't there yet.
        error: makes the error that is raised where the file can't be used, from what SQLite or the system says.
    """

    def __init__(self, path: Path, script: str, error: Callable[[str], Exception]) -> None:
        self._path = path
        self._script = script
        self._error = error
        self._lock = threading.Lock()
        self._opened: sqlite3.Connection | None = None
        self._file = (0, 0)

    @contextmanager
    def rows(self) -> Iterator[sqlite3.Connection]:
        """The file, for one transaction.

        Raises:
            Exception: what `error` gives, where the file can't be used.
        """
        with self._lock:
            try:
                if self._opened is None:
                    self._opened = self._open()
                with self._opened as rows:
                    yield rows
            except (sqlite3.Error, OSError) as error:
                self._close()
                raise self._error(f"{error}{self._set_aside(error)}") from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            with contextlib.suppress(sqlite3.Error):
                opened.close()

    def _set_aside(self, error: Exception) -> str:
        """Set the file aside if it is broken, and say so; one that another process has begun meanwhile stays."""
        if type(error) is not sqlite3.DatabaseError and not _OTHER_TABLES.search(str(error)):
            return ""
        try:
            status = self._path.lstat()
            if (status.st_dev, status.st_ino) != self._file:
                return ""
            return f"; it is set aside as {set_aside(self._path).name}, and a new one is begun"
        except OSError as other:
            return f"; delete it, since it is broken and can't be set aside: {other}"

    def _open(self) -> sqlite3.Connection:
        folder = self._path.parent
        if not folder.exists():
            private_folder(folder)
        check_folder(str(folder))
        private_file(self._path)
        status = self._path.lstat()
        self._file = status.st_dev, status.st_ino
        rows = sqlite3.connect(self._path, check_same_thread=False, timeout=_BUSY_SECONDS)
        try:
            rows.execute("PRAGMA synchronous = OFF")
            with rows:
                rows.executescript(self._script)
        except sqlite3.Error:
            rows.close()
            raise
        return rows
