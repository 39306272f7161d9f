"""Second looks: whether agents came back for what a cut had hidden, and the files that they always come back for.

Each cut of a file is a row of the table `cuts`, beside `shown` in the same file of the user's. A row has line numbers
and no code. It goes when its row of `shown` goes.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Sequence

from lamr_agents.local.database import Database

TABLE = """
CREATE TABLE IF NOT EXISTS cuts (
    shown INTEGER PRIMARY KEY, -- rowid of the cut's row in `shown`
    place TEXT NOT NULL,       -- the file within its project, whichever work tree it was read in; or a kept text's key
    hidden TEXT NOT NULL,      -- the file's lines that the cut hides, as `7-120,140-300`; empty where they aren't known
    ranges INTEGER NOT NULL DEFAULT 0, -- later reads of a range of these lines: what the note says to do
    wholes INTEGER NOT NULL DEFAULT 0, -- later reads of the whole file, which come uncut
    tokens INTEGER NOT NULL DEFAULT 0  -- that these later reads brought
);
CREATE INDEX IF NOT EXISTS cuts_of ON cuts (place);
CREATE TRIGGER IF NOT EXISTS cuts_go AFTER DELETE ON shown BEGIN DELETE FROM cuts WHERE shown = old.rowid; END;
"""
ALWAYS = 3
"""Cuts of a file in a row that were in vain until it isn't cut any more. In recorded sessions agents come back for
something of 36 of 100 cuts, so that three in a row are chance in at most 5 of 100 files."""
_IN_VAIN = "wholes > 0 OR 2 * tokens >= tokens_in - tokens_out"
"""A cut that saved nothing, because agents came back for the whole file or for half of what it had saved: each later
read is one more request over the whole context. A range of a large file, as the note says, costs less than the file.
"""
TRIED_AGAIN = 5
"""Reads that such a file comes whole before it is cut again, to see whether that still holds."""
REMEMBERED_DAYS = 30
"""What is older doesn't count: by then people work on something else."""
MOST_HIDDEN = 4000
"""Characters of `hidden` that are kept."""

Ranges = Sequence[tuple[int, int]]
_RANGE = re.compile(r"(\d+)-(\d+)")


class Looks:
    """The table.

    Args:
        database: the file; `TABLE` is part of its script.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def look(self, session: str, since: float, path: str, ranges: Ranges, tokens: int) -> None:
        """Record a read, where it shows something that the latest cut of the file hid from this agent.

        Args:
            session, since: the agent's context; see `lamr_agents.calls.Call`.
            path: of the file.
            ranges: first and last line that it asks for; none where it asks for the whole file.
            tokens: that it brings.
        """
        with self._database.rows() as rows:
            found = rows.execute(
                "SELECT cuts.shown, hidden FROM shown JOIN cuts ON cuts.shown = shown.rowid WHERE path = ? "
                "AND at >= ? AND session = ? ORDER BY cuts.shown DESC LIMIT 1",
                (path, since, session),
            ).fetchone()
            if found is None or (ranges and not _meet(ranges, _read(found[1]))):
                return
            column = "ranges" if ranges else "wholes"
            rows.execute(
                f"UPDATE cuts SET {column} = {column} + 1, tokens = tokens + ? WHERE shown = ?",
                (tokens, found[0]),
            )

    def show(self, key: str, tokens: int) -> None:
        """Record that lines of a kept text are shown; see `look`."""
        with self._database.rows() as rows:
            rows.execute(
                "UPDATE cuts SET ranges = ranges + 1, tokens = tokens + ? "
                "WHERE shown = (SELECT max(shown) FROM cuts WHERE place = ?)",
                (tokens, key),
            )

    def always(self, place: str, uncut: str, now: float | None = None) -> bool:
        """Whether each of the latest cuts of a file was in vain.

        Args:
            place: the file.
            uncut: the reason of reads that weren't cut because of this.
            now: the time.
        """
        oldest = (time.time() if now is None else now) - REMEMBERED_DAYS * 86_400
        with self._database.rows() as rows:
            cuts = rows.execute(
                f"SELECT cuts.shown, {_IN_VAIN} FROM cuts JOIN shown ON cuts.shown = shown.rowid "
                "WHERE place = ? AND at >= ? ORDER BY cuts.shown DESC LIMIT ?",
                (place, oldest, ALWAYS),
            ).fetchall()
            if len(cuts) < ALWAYS or not all(in_vain for _, in_vain in cuts):
                return False
            left = rows.execute(
                "SELECT count(*) FROM shown WHERE rowid > ? AND reason = ? AND path IN "
                "(SELECT path FROM shown JOIN cuts ON cuts.shown = shown.rowid WHERE place = ?)",
                (cuts[0][0], uncut, place),
            ).fetchone()
        return int(left[0]) < TRIED_AGAIN


def record(rows: sqlite3.Connection, shown: int, place: str, hidden: Ranges) -> None:
    """Record a cut.

    Args:
        rows: the file.
        shown: rowid of the cut's row in `shown`.
        place: see `TABLE`.
        hidden: first and last line of each run that it hides, by the file's own numbers.
    """
    row = (shown, place, _written(hidden))
    rows.execute("INSERT OR REPLACE INTO cuts (shown, place, hidden) VALUES (?, ?, ?)", row)


def _written(ranges: Ranges) -> str:
    text = ",".join(f"{first}-{last}" for first, last in ranges)
    return text if len(text) <= MOST_HIDDEN else text[:MOST_HIDDEN].rpartition(",")[0]


def _read(text: str) -> list[tuple[int, int]]:
    return [(int(first), int(last)) for first, last in _RANGE.findall(text)]


def _meet(some: Ranges, others: Ranges) -> bool:
    """Whether any two ranges have a line in common."""
    return any(a <= d and c <= b for a, b in some for c, d in others)
