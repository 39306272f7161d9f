"""The originals of what was pruned and lies in no file, such as a command's output, so that a range can be shown again.

One SQLite file of the user's, limited in age and size; old texts go first. A text's key is made of its content, so that
the same text always has the same key."""

from __future__ import annotations

import hashlib
import shlex
import shutil
import sys
import time
import zlib
from pathlib import Path

from lamr_base.expressions import expression
from lamr_base.records import dataclass
from lamr_client import InvalidInputError, LamrError
from lamr_postprocess import split_lines

from lamr_agents.local.store import Database, default_folder
from lamr_agents.skimmed import BY_COMMAND

MOST_DAYS = 7.0
MOST_BYTES = 128 << 20  # limit for all texts together, compressed
SHOW = "lamr show"
_KEY_BYTES = 6
_PLACE = expression(r"(?P<key>[0-9a-f]{12})(?::(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?)?")
_TABLE = """
PRAGMA auto_vacuum = FULL; -- what goes gives its room back
CREATE TABLE IF NOT EXISTS texts (key TEXT PRIMARY KEY, at REAL NOT NULL, bytes INTEGER NOT NULL, text BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS texts_at ON texts (at);
"""
_TOO_MUCH = (
    "DELETE FROM texts WHERE at < ? OR rowid <= (SELECT max(row) FROM (SELECT rowid AS row, sum(bytes) OVER (ORDER BY "
    "rowid DESC) AS newer FROM texts) WHERE newer > ?)"
)


class TextsError(LamrError):
    """A text can't be kept: the file can't be written, or the text is too large."""


class UnknownTextError(InvalidInputError):
    """No text, or no line of it, is kept under what was asked for."""


@dataclass(frozen=True)
class Place:
    """Lines of a kept text: its key, and the first and last line, 1-based; `last` is None for the text's end."""

    key: str
    first: int = 1
    last: int | None = None

    @staticmethod
    def parse(words: str) -> Place:
        """Read `KEY`, `KEY:155` or `KEY:155-326`."""
        found = _PLACE.fullmatch(words.strip())
        first = int((found and found["first"]) or 1)
        last = int(found["last"]) if found and found["last"] else first if found and found["first"] else None
        if found is None or first < 1 or (last is not None and last < first):
            raise UnknownTextError(
                f"{words!r} isn't KEY, KEY:155 or KEY:155-326; copy it from the end of the text that was cut",
                argument="key",
            )
        return Place(found["key"], first, last)


def key_of(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).hexdigest()


class Texts:
    """The file, which is opened when it is first needed; threads and processes may share it."""

    def __init__(self, path: Path, most_bytes: int = MOST_BYTES, most_days: float = MOST_DAYS) -> None:
        self._most_bytes, self._most_days = most_bytes, most_days
        self._database = Database(
            path, _TABLE, lambda why: TextsError(f"{path}: texts can't be kept there ({why})")
        )

    def keep(self, text: str, now: float | None = None) -> str:
        """Keep a text and return its key; others that are too old, or too much with it, go."""
        key = key_of(text)
        self.put(key, text, now)
        return key

    def put(self, key: str, text: str, now: float | None = None) -> None:
        """Keep a text under a key of the caller's; see `keep`."""
        now = time.time() if now is None else now
        data = zlib.compress(text.encode("utf-8", "surrogatepass"))
        if len(data) > self._most_bytes:
            raise TextsError(f"a text of {len(data):,} bytes isn't kept; the limit is {self._most_bytes:,}")
        with self._database.rows() as rows:
            rows.execute("INSERT OR REPLACE INTO texts VALUES (?, ?, ?, ?)", (key, now, len(data), data))
            rows.execute(_TOO_MUCH, (now - self._most_days * 86_400, self._most_bytes))

    def find(self, key: str, now: float | None = None) -> str | None:
        """The text under a key; None where none is kept."""
        oldest = (time.time() if now is None else now) - self._most_days * 86_400
        with self._database.rows() as rows:
            query = "SELECT text FROM texts WHERE key = ? AND at >= ?"
            found = rows.execute(query, (key, oldest)).fetchone()
        try:
            return None if found is None else zlib.decompress(found[0]).decode("utf-8", "surrogatepass")
        except (zlib.error, TypeError, ValueError):  # a disk or somebody changed it: it isn't kept any more
            return None

    def lines(self, place: Place, now: float | None = None) -> str:
        """The lines of a place as they were, ends included."""
        text = self.find(place.key, now)
        if text is None:
            raise UnknownTextError(
                f"nothing is kept under {place.key}: texts are kept for {self._most_days:g} days and "
                f"{self._most_bytes >> 20} MiB in all; run the command again",
                argument="key",
            )
        lines = split_lines(text)
        if place.first > len(lines):
            raise UnknownTextError(f"{place.key} has {len(lines):,} lines", argument="key")
        return "".join(lines[place.first - 1 : place.last])

    def close(self) -> None:
        self._database.close()


@dataclass(frozen=True)
class Archive:
    """Keeps texts, and tells agents how to get their lines back."""

    texts: Texts  # where they are kept
    command: str = SHOW  # prints lines of a kept text; a place follows it
    between: str = " "  # what stands between both

    def keep(self, text: str) -> str:
        """See `Texts.keep`."""
        return self.texts.keep(text)

    def how_to_show(self, text: str, first: int, last: int) -> str:
        place = {"command": self.command, "between": self.between, "key": key_of(text)}
        return BY_COMMAND.format(**place, first=first, last=last)


def show_command(texts: Path | None = None) -> str:
    """The command line that prints kept lines, as a shell of this machine finds it."""
    beside = Path(sys.executable).parent / "lamr"
    words = ["lamr"] if shutil.which("lamr") else [str(beside)]
    if not shutil.which("lamr") and not beside.exists():
        words = [sys.executable, "-m", "lamr_cli.main"]
    return shlex.join([*words, "show", *(["--texts", str(texts)] if texts else [])])


def default_texts() -> Path:
    return default_folder() / "texts.sqlite3"
