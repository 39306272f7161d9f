"""Batches on a Ray cluster of two nodes, of which the tests end one."""

import os
import threading
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import psutil
import pytest
import ray
from lamr_repositories.batch import ray_run, run_batch
from lamr_repositories.batch.ray_run import Ledger
from lamr_repositories.errors import ClusterError

from tests.processes import runs
from tests.repositories.batch.ray_process import Nodes, Scenario, run_apart
from tests.repositories.batch.rows import answers, code_rows, wait_until, write_jobs
from tests.repositories.conftest import POOL, QUERY

pytestmark = pytest.mark.timeout(900)  # a node that starts on a busy machine takes a minute


def one_after_another(nodes: Nodes, folder: Path) -> None:
    """What leaves the cluster as it found it, on one cluster: each takes seconds of processors to start."""
    for scenario in (
        the_same_rows_get_the_same_answers_as_from_processes,
        a_row_that_kills_two_workers_is_an_error_there_too,
        a_cluster_without_room_is_an_error_and_no_wait_for_ever,
    ):
        own = folder / scenario.__name__
        own.mkdir()
        scenario(nodes, own)


def the_same_rows_get_the_same_answers_as_from_processes(nodes: Nodes, folder: Path) -> None:
    os.chdir(folder)
    (folder / "pool.py").write_text(POOL)
    (folder / "project").mkdir()
    (folder / "project" / "pool.py").write_text(POOL)
    rows = [
        *code_rows(3),
        {"query": QUERY},
        {"id": "relative", "query": QUERY, "path": "pool.py", "max_tokens": 130},
        {"id": "repo", "query": QUERY, "repo": "project", "max_tokens": 400},
        {"id": "gone", "query": QUERY, "path": "gone.py"},
    ]
    jobs = write_jobs(folder / "jobs.jsonl", rows)
    here = run_batch(jobs, "here")
    there = run_batch(jobs, "there", nodes.options())
    assert (there.answered, there.failed) == (here.answered, here.failed) == (5, 2)
    by_id = [{str(row["id"]): row for row in answers(folder / place)} for place in ("here", "there")]
    assert by_id[0] == by_id[1]
    assert len(answers(folder / "there")) == len(rows)
    assert run_batch(jobs, "there", nodes.options()).before == len(rows)


def a_row_that_kills_two_workers_is_an_error_there_too(nodes: Nodes, folder: Path) -> None:
    jobs = write_jobs(folder / "jobs.jsonl", [*code_rows(4), nodes.poisoned])
    count = run_batch(jobs, folder / "out", nodes.options())
    assert (count.answered, count.failed, count.deaths) == (4, 1, 2)
    errors = {row["id"]: row["error"] for row in answers(folder / "out") if "error" in row}
    assert errors == {"poison": "WorkerDiedError"}
    assert len(answers(folder / "out")) == 5


def a_cluster_without_room_is_an_error_and_no_wait_for_ever(nodes: Nodes, folder: Path) -> None:
    jobs = write_jobs(folder / "jobs.jsonl", code_rows(1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ray_run, "_SILENT_SECONDS", 2.0)
        with pytest.raises(ClusterError, match="no machine with 64 CPUs"):
            run_batch(jobs, folder / "out", nodes.options(ray_cpus=64.0))
    # If one of these asks Ray for something after the cluster is left, Ray ends the process, and nothing is told.
    left = [thread.name for thread in threading.enumerate()]
    assert not [name for name in left if name.startswith(("StreamingExecutor", "lamr-arrivals"))]


def rows_outlive_a_node_that_nothing_replaces(nodes: Nodes, folder: Path) -> None:
    rows = code_rows(120)
    jobs = write_jobs(folder / "jobs.jsonl", rows)
    ended: list[psutil.Process] = []
    filler = nodes.fill_first()  # so that all workers begin on the second node

    def end_second() -> None:
        nodes.end_second()
        ray.kill(filler)

    def on_progress(what: str, done: int, of: int) -> None:
        if not ended:  # the batch waits meanwhile, since nobody takes its answers
            ended.extend(nodes.actors_of_second())
            threading.Thread(target=end_second).start()

    count = run_batch(jobs, folder / "out", nodes.options(ray_cpus=0.3), on_progress)
    assert ended
    wait_until(lambda: not any(runs(process.pid) for process in ended))
    wait_until(lambda: sum(node["Alive"] for node in ray.nodes()) == 1)
    assert sorted(str(row["id"]) for row in answers(folder / "out")) == sorted(str(row["id"]) for row in rows)
    errors = [row["error"] for row in answers(folder / "out") if "error" in row]
    assert (count.answered, count.failed) == (len(rows) - len(errors), len(errors))
    assert set(errors) <= {"WorkerDiedError"}


@pytest.mark.parametrize(
    "scenario",
    [one_after_another, rows_outlive_a_node_that_nothing_replaces],
    ids=lambda scenario: scenario.__name__,
)
def test_on_two_nodes(scenario: Scenario, tmp_path: Path) -> None:
    run_apart(scenario, tmp_path)


def without_a_cluster(folder: Path) -> AbstractContextManager[None]:
    return nullcontext()


def the_first_run_is_ended(nodes: None, folder: Path) -> None:
    if folder.name == "run-1":
        os._exit(1)  # as Ray does when its node has died


def a_row_is_lost(nodes: None, folder: Path) -> None:
    raise AssertionError("a row is lost")


def test_a_process_that_ray_ends_is_run_again_and_a_failure_is_told(tmp_path: Path) -> None:
    for scenario in (the_first_run_is_ended, a_row_is_lost):
        (tmp_path / scenario.__name__).mkdir()
    assert run_apart(the_first_run_is_ended, tmp_path / "the_first_run_is_ended", without_a_cluster) == 2
    with pytest.raises(AssertionError, match="a row is lost"):
        run_apart(a_row_is_lost, tmp_path / "a_row_is_lost", without_a_cluster)


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
