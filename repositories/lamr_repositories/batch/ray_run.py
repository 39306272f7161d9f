"""Runs jobs on a Ray cluster: Ray Data hands blocks of them to actors, and takes the answers back to this process.

Ray restarts actors and repeats what a lost machine had under way, holds back jobs while answers wait, and moves data.
Two things are ours. This process alone writes answers, so that none is there twice. And a ledger beside it counts how
often each row was begun and not ended: the row that two workers died of is answered with an error instead of being
begun again. A job's work is `worker`'s matter, on a cluster as elsewhere."""

import contextlib
import json
import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

from lamr_base.children import standing_elsewhere
from lamr_base.cpus import usable_cpus
from lamr_base.errors import MissingPackageError, how_to_install
from lamr_base.silence import keep_silent

from lamr_repositories.batch.arrivals import each_second
from lamr_repositories.batch.jobs import Job
from lamr_repositories.batch.options import BatchOptions
from lamr_repositories.batch.shards import Gathering
from lamr_repositories.batch.worker import MOST_DEATHS, RowWorker, WorkerOptions, died
from lamr_repositories.errors import ClusterError

_BLOCK_FILES = 16
"""Files that an actor gets at once: what it finishes of them is done again if it dies before the last."""
_BLOCKS_A_WORKER = 4
"""A short batch is cut into smaller blocks, so that all workers are busy to its end."""
_CONNECT_SECONDS = 10.0
_SILENT_SECONDS = 300.0
"""How long no machine of a cluster may have room for a worker, without an answer: new machines take minutes to come."""
_END_SECONDS = 30.0
"""How long Ray Data may take to end when a batch is broken off."""
_GO_ON = "the answers so far are written; run the same command to continue"


def run_on_ray(jobs: Iterator[Job], rows: int, gathering: Gathering, options: BatchOptions) -> None:
    """Run jobs, of which there are so many rows. Raises `MissingPackageError`: Ray isn't installed. Raises
    `ClusterError`: the cluster can't be used, or gave up."""
    if not rows:
        return
    ray = _ray()
    with _cluster(ray, options.ray or "local"):
        left: set[str] = set()
        try:
            blocks = [ray.put(block) for block in _blocks(jobs, rows, gathering, options, left)]
            if blocks:
                _run(ray, blocks, gathering, options, left)
        except (ray.exceptions.RayError, ConnectionError) as error:
            raise ClusterError(f"Ray gave up ({_first_line(error)}); {_GO_ON}", server=options.ray) from error
        if left:
            raise ClusterError(f"Ray ended without {len(left):,} of the rows; {_GO_ON}", server=options.ray)


class Ledger:
    """Counts how often rows were begun: an actor on this process's machine, which lives as long as the batch."""

    def __init__(self) -> None:
        self._begun: dict[str, int] = {}
        self._joined = self._deaths = 0

    def join(self) -> int:
        """Return how many workers came before this one."""
        self._joined += 1
        return self._joined - 1

    def begin(self, name: str) -> bool:
        """Return whether a row may be begun; it may not when too many workers died of it."""
        before = self._begun.get(name, 0)
        if before > MOST_DEATHS:
            return False
        self._begun[name] = before + 1
        self._deaths += bool(before)
        return before < MOST_DEATHS

    def end(self, name: str) -> None:
        """Forget a row that is answered."""
        self._begun.pop(name, None)

    def deaths(self) -> int:
        """Return how many workers died with a row begun."""
        return self._deaths


class RayWorker:
    """What an actor of Ray Data does with a block of jobs."""

    def __init__(self, ledger: Any, batch: BatchOptions, threads: int) -> None:
        import ray  # noqa: PLC0415

        self._get, self._ledger = ray.get, ledger
        number = ray.get(ledger.join.remote())
        self._worker = RowWorker(WorkerOptions(batch, min(threads, usable_cpus()), *batch.access(number)))

    def __call__(self, block: Any) -> dict[str, list[str]]:
        """Answer a block: a table with the columns `id` and `fields` gives `id` and `answer`, both JSON texts."""
        names = block.column("id").to_pylist()
        answers = [
            self._answer(name, json.loads(fields))
            for name, fields in zip(names, block.column("fields").to_pylist(), strict=True)
        ]
        return {"id": names, "answer": [json.dumps(answer) for answer in answers]}

    def _answer(self, name: str, fields: dict[str, Any]) -> dict[str, Any]:
        if not self._get(self._ledger.begin.remote(name)):
            return died(MOST_DEATHS)
        answer = self._worker.answer(fields)
        self._ledger.end.remote(name)
        return answer


