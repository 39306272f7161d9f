"""A cache by content, in one SQLite file that any number of processes share.

What is kept is named by what it was computed from, so an entry is never out of date; it is only no longer asked for. A
cache is never worth an error: one that is broken is set aside and a new one begun, and one that can't be read or
written is done without. Both are said, through `on_note`. This module knows
keys and bytes; it knows no meaning of either.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

MOST_BYTES = 2 << 30
"""Beyond this size the oldest half of the entries is dropped when the cache is opened."""
_FORMAT = 1
_AT_ONCE = 400  # keys of one query; SQLite takes 999 parameters at the least
_WAIT_SECONDS = 30.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (kind TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, made INTEGER NOT NULL,
PRIMARY KEY (kind, key))
"""
OnNote = Callable[[str], None]


def default_cache() -> Path:
    """Where lamr keeps what it can make again: `lamr` in the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lamr"


def default_cache_file() -> Path:
    """Where `lamr pack` keeps scores and indexes."""
    return default_cache() / "repositories.sqlite"


class Cache:
    """Keeps bytes by kind and key. With no file it keeps nothing."""

    def __init__(self, file: Path | None, on_note: OnNote | None = None) -> None:
        """Open or make the file.

        Args:
            file: the SQLite file; None keeps nothing.
            on_note: is told in a sentence what was set aside or is done without.
        """
        self._file, self._note = file, on_note or (lambda _: None)
        self._connection: sqlite3.Connection | None = None
        if file is not None:
            self._open()

    def get(self, kind: str, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the entries that are there, by key."""
        found: dict[str, bytes] = {}
        waiting = iter(dict.fromkeys(keys))
        while self._connection and (some := list(itertools.islice(waiting, _AT_ONCE))):
            marks = ",".join("?" * len(some))
            question = f"SELECT key, value FROM entries WHERE kind = ? AND key IN ({marks})"
            try:
                found.update(self._connection.execute(question, (kind, *some)).fetchall())
            except sqlite3.Error as error:
                self._trouble(error)
        return found

    def put(self, kind: str, entries: Mapping[str, bytes]) -> None:
        """Keep entries; they are there for others when the call returns."""
        if not self._connection or not entries:
            return
        now = int(time.time())
        try:
            with self._connection:
                self._connection.executemany(
                    "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?)",
                    [(kind, key, value, now) for key, value in entries.items()],
                )
        except sqlite3.Error as error:
            self._trouble(error)

    def close(self) -> None:
        """Close the file. Closing twice is harmless."""
        connection, self._connection = self._connection, None
        if connection:
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> None:
        assert self._file is not None
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self._file, timeout=_WAIT_SECONDS, check_same_thread=False)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute(
                "PRAGMA synchronous = NORMAL"
            )  # a power failure may lose the last entries
            version = self._connection.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, _FORMAT):
                raise sqlite3.DatabaseError(f"format {version}, not {_FORMAT}")
            with self._connection:
                self._connection.execute(_SCHEMA)
                self._connection.execute(f"PRAGMA user_version = {_FORMAT}")
            self._drop_old()
        except (sqlite3.Error, OSError) as error:
            self._trouble(error)

    def _drop_old(self) -> None:
        assert self._connection is not None
        pages, size = (
            self._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")
        )
        if pages * size > MOST_BYTES:
            middle = (
                "SELECT made FROM entries ORDER BY made LIMIT 1 OFFSET (SELECT COUNT(*) / 2 FROM entries)"
            )
            with self._connection:
                self._connection.execute(f"DELETE FROM entries WHERE made <= ({middle})")
            self._connection.execute("VACUUM")

    def _trouble(self, error: Exception) -> None:
        """Set a broken file aside and begin anew; do without one that can't be used for another reason."""
        self.close()
        broken = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
        if not broken:
            self._note(f"the cache {self._file} can't be used ({error}): going on without it")
            return
        assert self._file is not None
        aside = self._file.with_name(f"{self._file.name}.broken-{time.time_ns()}")
        try:
            self._file.rename(aside)
            for rest in ("-wal", "-shm"):
                self._file.with_name(self._file.name + rest).unlink(missing_ok=True)
        except OSError as other:
            self._note(f"the cache {self._file} is broken ({error}) and can't be set aside ({other})")
            return
        self._note(f"the cache {self._file} was broken ({error}): it is set aside as {aside.name}")
        self._open()
