"""Batches on a Ray cluster of two nodes, of which the tests end one."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
import ray
from lamr_repositories.batch import BatchOptions, ray_run, run_batch
from lamr_repositories.batch.ray_run import Ledger
from lamr_repositories.errors import ClusterError
from ray.cluster_utils import Cluster
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from tests.processes import below, commanded, runs
from tests.repositories.batch.rows import answers, code_rows, poison, wait_until, write_jobs
from tests.repositories.conftest import POOL, QUERY

pytestmark = [
    pytest.mark.timeout(600),  # a node that starts on a busy machine takes a minute
    # Ray ends the threads of a batch that was broken off by SystemExit.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]
STORE = {"object_store_memory": 80 * 2**20}
HEALTH = {
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 20_000,
    "health_check_failure_threshold": 10,
}
"""A node whose process is gone refuses at once, so it counts as dead after five seconds. One that a busy machine keeps
waiting must not: Ray ends this process with the node that it is on."""


class Filler:
    """Takes a node's CPUs for as long as it lives."""

    def is_there(self) -> bool:
        return True


@dataclass
class Nodes:
    """A cluster that this process has joined.

    Attributes:
        poisoned: a row that kills whoever does it.
    """

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


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    programs, poisoned = poison(tmp_path_factory.mktemp("poison"))
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
        environment.setenv("RAY_USAGE_STATS_ENABLED", "0")
        head = {"num_cpus": 1, "include_dashboard": False, "_system_config": HEALTH, **STORE}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        try:
            second = cluster.add_node(num_cpus=1, **STORE)
            ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
            yield Nodes(cluster, second, poisoned)
        finally:
            ray.shutdown()
            cluster.shutdown()


def test_the_same_rows_get_the_same_answers_as_from_processes(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pool.py").write_text(POOL)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "pool.py").write_text(POOL)
    rows = [
        *code_rows(3),
        {"query": QUERY},
        {"id": "relative", "query": QUERY, "path": "pool.py", "max_tokens": 130},
        {"id": "repo", "query": QUERY, "repo": "project", "max_tokens": 400, "ranker": "bm25"},
        {"id": "gone", "query": QUERY, "path": "gone.py"},
    ]
    jobs = write_jobs(tmp_path / "jobs.jsonl", rows)
    here = run_batch(jobs, "here")
    there = run_batch(jobs, "there", nodes.options())
    assert (there.answered, there.failed) == (here.answered, here.failed) == (5, 2)
    by_id = [{str(row["id"]): row for row in answers(tmp_path / place)} for place in ("here", "there")]
    assert by_id[0] == by_id[1]
    assert len(answers(tmp_path / "there")) == len(rows)
    assert run_batch(jobs, "there", nodes.options()).before == len(rows)


def test_a_row_that_kills_two_workers_is_an_error_there_too(nodes: Nodes, tmp_path: Path) -> None:
    jobs = write_jobs(tmp_path / "jobs.jsonl", [*code_rows(4), nodes.poisoned])
    count = run_batch(jobs, tmp_path / "out", nodes.options())
    assert (count.answered, count.failed, count.deaths) == (4, 1, 2)
    errors = {row["id"]: row["error"] for row in answers(tmp_path / "out") if "error" in row}
    assert errors == {"poison": "WorkerDiedError"}
    assert len(answers(tmp_path / "out")) == 5


def test_a_cluster_without_room_is_an_error_and_no_wait_for_ever(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_run, "_SILENT_SECONDS", 2.0)
    jobs = write_jobs(tmp_path / "jobs.jsonl", code_rows(1))
    with pytest.raises(ClusterError, match="no machine with 64 CPUs"):
        run_batch(jobs, tmp_path / "out", nodes.options(ray_cpus=64.0))


def test_rows_outlive_a_node_that_nothing_replaces(nodes: Nodes, tmp_path: Path) -> None:
    rows = code_rows(120)
    jobs = write_jobs(tmp_path / "jobs.jsonl", rows)
    ended: list[psutil.Process] = []
    filler = nodes.fill_first()  # so that all workers begin on the second node

    def end_second() -> None:
        nodes.end_second()
        ray.kill(filler)

    def on_progress(what: str, done: int, of: int) -> None:
        if not ended:  # the batch waits meanwhile, since nobody takes its answers
            ended.extend(nodes.actors_of_second())
            threading.Thread(target=end_second).start()

    count = run_batch(jobs, tmp_path / "out", nodes.options(ray_cpus=0.3), on_progress)
    assert ended
    wait_until(lambda: not any(runs(process.pid) for process in ended))
    wait_until(lambda: sum(node["Alive"] for node in ray.nodes()) == 1)
    assert sorted(str(row["id"]) for row in answers(tmp_path / "out")) == sorted(
        str(row["id"]) for row in rows
    )
    errors = [row["error"] for row in answers(tmp_path / "out") if "error" in row]
    assert (count.answered, count.failed) == (len(rows) - len(errors), len(errors))
    assert set(errors) <= {"WorkerDiedError"}


def test_the_ledger_refuses_the_row_that_two_workers_died_of() -> None:
    ledger = Ledger()
    assert [ledger.join(), ledger.join()] == [0, 1]
    assert ledger.begin("a")
    ledger.end("a")
    assert [ledger.begin("a"), ledger.begin("a"), ledger.begin("a"), ledger.begin("a")] == [
        True,
        True,
        False,
        False,
    ]
    assert ledger.deaths() == 2
