"""The record of decisions about tool results: which session saw which file, what was saved, what was read again.

One SQLite file of the user's; old rows go. It holds no code. Each cut has a row in the table `cuts`, with the hidden
lines' numbers and what later reads showed of them."""

import contextlib
import hashlib
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from lamr_base.expressions import expression
from lamr_base.private_files import cache_folder, private_file, private_folder, set_aside
from lamr_base.records import dataclass
from lamr_client import InvalidInputError, LamrError

from lamr_agents.policy import IN_PARTS
from lamr_agents.thin import NOT_PRUNED, SOCKET, check_folder

MOST_ROWS = 50_000
MOST_DAYS = 90
MOST_NAME = 1000
"""Characters of a session's name and of a path; of a longer one, its beginning and a digest are kept."""
MOST_HIDDEN = 4000  # characters of a cut's hidden ranges that are kept
MOST_SOCKET_BYTES = 103 if sys.platform == "darwin" else 107  # limit of a Unix socket's path

_TABLE = """
CREATE TABLE IF NOT EXISTS shown (
    at REAL NOT NULL, host TEXT NOT NULL, session TEXT NOT NULL, tool TEXT NOT NULL, path TEXT NOT NULL,
    reason TEXT NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, seconds REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS shown_to ON shown (session, path);
CREATE INDEX IF NOT EXISTS shown_at ON shown (at);
CREATE TABLE IF NOT EXISTS cuts (
    shown INTEGER PRIMARY KEY, -- rowid of the cut's row in `shown`
    place TEXT NOT NULL,       -- the file's path, or a kept text's key
    hidden TEXT NOT NULL,      -- the file's lines that the cut hides, as `7-120,140-300`; empty where they aren't known
    ranges INTEGER NOT NULL DEFAULT 0, -- later reads of a range of these lines: what the note says to do
    wholes INTEGER NOT NULL DEFAULT 0, -- later reads of the whole file, which come uncut
    tokens INTEGER NOT NULL DEFAULT 0  -- that these later reads brought
);
CREATE INDEX IF NOT EXISTS cuts_of ON cuts (place);
CREATE TRIGGER IF NOT EXISTS cuts_go AFTER DELETE ON shown BEGIN DELETE FROM cuts WHERE shown = old.rowid; END;
"""
Ranges = Sequence[tuple[int, int]]
_RANGE = expression(r"(\d+)-(\d+)")
_BUSY_SECONDS = 2.0
_OTHER_TABLES = expression(r"no such column|has \d+ columns|may not be indexed|Could not decode")
"""SQLite's errors for a file with other tables than the script's; its other errors may be temporary."""


class Database:
    """A SQLite file of the user's alone, opened when it is first needed; threads and processes may share it.

    A file that is broken is set aside, once, with an error that says so; the next call begins a new one. After every
    other error it is opened anew, since somebody may have removed or mended it meanwhile. Nobody waits until the disk
    has what is written: the system keeps it even if the process is killed."""

    def __init__(self, path: Path, script: str, error: Callable[[str], Exception]) -> None:
        self._path = path
        self._script = script
        self._error = error
        self._lock = threading.Lock()
        self._opened: sqlite3.Connection | None = None
        self._file = (0, 0)

    @contextlib.contextmanager
    def rows(self) -> Iterator[sqlite3.Connection]:
        """The file, for one transaction."""
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


class StoreError(LamrError):
    """The record can't be written or read."""


@dataclass(frozen=True)
class StoredResult:
    """One result of a tool."""

    host: str  # the host's name
    session: str
    tool: str
    path: str
    reason: str  # `pruned`, `outlined`, or why the result passed
    tokens_in: int  # see `Skim`
    tokens_out: int
    seconds: float  # time that it took
    place: str = ""  # where a cut hides lines, the file's path or the key of the kept text; else empty
    hidden: Ranges = ()  # first and last line of each run of these, by the file's own numbers


@dataclass(frozen=True)
class Decision(StoredResult):
    """A result as it was recorded."""

    at: float = 0.0  # when, in seconds since 1970
    ranges: int = 0  # later reads of lines that this cut had hidden, by range and of the whole file
    wholes: int = 0
    tokens_again: int = 0  # tokens of these later reads


_AS_THEY_STAND = ("host", "session", "tool", "path", "reason", "tokens_in", "tokens_out", "seconds", "at")
_DECIDED = {
    **dict(zip(_AS_THEY_STAND, _AS_THEY_STAND, strict=True)),
    "ranges": "coalesce(ranges, 0)",
    "wholes": "coalesce(wholes, 0)",
    "tokens_again": "coalesce(tokens, 0)",
}
"""The SQL expression of each field of a `Decision`."""


@dataclass(frozen=True)
class LastCall:
    """A host's last call, and the last that failed."""

    host: str  # the host's name
    at: float  # seconds since 1970
    error: str = ""  # why one failed; empty where none did
    failed_at: float | None = None  # when that was; None where none did


