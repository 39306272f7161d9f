"""The answers of a batch on disk: shards that are there whole or not at all, and what is known from them after a kill.

A shard is a JSONL file that appears under its name when all of it is on the disk. The shards are the journal as well:
what they hold is done. This module knows rows with an `id` and perhaps an `error`; it knows no jobs.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lamr_repositories.errors import RepositoryError

_NAME = "answers-{:06d}.jsonl"
_LOCK = ".lock"


class Shards:
    """The shards of one folder. One process at a time writes them."""

    def __init__(self, folder: Path) -> None:
        """Make the folder, and lock it for as long as the process lives.

        Raises:
            RepositoryError: another batch writes there, or the folder can't be written.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = (folder / _LOCK).open("w")
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RepositoryError(f"another batch writes to {folder}; wait for it", path=folder) from error
        except OSError as error:
            raise RepositoryError(
                f"{folder}: can't be written ({error.strerror or error})", path=folder
            ) from error
        self._folder = folder
        for part in folder.glob("*.part"):  # what a killed process left
            part.unlink()

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield all rows, shard by shard."""
        for file in self._files():
            with file.open(encoding="utf-8") as stream:
                yield from map(json.loads, stream)

    def done(self) -> dict[str, bool]:
        """Return the ids of all rows, and whether each is an error."""
        return {row["id"]: "error" in row for row in self.rows()}

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Write a new shard."""
        if rows:
            last = max((int(file.stem.rsplit("-", 1)[1]) for file in self._files()), default=0)
            self._write(self._folder / _NAME.format(last + 1), rows)

    def forget_errors(self) -> int:
        """Take the errors out of all shards, so that their rows are run again; returns how many there were."""
        count = 0
        for file in self._files():
            with file.open(encoding="utf-8") as stream:
                rows = [json.loads(line) for line in stream]
            kept = [row for row in rows if "error" not in row]
            count += len(rows) - len(kept)
            if not kept:
                file.unlink()
            elif len(kept) < len(rows):
                self._write(file, kept)
        return count

    def close(self) -> None:
        """Let another process write."""
        self._lock.close()

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("answers-*.jsonl"))

    def _write(self, file: Path, rows: Sequence[dict[str, Any]]) -> None:
        part = file.with_suffix(".part")
        with part.open("w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(json.dumps(row, ensure_ascii=True) + "\n" for row in rows)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(file)
        with contextlib.suppress(OSError):  # not every file system lets a folder be synced
            folder = os.open(self._folder, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
