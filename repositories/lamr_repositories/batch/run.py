"""Runs a file of jobs with several worker processes: exactly one answer or one named error a row, whatever dies.

A worker that dies is replaced and its job tried once more; a job that kills two workers gets an error that says so.
What was written before this process died is not done again. This module knows pipes and processes; a job's work is
`worker`'s matter.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from lamr_contract.cpus import usable_cpus
from lamr_contract.errors import InvalidInputError

from lamr_repositories.batch.jobs import Job, read_jobs
from lamr_repositories.batch.shards import Shards
from lamr_repositories.batch.worker import WorkerOptions, work

_TRIES = 2
_END_SECONDS = 5.0


@dataclass(frozen=True)
class BatchOptions:
    """How a batch is run.

    Attributes:
        workers: processes.
        servers: addresses that the workers share out among themselves; without any, each has the model in its process.
        model, cache, max_tokens, timeout: see `WorkerOptions`.
        shard_rows, shard_seconds: a shard is written after so many answers, or so long after the first of them.
        retry_errors: whether rows whose answer is an error are run again.
    """

    workers: int = 1
    servers: tuple[str, ...] = ()
    model: Path | None = None
    cache: Path | None = None
    max_tokens: int | None = None
    timeout: float = 120.0
    shard_rows: int = 100
    shard_seconds: float = 5.0
    retry_errors: bool = False

    def __post_init__(self) -> None:
        if self.workers < 1 or self.shard_rows < 1:
            raise InvalidInputError("workers and shard_rows must be at least 1", argument="workers")


@dataclass(eq=False)
class BatchCount:
    """What became of the rows: answered and failed now, done before, and how often a worker died."""

    rows: int = 0
    answered: int = 0
    failed: int = 0
    before: int = 0
    deaths: int = 0
    seconds: float = 0.0


def run_batch(
    jobs: Path,
    output: Path,
    options: BatchOptions | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> BatchCount:
    """Run the jobs of a file that have no answer yet.

    Args:
        jobs: JSONL; see the guide for its fields.
        output: the folder of the answers, which is made.
        options: see `BatchOptions`.
        on_progress: called with what is being done, the rows done and their number.

    Raises:
        RepositoryError: the file can't be read or has an id twice, or another batch writes to the folder.
    """
    options = options or BatchOptions()
    begin = time.monotonic()
    shards = Shards(output)
    try:
        if options.retry_errors:
            shards.forget_errors()
        done = shards.done()
        all_jobs = list(read_jobs(jobs))
        waiting = [job for job in all_jobs if job.id not in done]
        count = BatchCount(rows=len(all_jobs), before=len(all_jobs) - len(waiting))
        _Batch(options, shards, count, on_progress or (lambda *_: None)).run(waiting)
        count.seconds = time.monotonic() - begin
        return count
    finally:
        shards.close()


@dataclass(eq=False)
class _Worker:
    process: BaseProcess
    pipe: Connection
    options: WorkerOptions
    job: Job | None = None


@dataclass(eq=False)
class _Batch:
    """A batch under way."""

    options: BatchOptions
    shards: Shards
    count: BatchCount
    on_progress: Callable[[str, int, int], None]
    answers: list[dict[str, Any]] = field(default_factory=list)
    tries: dict[str, int] = field(default_factory=dict)
    oldest: float = 0.0

    def run(self, jobs: Sequence[Job]) -> None:
        """Run jobs; what is answered when an exception ends it is written all the same."""
        left: Iterator[Job] = iter(jobs)
        workers: list[_Worker] = []
        try:
            for options in self._worker_options(min(self.options.workers, len(jobs))):
                workers.append(_start(options))
            for place in range(len(workers)):
                self._give(workers, place, left)
            while busy := [worker for worker in workers if worker.job is not None]:
                ready = set(wait([worker.pipe for worker in busy], timeout=1.0))
                for place, worker in enumerate(workers):
                    if worker.job is not None and worker.pipe in ready:
                        left = self._take(workers, place, left)
                        self._give(workers, place, left)
                self._flush()
        finally:
            self._flush(now=True)
            _end(workers)

    def _give(self, workers: list[_Worker], place: int, left: Iterator[Job]) -> None:
        """Hand the next job to a worker, if there is one and it can be done at all."""
        for job in left:
            if job.fields is None:
                self._add(job, {"error": "InvalidInputError", "message": job.problem})
                continue
            workers[place].job = job
            with contextlib.suppress(OSError):  # it died since its last answer; its pipe is ready at once
                workers[place].pipe.send(job.fields)
            return

    def _take(self, workers: list[_Worker], place: int, left: Iterator[Job]) -> Iterator[Job]:
        """Take a worker's answer, or replace a dead one; returns the jobs that are left."""
        worker = workers[place]
        job = worker.job
        assert job is not None
        worker.job = None
        try:
            self._add(job, worker.pipe.recv())
            return left
        except (EOFError, OSError):
            self.count.deaths += 1
        worker.process.join(_END_SECONDS)
        code = worker.process.exitcode
        _end([worker])
        workers[place] = _start(worker.options)
        self.tries[job.id] = self.tries.get(job.id, 0) + 1
        if self.tries[job.id] < _TRIES:
            return itertools.chain([job], left)
        message = f"{_TRIES} worker processes died of this row (exit code {code}); see that memory suffices"
        self._add(job, {"error": "WorkerDiedError", "message": message})
        return left

    def _add(self, job: Job, answer: dict[str, Any]) -> None:
        failed = "error" in answer
        self.count.failed += failed
        self.count.answered += not failed
        self.oldest = self.oldest if self.answers else time.monotonic()
        self.answers.append({"id": job.id, **answer})
        self.on_progress("rows", self.count.before + self.count.answered + self.count.failed, self.count.rows)

    def _flush(self, now: bool = False) -> None:
        late = time.monotonic() - self.oldest > self.options.shard_seconds
        if self.answers and (now or late or len(self.answers) >= self.options.shard_rows):
            self.shards.add(self.answers)
            self.answers = []

    def _worker_options(self, workers: int) -> Iterator[WorkerOptions]:
        own = self.options
        threads = max(1, usable_cpus() // max(workers, 1))
        servers = itertools.cycle(own.servers or (None,))
        for server in itertools.islice(servers, workers):
            yield WorkerOptions(server, own.model, threads, own.cache, own.max_tokens, own.timeout)


def _start(options: WorkerOptions) -> _Worker:
    context = multiprocessing.get_context("spawn")  # a fork would copy threads' locks and the others' pipes
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(theirs, options), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours, options)


def _end(workers: Sequence[_Worker]) -> None:
    for worker in workers:
        worker.pipe.close()
        if worker.job is not None:  # it would finish its job first
            worker.process.terminate()
    for worker in workers:
        worker.process.join(_END_SECONDS)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
