"""The answers of a batch: shards that are there whole or not at all, and what is known from them after a kill.

The shards are the journal as well: what they hold is done. While a batch runs, answers are counted, gathered and
written as shards."""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

from lamr_base.records import dataclass

from lamr_repositories.batch.formats import FORMATS, Row, format_of, named_format
from lamr_repositories.batch.jobs import Job
from lamr_repositories.batch.storage import Storage, open_storage
from lamr_repositories.errors import RepositoryError
from lamr_repositories.options import OnProgress

_STEM = "answers-"


class Shards:
    """The shards of one folder or URL. One process at a time writes them."""

    def __init__(self, place: str | os.PathLike[str], form: str = "jsonl") -> None:
        """Make the folder; a local one is locked for as long as the process lives. Raises `InvalidInputError`: there
        is no such format. Raises `RepositoryError`: another batch writes there, it can't be written, or holds shards
        of another format."""
        self._form = named_format(form)
        self._place = os.fspath(place)
        self._storage: Storage = open_storage(place)
        try:
            names = self._storage.names()
            self._refuse_others(names)
        except BaseException:
            self._storage.close()
            raise
        # Counted on from here and not looked up again: of two batches on one URL the slower finds its number taken.
        self._last = max((_number(name) for name in self._named(names)), default=0)

    def rows(self) -> Iterator[Row]:
        """Yield all rows, shard by shard."""
        for name in self._named(self._storage.names()):
            yield from self._rows(name)

    def done(self) -> dict[str, bool]:
        """Return the ids of all rows, and whether each is an error."""
        return {row["id"]: "error" in row for row in self.rows()}

    def add(self, rows: Sequence[Row]) -> None:
        """Write a new shard."""
        if rows:
            name = f"{_STEM}{self._last + 1:06d}{self._form.ending}"
            self._storage.create(name, self._form.encode(rows))
            self._last += 1

    def forget_errors(self) -> int:
        """Take the errors out of all shards, so that their rows are run again; returns how many there were."""
        count = 0
        for name in self._named(self._storage.names()):
            rows = self._rows(name)
            kept = [row for row in rows if "error" not in row]
            count += len(rows) - len(kept)
            if not kept:
                self._storage.remove(name)
            elif len(kept) < len(rows):
                self._storage.write(name, self._form.encode(kept))
        return count

    def close(self) -> None:
        """Let another process write."""
        self._storage.close()

    def _named(self, names: Sequence[str]) -> list[str]:
        ending = self._form.ending
        return sorted(name for name in names if name.startswith(_STEM) and name.endswith(ending))

    def _refuse_others(self, names: Sequence[str]) -> None:
        endings = tuple(form.ending for form in FORMATS.values() if form is not self._form)
        other = next((name for name in names if name.startswith(_STEM) and name.endswith(endings)), None)
        if other is not None:
            form = next(key for key, value in FORMATS.items() if value is format_of(other))
            raise RepositoryError(
                f"{self._place} holds answers as {form}; go on with --format {form}, or choose another place",
                path=self._place,
            )

    def _rows(self, name: str) -> list[Row]:
        try:
            with self._storage.open(name) as stream:
                return list(self._form.rows(stream))
        except (ValueError, KeyError, TypeError) as error:
            raise RepositoryError(
                f"{self._place}: {name} isn't whole ({error}); delete it, and the same command runs its rows again",
                path=self._place,
            ) from error


def _number(name: str) -> int:
    digits = name.removeprefix(_STEM).partition(".")[0]
    return int(digits) if digits.isdecimal() else 0


@dataclass(eq=False)
class BatchCount:
    """What became of the rows: answered and failed now, done before and failed before, and how often a worker died.

    `errors` has by an error's name how many rows failed now by it, and the first message."""

    rows: int = 0
    answered: int = 0
    failed: int = 0
    before: int = 0
    failed_before: int = 0
    deaths: int = 0
    seconds: float = 0.0
    errors: dict[str, tuple[int, str]] = field(default_factory=dict)


@dataclass(eq=False)
class Gathering:
    """The answers of a batch under way; a shard is written after so many, or so long after the first of them."""

    shards: Shards
    count: BatchCount
    on_progress: OnProgress
    shard_rows: int
    shard_seconds: float
    _answers: list[dict[str, Any]] = field(default_factory=list)
    _oldest: float = 0.0

    def add(self, name: str, answer: dict[str, Any]) -> None:
        """Take the one answer of a row."""
        failed = "error" in answer
        self.count.failed += failed
        self.count.answered += not failed
        if failed:
            rows, first = self.count.errors.get(answer["error"], (0, answer["message"]))
            self.count.errors[answer["error"]] = rows + 1, first
        self._oldest = self._oldest if self._answers else time.monotonic()
        self._answers.append({"id": name, **answer})
        self.on_progress("rows", self.count.before + self.count.answered + self.count.failed, self.count.rows)

    def refuse(self, job: Job) -> None:
        """Answer a row that is no job."""
        self.add(job.id, {"error": "InvalidInputError", "message": job.problem})

    def flush(self, now: bool = False) -> None:
        """Write a shard, if it is due."""
        late = time.monotonic() - self._oldest > self.shard_seconds
        if self._answers and (now or late or len(self._answers) >= self.shard_rows):
            answers, self._answers = self._answers, []
            self.shards.add(answers)
