"""Runs jobs with several worker processes of this machine.

A worker that dies is replaced and its job tried once more; a job that kills two workers gets an error that says so.
"""

from __future__ import annotations

import contextlib
import itertools
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait

from lamr_contract import children
from lamr_contract.cpus import usable_cpus

from lamr_repositories.batch.jobs import Job
from lamr_repositories.batch.options import BatchOptions
from lamr_repositories.batch.shards import Gathering
from lamr_repositories.batch.worker import MOST_DEATHS, WorkerOptions, died, work_in_a_process

_END_SECONDS = 5.0


def run_locally(jobs: Iterator[Job], rows: int, gathering: Gathering, options: BatchOptions) -> None:
    """Run jobs, of which there are so many rows."""
    _Run(gathering).run(jobs, _worker_options(options, min(options.workers, rows)))


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


def _worker_options(own: BatchOptions, workers: int) -> list[WorkerOptions]:
    threads = max(1, usable_cpus() // max(workers, 1))
    return [WorkerOptions(own, threads, *access) for access in map(own.access, range(workers))]


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