class Store:
    """The file, which is opened when it is first needed; threads and processes may share it.

    Its methods raise a `StoreError` where it can't be used."""

    def __init__(self, path: Path) -> None:
        self._database = Database(
            path, _TABLE, lambda why: StoreError(f"{path}: what was shown can't be kept there ({why})")
        )

    def was_shown(self, session: str, since: float, path: str) -> bool:
        """Whether an agent saw a file since a time, cut or whole."""
        parts = sorted(IN_PARTS)
        query = (
            "SELECT 1 FROM shown WHERE session = ? AND path = ? AND at >= ? "
            f"AND reason NOT IN ({', '.join('?' * len(parts))}) LIMIT 1"
        )
        with self._database.rows() as rows:
            found = rows.execute(query, (_name(session), _name(path), since, *parts)).fetchone()
        return found is not None

    def look(self, session: str, since: float, path: str, ranges: Ranges, tokens: int) -> None:
        """Record a read, where it shows something that the latest cut of the file hid from this agent."""
        with self._database.rows() as rows:
            found = rows.execute(
                "SELECT cuts.shown, hidden FROM shown JOIN cuts ON cuts.shown = shown.rowid WHERE path = ? "
                "AND at >= ? AND session = ? ORDER BY cuts.shown DESC LIMIT 1",
                (_name(path), since, _name(session)),
            ).fetchone()
            if found is None or (ranges and not _meet(ranges, _read(found[1]))):
                return
            column = "ranges" if ranges else "wholes"
            rows.execute(
                f"UPDATE cuts SET {column} = {column} + 1, tokens = tokens + ? WHERE shown = ?",
                (tokens, found[0]),
            )

    def show(self, key: str, tokens: int) -> None:
        """Record that `lamr show` prints so many tokens of a kept text."""
        with self._database.rows() as rows:
            rows.execute(
                "UPDATE cuts SET ranges = ranges + 1, tokens = tokens + ? "
                "WHERE shown = (SELECT max(shown) FROM cuts WHERE place = ?)",
                (tokens, key),
            )

    def add(self, shown: StoredResult, now: float | None = None) -> None:
        now = time.time() if now is None else now
        known = replace(shown, session=_name(shown.session), path=_name(shown.path))
        row = (now, *(getattr(known, name) for name in _AS_THEY_STAND[:-1]))
        with self._database.rows() as rows:
            added = rows.execute("INSERT INTO shown VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row).lastrowid
            if shown.place and added is not None:
                rows.execute(
                    "INSERT OR REPLACE INTO cuts (shown, place, hidden) VALUES (?, ?, ?)",
                    (added, _name(shown.place), _written(shown.hidden)),
                )
            rows.execute("DELETE FROM shown WHERE at < ?", (now - MOST_DAYS * 86_400,))
            rows.execute("DELETE FROM shown WHERE rowid <= (SELECT max(rowid) FROM shown) - ?", (MOST_ROWS,))

    def decisions(self, since: float = 0.0) -> Sequence[Decision]:
        """The decisions since a time, in seconds since 1970, the oldest first."""
        with self._database.rows() as rows:
            found = rows.execute(
                f"SELECT {', '.join(_DECIDED.values())} FROM shown LEFT JOIN cuts ON cuts.shown = shown.rowid "
                "WHERE at >= ? ORDER BY at, shown.rowid",
                (since,),
            )
            return [Decision(**dict(zip(_DECIDED, row, strict=True))) for row in found.fetchall()]

    def last_calls(self) -> Sequence[LastCall]:
        with self._database.rows() as rows:
            found = rows.execute(
                "SELECT host, max(at), coalesce((SELECT reason FROM shown AS failed WHERE failed.host = shown.host "
                "AND reason LIKE ? ORDER BY at DESC LIMIT 1), ''), max(CASE WHEN reason LIKE ? THEN at END) "
                "FROM shown GROUP BY host ORDER BY host",
                (f"{NOT_PRUNED}%", f"{NOT_PRUNED}%"),
            )
            return [LastCall(*row) for row in found.fetchall()]

    def close(self) -> None:
        self._database.close()


def _name(text: str) -> str:
    """A text that the file can hold: half characters are replaced, and a long one is shortened, by its content."""
    data = text.encode("utf-8", "backslashreplace")
    if len(text) > MOST_NAME:
        data = data[: MOST_NAME // 2] + hashlib.blake2b(data, digest_size=16).hexdigest().encode()
    return data.decode("utf-8", "ignore")


def _written(ranges: Ranges) -> str:
    text = ",".join(f"{first}-{last}" for first, last in ranges)
    return text if len(text) <= MOST_HIDDEN else text[:MOST_HIDDEN].rpartition(",")[0]


def _read(text: str) -> list[tuple[int, int]]:
    return [(int(first), int(last)) for first, last in _RANGE.findall(text)]


def _meet(some: Ranges, others: Ranges) -> bool:
    return any(a <= d and c <= b for a, b in some for c, d in others)


def default_folder() -> Path:
    try:
        return cache_folder() / "agents"
    except RuntimeError as error:
        raise StoreError(str(error)) from error


def default_store() -> Path:
    return default_folder() / "shown.sqlite3"


def default_socket() -> Path:
    return default_folder().parent / SOCKET


def check_socket(path: Path) -> Path:
    """Return a socket's path that the system can take."""
    length = len(os.fsencode(path.absolute()))
    if length > MOST_SOCKET_BYTES:
        raise InvalidInputError(
            f"{path} has {length} bytes, and a socket's path has at most {MOST_SOCKET_BYTES}; name a shorter one, "
            "or set XDG_CACHE_HOME to a shorter folder",
            argument="socket",
        )
    return path
