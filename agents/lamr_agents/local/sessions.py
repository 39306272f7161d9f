"""The sessions that hooks were called in: where each worked, where its transcript lies, and whether it is left alone.

A row of the table `sessions` is made at a session's first call and stands beside `shown`, in the same file of the
user's. It holds names and paths, and no words of anybody.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any

HELD_OUT = "left alone, for comparison"
"""The reason of results that pass in such a session and would have been judged in another."""
_BYTES = 8


def is_held_out(session: str, share: float) -> bool:
    """Whether a session is left alone by chance, so that what cuts do can be compared with what happens without.

    It follows from its name alone, the same for all of its calls, its sub-agents and every machine.

    Args:
        session: the host's name for it, with or without a sub-agent's behind a `/`.
        share: of all sessions, from 0 to 1; a call that names no session is of none.
    """
    name = session_of(session)
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()
    return bool(name) and int.from_bytes(digest, "big") < share * 256**_BYTES


def session_of(name: str) -> str:
    """The host's name for a session, without that of a sub-agent, which belongs to it."""
    return name.split("/", 1)[0]


TABLE = """
CREATE TABLE IF NOT EXISTS sessions (
    session TEXT PRIMARY KEY, -- the host's name, without that of a sub-agent
    host TEXT NOT NULL, folder TEXT NOT NULL, transcript TEXT NOT NULL,
    first REAL NOT NULL, last REAL NOT NULL, -- calls, in seconds since 1970
    held_out INTEGER          -- whether it is left alone; NULL where no session was at that time
);
CREATE INDEX IF NOT EXISTS sessions_last ON sessions (last);
"""
FOLDER, TRANSCRIPT = ("cwd",), ("transcript_path", "transcriptPath")
"""The names under which calls of hosts say where a session works and where its transcript lies."""
_MOST_PATH = 4096
_SECONDS_BETWEEN = 60.0
"""Between two times that a session's latest call is written down: an agent waits for each."""


@dataclass(frozen=True)
class Session:
    """A session.

    Attributes:
        name: the host's.
        host: the host's own.
        folder: that it worked in; empty where the host doesn't say.
        transcript: where its log lies; empty where the host doesn't say.
        first, last: the times of its first and latest call, in seconds since 1970.
        held_out: whether it is left alone; None where there was no choice.
    """

    name: str
    host: str
    folder: str
    transcript: str
    first: float
    last: float
    held_out: bool | None


def seen_in(payload: Mapping[str, Any], host: str, session: str, now: float, share: float) -> Session:
    """The session of a host's call.

    Args:
        payload: the call.
        host: its host.
        session: the session's name, or that of a sub-agent's context.
        now: the time.
        share: of the sessions that are left alone.
    """
    held_out = is_held_out(session, share) if share else None
    folder, transcript = (_path(payload, names) for names in (FOLDER, TRANSCRIPT))
    return Session(session_of(session), host, folder, transcript, now, now, held_out)


def _path(payload: Mapping[str, Any], names: tuple[str, ...]) -> str:
    found = (payload.get(name) for name in names)
    return next((path for path in found if isinstance(path, str) and _can_be_one(path)), "")


def _can_be_one(path: str) -> bool:
    """Whether a file can have such a path: no other is kept."""
    return (
        len(path) <= _MOST_PATH
        and "\0" not in path
        and not any(0xD800 <= ord(each) < 0xE000 for each in path)
    )


def meet(rows: sqlite3.Connection, session: Session) -> tuple[bool, bool]:
    """Record a call.

    What was decided at a session's first call holds to its end, whatever share is asked for meanwhile.

    Returns:
        whether the session is left alone, and whether this is its first call.
    """
    query = "SELECT held_out, last, transcript FROM sessions WHERE session = ?"
    found = rows.execute(query, (session.name,)).fetchone()
    if found is not None:
        held_out, last, transcript = found
        moved = session.transcript not in ("", transcript)
        if moved or session.last - last > _SECONDS_BETWEEN:
            rows.execute(
                "UPDATE sessions SET last = ?, transcript = ? WHERE session = ?",
                (session.last, session.transcript if moved else transcript, session.name),
            )
        return bool(held_out), False
    rows.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?)", astuple(session))
    return bool(session.held_out), True


def forget(rows: sqlite3.Connection, before: float) -> None:
    """Forget the sessions whose latest call is older."""
    rows.execute("DELETE FROM sessions WHERE last < ?", (before,))


def all_of(rows: sqlite3.Connection) -> list[Session]:
    """The sessions, the oldest first."""
    found = rows.execute(
        "SELECT session, host, folder, transcript, first, last, held_out FROM sessions ORDER BY first"
    ).fetchall()
    return [Session(*row[:6], *(None if each is None else bool(each) for each in row[6:])) for row in found]
