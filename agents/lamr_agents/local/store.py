"""What was decided about each result of a tool: which session saw which file, and what was saved.

One SQLite file of the user's; old rows go. It holds no code.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lamr_client import InvalidInputError, LamrError
from lamr_contract.private_files import cache_folder

from lamr_agents.local import looks
from lamr_agents.local.database import Database
from lamr_agents.policy import IN_PARTS, READ_AGAIN
from lamr_agents.thin import NOT_PRUNED, SOCKET

MOST_ROWS = 50_000
MOST_DAYS = 90
MOST_NAME = 1000
"""Characters of a session's name and of a path; of a longer one, its beginning and a digest are kept."""
MOST_SOCKET_BYTES = 103 if sys.platform == "darwin" else 107
"""Of a Unix socket's path."""

_TABLE = """
CREATE TABLE IF NOT EXISTS shown (
    at REAL NOT NULL, host TEXT NOT NULL, session TEXT NOT NULL, tool TEXT NOT NULL, path TEXT NOT NULL,
    reason TEXT NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, seconds REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS shown_to ON shown (session, path);
CREATE INDEX IF NOT EXISTS shown_at ON shown (at);
"""


class StoreError(LamrError):
    """What was decided can't be kept or read."""


@dataclass(frozen=True)
class Shown:
    """One result of a tool.

    Attributes:
        host, session, tool, path: whose, and of what.
        reason: `pruned`, `outlined`, or why the result passed.
        tokens_in, tokens_out: as `Skim` counts them.
        seconds: that it took.
        place: where a cut hides lines, the file within its project (`local.places`) or the key of the kept text; else
            empty.
        hidden: first and last line of each run of these, by the file's own numbers.
    """

    host: str
    session: str
    tool: str
    path: str
    reason: str
    tokens_in: int
    tokens_out: int
    seconds: float
    place: str = ""
    hidden: looks.Ranges = ()


@dataclass(frozen=True)
class Decision(Shown):
    """A result as it was recorded.

    Attributes:
        at: when, in seconds since 1970.
        ranges, wholes: later reads of lines that this cut had hidden, by range and of the whole file.
        tokens_again: that these brought.
    """

    at: float = 0.0
    ranges: int = 0
    wholes: int = 0
    tokens_again: int = 0


_AS_THEY_STAND = ("host", "session", "tool", "path", "reason", "tokens_in", "tokens_out", "seconds", "at")
_DECIDED = {
    **dict(zip(_AS_THEY_STAND, _AS_THEY_STAND, strict=True)),
    "ranges": "coalesce(ranges, 0)",
    "wholes": "coalesce(wholes, 0)",
    "tokens_again": "coalesce(tokens, 0)",
}
"""What a `Decision` is made of: the expression of each field."""


@dataclass(frozen=True)
class LastCall:
    """A host's last call, and the last that failed.

    Attributes:
        host: its name.
        at: seconds since 1970.
        error: why one failed; empty where none did.
        failed_at: when that was; None where none did.
    """

    host: str
    at: float
    error: str = ""
    failed_at: float | None = None


class Store:
    """The file, which is opened when it is first needed; threads and processes may share it.

    Its methods raise a `StoreError` where it can't be used.

    Args:
        path: where it lies or is made; its folder is made for the user alone.
    """

    def __init__(self, path: Path) -> None:
        self._database = Database(
            path,
            _TABLE + looks.TABLE,
            lambda why: StoreError(f"{path}: what was shown can't be kept there ({why})"),
        )
        self._looks = looks.Looks(self._database)

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

    def look(self, session: str, since: float, path: str, ranges: looks.Ranges, tokens: int) -> None:
        """Record that an agent reads a file; see `local.looks`."""
        self._looks.look(_name(session), since, _name(path), ranges, tokens)

    def show(self, key: str, tokens: int) -> None:
        """Record that `lamr show` prints so many tokens of a kept text."""
        self._looks.show(key, tokens)

    def is_always_read_again(self, place: str, now: float | None = None) -> bool:
        """Whether each of the latest cuts of a file was in vain; see `local.looks`."""
        return self._looks.always(_name(place), READ_AGAIN, now)

    def add(self, shown: Shown, now: float | None = None) -> None:
        """Record a result, and forget those that are too old or too many."""
        now = time.time() if now is None else now
        known = replace(shown, session=_name(shown.session), path=_name(shown.path))
        row = (now, *(getattr(known, name) for name in _AS_THEY_STAND[:-1]))
        with self._database.rows() as rows:
            added = rows.execute("INSERT INTO shown VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row).lastrowid
            if shown.place and added is not None:
                looks.record(rows, added, _name(shown.place), shown.hidden)
            rows.execute("DELETE FROM shown WHERE at < ?", (now - MOST_DAYS * 86_400,))
            rows.execute("DELETE FROM shown WHERE rowid <= (SELECT max(rowid) FROM shown) - ?", (MOST_ROWS,))

    def decisions(self, since: float = 0.0) -> Sequence[Decision]:
        """What was decided since a time, in seconds since 1970, the oldest first."""
        with self._database.rows() as rows:
            found = rows.execute(
                f"SELECT {', '.join(_DECIDED.values())} FROM shown LEFT JOIN cuts ON cuts.shown = shown.rowid "
                "WHERE at >= ? ORDER BY at, shown.rowid",
                (since,),
            )
            return [Decision(**dict(zip(_DECIDED, row, strict=True))) for row in found.fetchall()]

    def last_calls(self) -> Sequence[LastCall]:
        """The last call of each host."""
        with self._database.rows() as rows:
            found = rows.execute(
                "SELECT host, max(at), coalesce((SELECT reason FROM shown AS failed WHERE failed.host = shown.host "
                "AND reason LIKE ? ORDER BY at DESC LIMIT 1), ''), max(CASE WHEN reason LIKE ? THEN at END) "
                "FROM shown GROUP BY host ORDER BY host",
                (f"{NOT_PRUNED}%", f"{NOT_PRUNED}%"),
            )
            return [LastCall(*row) for row in found.fetchall()]

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _name(text: str) -> str:
    """A text that the file can hold: half characters are replaced, and a long one is shortened, by its content."""
    data = text.encode("utf-8", "backslashreplace")
    if len(text) > MOST_NAME:
        data = data[: MOST_NAME // 2] + hashlib.blake2b(data, digest_size=16).hexdigest().encode()
    return data.decode("utf-8", "ignore")


def default_folder() -> Path:
    """Where the socket and the store lie: `agents` in lamr's cache folder.

    Raises:
        StoreError: the user has no home.
    """
    try:
        return cache_folder() / "agents"
    except RuntimeError as error:
        raise StoreError(str(error)) from error


def default_store() -> Path:
    """The store's file."""
    return default_folder() / "shown.sqlite3"


def default_socket() -> Path:
    """The local server's socket."""
    return default_folder().parent / SOCKET


def check_socket(path: Path) -> Path:
    """Return a socket's path that the system can take.

    Raises:
        InvalidInputError: it is too long.
    """
    length = len(os.fsencode(path.absolute()))
    if length > MOST_SOCKET_BYTES:
        raise InvalidInputError(
            f"{path} has {length} bytes, and a socket's path has at most {MOST_SOCKET_BYTES}; name a shorter one, "
            "or set XDG_CACHE_HOME to a shorter folder",
            argument="socket",
        )
    return path
