"""Runs scenarios of a Ray cluster in processes of their own.

Ray ends a process, without an exception, when the node that it is on doesn't live: on a machine that stands still for a
while this happens to the test's process too. So a scenario gets a process and a cluster of its own, and is run again
where Ray ended it, since it says nothing about the batch then."""

import multiprocessing
import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil
import ray
from lamr_repositories.batch import BatchOptions
from ray.cluster_utils import Cluster
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from tests.processes import below, commanded
from tests.repositories.batch.rows import poison

RUNS = 3
_END_SECONDS = 60.0
STORE = {"object_store_memory": 80 * 2**20}
HEALTH = {
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 20_000,
    "health_check_failure_threshold": 10,
}
"""A node whose process is gone refuses at once, so it counts as dead after five seconds. One that a busy machine keeps
waiting must not."""


class Filler:
    """Takes a node's CPUs for as long as it lives."""

    def is_there(self) -> bool:
        return True


@dataclass
class Nodes:
    """A cluster of two nodes that this process has joined.

    Attributes:
        poisoned: a row that kills whoever does it."""

    cluster: Cluster
    second: Any
    poisoned: dict[str, object]

    def actors_of_second(self) -> list[psutil.Process]:
        """The processes of workers that the second node has started."""
        (raylet,) = self.second.all_processes["raylet"]
        return commanded(below(raylet.process.pid), "ray::MapWorker")

    def fill_first(self) -> Any:
        """Take all CPUs of the first node; returns the actor that has them."""
        first = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        filler = ray.remote(Filler).options(num_cpus=1, scheduling_strategy=first).remote()
        assert ray.get(filler.is_there.remote())
        return filler

    def end_second(self) -> None:
        """End the second node as a power failure would."""
        self.cluster.remove_node(self.second, allow_graceful=False)

    def options(self, workers: int = 2, **more: Any) -> BatchOptions:
        return BatchOptions(ray=self.cluster.address, workers=workers, **more)


Scenario = Callable[[Nodes, Path], None]
Clusters = Callable[[Path], AbstractContextManager[Nodes]]


@contextmanager
def two_nodes(folder: Path) -> Iterator[Nodes]:
    """Start a cluster and join it. The environment is changed for good: the process serves one cluster."""
    programs, poisoned = poison(folder)
    os.environ["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    head = {"num_cpus": 1, "include_dashboard": False, "_system_config": HEALTH, **STORE}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        second = cluster.add_node(num_cpus=1, **STORE)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
        yield Nodes(cluster, second, poisoned)
    finally:
        ray.shutdown()
        cluster.shutdown()


def run_apart(scenario: Scenario, folder: Path, cluster: Clusters = two_nodes) -> int:
    """Run a scenario, a function that can be imported, with a cluster and an empty folder; returns the runs it took.

    Args:
        cluster: starts it, in the scenario's process.

    Raises:
        AssertionError: the scenario failed, or Ray ended every run."""
    for run in range(1, RUNS + 1):
        own = folder / f"run-{run}"
        own.mkdir()
        with suppress(EOFError):
            failure = _in_a_process(scenario, own, cluster)
            assert not failure, failure
            return run
    raise AssertionError(f"Ray ended each of {RUNS} processes before the scenario was over")


def _in_a_process(scenario: Scenario, folder: Path, cluster: Clusters) -> str:
    """Return the traceback of what the scenario raised, or nothing. EOFError: the process ended before it said."""
    spawning = multiprocessing.get_context("spawn")  # a fork would share what pytest has open
    reading, writing = spawning.Pipe(duplex=False)
    process = spawning.Process(target=_run, args=(scenario, folder, cluster, writing))
    process.start()
    writing.close()
    try:
        outcome = str(reading.recv())
        process.join(_END_SECONDS)  # it ends its cluster
        return outcome
    finally:
        process.kill()
        process.join()


def _run(scenario: Scenario, folder: Path, cluster: Clusters, failures: Connection) -> None:
    try:
        with cluster(folder) as nodes:
            scenario(nodes, folder)
            failures.send("")  # at once: what Ray does when its cluster is left says nothing about the batch
    except Exception:
        failures.send(traceback.format_exc())
