"""Runs a file of jobs: exactly one answer or one named error a row, whatever dies.

What was written before this process died is not done again. This module finds out what is left to do, and does it
with worker processes of this machine unless `ray_run` does. A worker that dies is replaced and its job tried once more;
a job that kills two workers gets an error that says so."""

import contextlib
import itertools
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import field
from multiprocessing.connection import Connection, Pipe, wait

from lamr_base import children
from lamr_base.cpus import usable_cpus
from lamr_base.records import dataclass

from lamr_repositories.batch.jobs import Job, read_jobs
from lamr_repositories.batch.options import BatchOptions
from lamr_repositories.batch.ray_run import run_on_ray
from lamr_repositories.batch.shards import BatchCount, Gathering, Shards
from lamr_repositories.batch.worker import MOST_DEATHS, WorkerOptions, died, work_in_a_process
from lamr_repositories.options import OnProgress

_END_SECONDS = 5.0


def run_locally(jobs: Iterator[Job], rows: int, gathering: Gathering, options: BatchOptions) -> None:
    """Run jobs, of which there are so many rows."""
    workers = min(options.workers, rows)
    threads = max(1, usable_cpus() // max(workers, 1))
    access = map(options.access, range(workers))
    _Run(gathering).run(jobs, [WorkerOptions(options, threads, *each) for each in access])


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    pipe: Connection
    options: WorkerOptions
    job: Job | None = None


@dataclass(eq=False)
class _Run:
    """A batch under way."""

    gathering: Gathering
    tries: dict[str, int] = field(default_factory=dict)

    def run(self, left: Iterator[Job], each: Sequence[WorkerOptions]) -> None:
        workers: list[_Worker] = []
        try:
            for options in each:
                workers.append(_start(options))
            for place in range(len(workers)):
                self._give(workers, place, left)
            while busy := [worker for worker in workers if worker.job is not None]:
                ready = set(wait([worker.pipe for worker in busy], timeout=1.0))
                for place, worker in enumerate(workers):
                    if worker.job is not None and worker.pipe in ready:
                        left = self._take(workers, place, left)
                        self._give(workers, place, left)
                self.gathering.flush()
        finally:
            _end(workers)

    def _give(self, workers: list[_Worker], place: int, left: Iterator[Job]) -> None:
        """Hand the next job to a worker, if there is one and it can be done at all."""
        for job in left:
            if job.fields is None:
                self.gathering.refuse(job)
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
            self.gathering.add(job.id, worker.pipe.recv())
            return left
        except (EOFError, OSError):
            self.gathering.count.deaths += 1
        _end([worker])
        code = worker.process.returncode
        workers[place] = _start(worker.options)
        self.tries[job.id] = self.tries.get(job.id, 0) + 1
        if self.tries[job.id] < MOST_DEATHS:
            return itertools.chain([job], left)
        self.gathering.add(job.id, died(MOST_DEATHS, f" (exit code {code})"))
        return left


def _start(options: WorkerOptions) -> _Worker:
    ours, theirs = Pipe()
    with theirs:
        # What it imports never lies in the current folder; multiprocessing's own start would look there.
        process = subprocess.Popen(
            children.python(work_in_a_process.__module__, work_in_a_process.__name__, str(theirs.fileno())),
            cwd=children.standing_place(),
            env=children.environment(),
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
    with contextlib.suppress(OSError):  # it died; its pipe is ready at once
        ours.send(options)
    return _Worker(process, ours, options)


def _end(workers: Sequence[_Worker]) -> None:
    for worker in workers:
        worker.pipe.close()
        if worker.job is not None:  # it would finish its job first
            worker.process.terminate()
    for worker in workers:
        try:
            worker.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            worker.process.kill()
            worker.process.wait()


def run_batch(
    jobs: str | os.PathLike[str],
    output: str | os.PathLike[str],
    options: BatchOptions | None = None,
    on_progress: OnProgress | None = None,
) -> BatchCount:
    """Run the jobs of a file that have no answer yet.

    Args:
        jobs: JSONL or Parquet, a path or a URL; see the guide for its fields.
        output: the folder or URL of the answers, which is made.
        options: see `BatchOptions`.
        on_progress: called with what is being done, the rows done and their number.

    Raises:
        RepositoryError: the file can't be read or has an id twice, or another batch writes to the folder.
        MissingPackageError: what Parquet, a URL or Ray needs isn't installed.
        ClusterError: the cluster can't be used, or gave up."""
    options = options or BatchOptions()
    begin = time.monotonic()
    shards = Shards(output, options.format)
    try:
        if options.retry_errors:
            shards.forget_errors()
        done = shards.done()
        # The jobs themselves are read again, one by one, as they are run.
        ids = [job.id for job in read_jobs(jobs)]
        count = BatchCount(
            rows=len(ids),
            before=sum(name in done for name in ids),
            failed_before=sum(done.get(name, False) for name in ids),
        )
        on_progress = on_progress or (lambda *_: None)
        gathering = Gathering(shards, count, on_progress, options.shard_rows, options.shard_seconds)
        left = (job for job in read_jobs(jobs) if job.id not in done)
        run = run_locally if options.ray is None else run_on_ray
        try:
            run(left, count.rows - count.before, gathering, options)
        finally:
            gathering.flush(now=True)
        count.seconds = time.monotonic() - begin
        return count
    finally:
        shards.close()
