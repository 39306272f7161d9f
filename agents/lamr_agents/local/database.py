"""A SQLite file of the user's alone, opened when it is first needed. This module knows no table."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_BUSY_SECONDS = 2.0


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

    @contextmanager
    def rows(self) -> Iterator[sqlite3.Connection]:
        """The file, for one transaction.

        Raises:
            Exception: what `error` gives, where the file can't be used.
        """
        try:
            with self._lock:
                if self._opened is None:
                    self._opened = self._open()
                with self._opened as rows:
                    yield rows
        except sqlite3.DatabaseError as error:
            broken = not isinstance(error, sqlite3.OperationalError)
            raise self._error(f"{error}; delete it, since it is broken" if broken else str(error)) from error
        except (sqlite3.Error, OSError) as error:
            raise self._error(str(error)) from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path.touch(mode=0o600)
        rows = sqlite3.connect(self._path, check_same_thread=False, timeout=_BUSY_SECONDS)
        try:
            with rows:
                rows.executescript(self._script)
        except sqlite3.Error:
            rows.close()
            raise
        return rows
