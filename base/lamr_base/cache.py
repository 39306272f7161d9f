"""A cache by content, in one SQLite file that any number of the user's processes share.

What is kept is named by what it was computed from, so an entry is never out of date; it is only no longer asked for. A
cache is never worth an error: one that is broken is set aside and a new one begun, one that can't be read or written is
done without, and both are said, through `on_note`; an entry that isn't what was put there counts as missing. It tells
of the user's code, so its files are the user's alone."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from lamr_base import private_files

MOST_BYTES = 2 << 30
"""Beyond this size of a file the oldest half of its entries is dropped."""
MOST_STATES_BYTES = 256 << 20
"""Of what encoders read. With lamr-mini that is 18 seconds of a core with VNNI, and two minutes of one without."""
MOST_ENTRY_BYTES = 64 << 20
"""Of one entry, and of what it is unpacked to. A file that counts has at most a mebibyte; what is larger is damage."""
_FORMAT = 2
_DIGEST = 16  # bytes
"""What SQLite keeps beside its file, by the ends of the names; it trusts them as it trusts the file."""
_AT_ONCE = 400  # keys of one query; SQLite takes 999 parameters at the least
_WAIT_SECONDS = 30.0
_SCHEMA = """
CREATE TABLE entries (kind TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, made INTEGER NOT NULL,
PRIMARY KEY (kind, key))
"""
OnNote = Callable[[str], None]


def default_cache_file() -> Path | None:
    """Return where `lamr pack` keeps scores and indexes; None where the user has no home, so that nothing is kept."""
    try:
        return private_files.cache_folder() / "repositories.sqlite"
    except RuntimeError:
        return None


def states_file(cache: Path) -> Path:
    """Return where what encoders read is kept: beside the file that keeps the rest, since it is large and made soon."""
    return cache.with_name(f"{cache.stem}-states{cache.suffix}")


def unpacked(data: bytes) -> bytes:
    """Return what `zlib.compress` was given. Raises `ValueError`: the bytes aren't what it returned, or are more than
    `MOST_ENTRY_BYTES` when unpacked."""
    reading = zlib.decompressobj()
    try:
        plain = reading.decompress(data, MOST_ENTRY_BYTES)
    except zlib.error as error:
        raise ValueError(f"not compressed ({error})") from error
    if not reading.eof or reading.unused_data:
        raise ValueError("cut off, too large, or followed by something else")
    return plain


class Cache:
    """Keeps bytes by kind and key. With no file it keeps nothing."""

    def __init__(
        self, file: Path | None, on_note: OnNote | None = None, most_bytes: int = MOST_BYTES
    ) -> None:
        """Open or make the file.

        Args:
            file: the SQLite file; None keeps nothing.
            on_note: is told in a sentence what was set aside or is done without.
            most_bytes: of the file; see `MOST_BYTES`."""
        self._most = most_bytes
        self._file, self._note = file, on_note or (lambda _: None)
        self._connection: sqlite3.Connection | None = None
        self._set_aside = False
        if file is not None:
            self._open()

    def get(self, kind: str, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the entries that are there and whole, by key."""
        values: dict[str, bytes] = {}
        waiting = iter(dict.fromkeys(keys))
        while self._connection and (some := list(itertools.islice(waiting, _AT_ONCE))):
            marks = ",".join("?" * len(some))
            question = (
                "SELECT key, CAST(value AS BLOB) FROM entries "
                f"WHERE kind = ? AND key IN ({marks}) AND length(value) <= ?"
            )
            try:
                rows = self._connection.execute(question, (kind, *some, MOST_ENTRY_BYTES)).fetchall()
            except sqlite3.Error as error:
                self._trouble(error)
            else:
                values.update((key, value[_DIGEST:]) for key, value in rows if _is_whole(kind, key, value))
        return values

    def keys(self, kind: str) -> set[str]:
        """Return the keys of all entries of a kind, whether they are whole or not."""
        if not self._connection:
            return set()
        try:
            rows = self._connection.execute("SELECT key FROM entries WHERE kind = ?", (kind,)).fetchall()
        except sqlite3.Error as error:
            self._trouble(error)
            return set()
        return {key for (key,) in rows if isinstance(key, str)}

    def clear(self) -> None:
        """Drop all entries, and give their place on the disk back."""
        if not self._connection:
            return
        try:
            with self._connection:
                self._connection.execute("DELETE FROM entries")
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as error:
            self._trouble(error)

    def put(self, kind: str, entries: Mapping[str, bytes], gone: Iterable[str] = ()) -> None:
        """Keep entries, and drop those of some keys at once; they are there for others when the call returns."""
        if not self._connection or not entries:
            return
        now = int(time.time())
        try:
            with self._connection:
                self._connection.executemany(
                    "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?)",
                    [(kind, key, _digest(kind, key, value) + value, now) for key, value in entries.items()],
                )
                self._connection.executemany(
                    "DELETE FROM entries WHERE kind = ? AND key = ?", [(kind, key) for key in gone]
                )
            self._drop_old()
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
        try:
            self._connect()
        except (sqlite3.Error, OSError) as error:
            self._trouble(error)

    def _connect(self) -> None:
        """Open the file and what lies beside it, once all of it is seen to be the user's alone.

        Raises:
            OSError: it can't be opened, or isn't the user's.
            sqlite3.Error: it is broken, locked, or of another format."""
        assert self._file is not None
        folder = self._file.parent
        if not folder.exists() or folder == _own_folder():  # a folder that a caller named stays as it is
            private_files.private_folder(folder)
        private_files.private_file(self._file)
        for end in private_files.BESIDE:
            private_files.private_file(self._file.with_name(self._file.name + end), make=False)
        self._connection = sqlite3.connect(self._file, timeout=_WAIT_SECONDS, check_same_thread=False)
        self._connection.execute("PRAGMA trusted_schema = OFF")
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")  # a power failure may lose the last entries
        tables = {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master")}
        if any(not name.startswith("sqlite_") for name in tables - {"entries"}):
            raise sqlite3.OperationalError("it is another program's database; name another file")
        version = self._version()
        if version > _FORMAT:
            raise sqlite3.DatabaseError(f"format {version}, not {_FORMAT}")
        if version < _FORMAT:
            self._begin_anew()
        self._drop_old()

    def _version(self) -> int:
        assert self._connection is not None
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def _begin_anew(self) -> None:
        """Make the table; what an earlier format kept goes, since all of it can be made again."""
        assert self._connection is not None
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            if self._version() < _FORMAT:  # no other process was quicker
                self._connection.execute("DROP TABLE IF EXISTS entries")
                self._connection.execute(_SCHEMA)
                self._connection.execute(f"PRAGMA user_version = {_FORMAT}")

    def _drop_old(self) -> None:
        assert self._connection is not None
        pages, size = (
            self._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")
        )
        if pages * size > self._most:
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
        if not broken or self._set_aside:
            self._note(f"the cache {self._file} can't be used ({error}): going on without it")
            return
        assert self._file is not None
        try:
            aside = private_files.set_aside(self._file)
        except OSError as other:
            self._note(f"the cache {self._file} is broken ({error}) and can't be set aside ({other})")
            return
        self._note(f"the cache {self._file} was broken ({error}): it is set aside as {aside.name}")
        self._set_aside = True
        self._open()


def _own_folder() -> Path | None:
    try:
        return private_files.cache_folder()
    except RuntimeError:
        return None


def _digest(kind: str, key: str, value: bytes | memoryview) -> bytes:
    """Return what stands before a value, by which one that a disk changed, or that was put elsewhere, is told."""
    digest = hashlib.blake2b(f"{kind}\0{key}\0".encode(), digest_size=_DIGEST)
    digest.update(value)
    return digest.digest()


def _is_whole(kind: str, key: str, value: object) -> bool:
    return isinstance(value, bytes) and value[:_DIGEST] == _digest(kind, key, memoryview(value)[_DIGEST:])