def _run(ray: Any, jobs: list[Any], gathering: Gathering, options: BatchOptions, left: set[str]) -> None:
    """Have blocks of jobs answered; takes the answered rows from those that are left."""
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=False
    )
    ledger = ray.remote(Ledger).options(num_cpus=0, scheduling_strategy=here).remote()
    workers = min(options.workers, len(jobs))
    threads = max(1, int(ray.cluster_resources().get("CPU", 1)) // workers)
    # Ray Data restarts actors and repeats their blocks without end, unless it is told otherwise.
    answered = ray.data.from_arrow_refs(jobs).map_batches(
        RayWorker,
        fn_constructor_args=(ledger, options, threads),
        compute=ray.data.ActorPoolStrategy(size=workers),
        batch_size=None,
        batch_format="pyarrow",
        num_cpus=options.ray_cpus,
    )
    _gather(ray, answered, gathering, options, left)
    gathering.count.deaths = ray.get(ledger.deaths.remote())


def _gather(ray: Any, answered: Any, gathering: Gathering, options: BatchOptions, left: set[str]) -> None:
    """Take blocks of answers as they come, until there are no more."""
    last = time.monotonic()
    with (
        each_second(
            answered.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)
        ) as arriving,
        _ended_with(answered),
    ):
        for block in arriving:
            if block is not None:
                _take(block, gathering, left)
            # A machine has room if it could take a worker with nothing else running there.
            if block is not None or any(
                node["Alive"] and node["Resources"].get("CPU", 0) >= options.ray_cpus for node in ray.nodes()
            ):
                last = time.monotonic()
            elif time.monotonic() - last > _SILENT_SECONDS:
                raise ClusterError(
                    f"for {_SILENT_SECONDS:g} s the cluster has had no machine with {options.ray_cpus:g} CPUs for Ray; "
                    + _GO_ON,
                    server=options.ray,
                )
            gathering.flush()


@contextlib.contextmanager
def _ended_with(answered: Any) -> Iterator[None]:
    """End what runs a dataset at the end of the block.

    Ray Data goes on by itself when its taker stops. If it still asks Ray for something after the process has left the
    cluster, Ray ends the process without an exception, and the reason why the batch was broken off is never told. The
    dataset names what runs it only after the first block has come, so its thread is found by name."""
    try:
        yield
    finally:
        for thread in threading.enumerate():
            if thread.name == f"StreamingExecutor-{answered.get_dataset_id()}":
                thread.shutdown(force=True)  # type: ignore[attr-defined]
                thread.join(_END_SECONDS)


def _take(block: Any, gathering: Gathering, left: set[str]) -> None:
    """Take the answers of a block; a row's second answer, if Ray should ever give one, doesn't count."""
    for name, answer in zip(block.column("id").to_pylist(), block.column("answer").to_pylist(), strict=True):
        if name in left:
            left.remove(name)
            gathering.add(name, json.loads(answer))


def _blocks(
    jobs: Iterator[Job], rows: int, gathering: Gathering, options: BatchOptions, left: set[str]
) -> Iterator[Any]:
    """Yield tables of jobs and note their names; rows that are no jobs are answered here."""
    import pyarrow  # noqa: PLC0415

    most = max(1, min(_BLOCK_FILES, rows // (options.workers * _BLOCKS_A_WORKER)))
    waiting: list[dict[str, str]] = []
    for job in jobs:
        if job.fields is None:
            gathering.refuse(job)
            continue
        left.add(job.id)
        waiting.append({"id": job.id, "fields": json.dumps(job.fields)})
        if len(waiting) >= most or "repo" in job.fields:  # one repository is work enough
            yield pyarrow.Table.from_pylist(waiting)
            waiting = []
    if waiting:
        yield pyarrow.Table.from_pylist(waiting)


@contextlib.contextmanager
def _cluster(ray: Any, address: str) -> Iterator[None]:
    """Join a cluster, or start one of this machine's own; one that the process has joined already is used as it is."""
    if address.startswith("ray://"):
        raise ClusterError(
            f"{address} is the address of Ray Client, which Ray Data can't be run through; run the command on a "
            "machine of the cluster with --ray auto",
            server=address,
        )
    joined = bool(ray.is_initialized())
    if not joined:
        _see_that_it_answers(address)
        # Its log goes to standard error, and calls Ray Data's own use wrong.
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
        own = {"include_dashboard": False} if address == "local" else {}
        try:
            with standing_elsewhere():  # Ray has its workers import from the current folder
                ray.init(address=address, log_to_driver=False, logging_level="error", **own)
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            raise _no_cluster(address, error) from error
    context = ray.data.DataContext.get_current()
    bars, context.enable_progress_bars = context.enable_progress_bars, False
    for handler in logging.getLogger("ray.data").handlers:
        if not isinstance(handler, logging.FileHandler):  # which gets it all
            handler.setLevel(logging.ERROR)
    try:
        yield
    finally:
        context.enable_progress_bars = bars
        if not joined:
            ray.shutdown()


def _see_that_it_answers(address: str) -> None:
    """Raise ClusterError if nothing answers at HOST:PORT: Ray itself ends the process then, without an exception."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal():
        try:
            socket.create_connection((host, int(port)), timeout=_CONNECT_SECONDS).close()
        except (OSError, OverflowError) as error:
            raise _no_cluster(address, error) from error


def _no_cluster(address: str, error: BaseException) -> ClusterError:
    return ClusterError(
        f"there is no Ray cluster at {address} ({_first_line(error)}); start one with ray start --head, or use "
        "--ray local",
        server=address,
    )


def _ray() -> Any:
    keep_silent()
    # Else whatever of Ray Data still runs when a batch is broken off would start a cluster of its own.
    os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")
    try:
        import ray  # noqa: PLC0415
        import ray.data  # noqa: PLC0415
        import ray.util.scheduling_strategies  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            f"--ray needs {error.name}, which isn't installed: {how_to_install('ray')}", package=error.name
        ) from error
    return ray


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
