"""What becomes of answers while a batch runs: they are counted, gathered and written as shards."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from lamr_repositories.batch.jobs import Job
from lamr_repositories.batch.shards import Shards
from lamr_repositories.progress import OnProgress


@dataclass(eq=False)
class BatchCount:
    """What became of the rows: answered and failed now, done before and failed before, and how often a worker died."""

    rows: int = 0
    answered: int = 0
    failed: int = 0
    before: int = 0
    failed_before: int = 0
    deaths: int = 0
    seconds: float = 0.0


@dataclass(eq=False)
class Gathering:
    """The answers of a batch under way.

    Attributes:
        shards: where they are written.
        count: is kept.
        on_progress: called with what is being done, the rows done and their number.
        shard_rows, shard_seconds: a shard is written after so many answers, or so long after the first of them.
    """

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
