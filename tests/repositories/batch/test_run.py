"""Batches: one answer or one named error a row, whatever dies."""

import json
import os
import random
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from lamr_cli.exits import INCOMPLETE
from lamr_repositories import RepositoryError
from lamr_repositories.batch import BatchOptions, run_batch
from lamr_repositories.batch.jobs import read_jobs
from lamr_repositories.batch.shards import Shards

from tests.processes import all_end, below, commanded
from tests.repositories.batch.rows import answers, code_rows, command, poison, wait_until, write_jobs
from tests.repositories.conftest import POOL, QUERY


def test_rows_are_checked_one_by_one(tmp_path: Path) -> None:
    file = tmp_path / "jobs.jsonl"
    rows = [
        "{",
        "[]",
        '{"query": "q"}',
        '{"query": "q", "path": "a", "repo": "b"}',
        '{"query": "q", "code": "a", "revision": "b"}',
    ]
    rows += [
        '{"query": "q", "code": 1}',
        '{"query": "q", "code": "a", "max_tokens": 0}',
        '{"query": "q", "code": "a", "x": 1}',
        '{"query": "q", "code": "a", "effort": "lazy"}',
        '{"query": "q", "code": "a", "within": 0}',
        '{"query": "q", "code": "a", "within": true}',
        '{"query": "q", "repo": "a", "effort": "instant"}',
        '{"query": "q", "repo": "a", "within": 2}',
    ]
    good = [
        '{"id": 7, "query": "q", "code": "a", "path": "a.py"}',
        '{"query": "q", "repo": "b", "revision": "c"}',
    ]
    file.write_text("\n".join([*rows, "", *good]) + "\n")
    jobs = list(read_jobs(file))
    assert [job.fields is None for job in jobs] == [True] * len(rows) + [False] * len(good)
    assert all(f"line {number}" in job.problem for number, job in enumerate(jobs[: len(rows)], 1))
    assert [job.id for job in jobs[-2:]] == ["7", f"line-{len(rows) + 3}"]
    file.write_text('{"id": "a", "query": "q", "code": "a"}\n' * 2)
    with pytest.raises(RepositoryError, match="the id 'a' is that of line 1 already"):
        list(read_jobs(file))


def test_shards_are_whole_and_one_process_writes_them(tmp_path: Path) -> None:
    shards = Shards(tmp_path / "out")
    (tmp_path / "out" / "answers-000009.part").write_text('{"id": "half')
    with pytest.raises(RepositoryError, match="another batch"):
        Shards(tmp_path / "out")
    shards.add([{"id": "a", "text": "\u2028"}, {"id": "b", "error": "X"}])
    shards.add([{"id": "c", "error": "X"}])
    shards.close()
    again = Shards(tmp_path / "out")
    assert not list((tmp_path / "out").glob("*.part"))
    assert again.done() == {"a": False, "b": True, "c": True}
    assert again.forget_errors() == 2
    assert again.done() == {"a": False}
    again.close()


def test_every_kind_of_job_is_answered_and_errors_are_named(folder: Path, tmp_path: Path) -> None:
    rows = [
        {"id": "quick", "query": QUERY, "code": POOL, "path": "pool.py", "effort": "instant", "within": 60},
        {"id": "code", "query": QUERY, "code": POOL, "path": "pool.py", "max_tokens": 150},
        {"id": "path", "query": QUERY, "path": str(folder / "src" / "pool.py"), "max_tokens": 150, "task": ""},
        {"id": "repo", "query": QUERY, "repo": str(folder), "max_tokens": 500, "format": "plain"},
        {"id": "gone", "query": QUERY, "path": str(tmp_path / "gone.py")},
        {"id": "small", "query": QUERY, "code": POOL, "path": "pool.py", "max_tokens": 1, "revision": None},
        {"id": "wrong", "query": QUERY},
    ]  # fmt: skip
    jobs = write_jobs(tmp_path / "jobs.jsonl", rows)
    count = run_batch(jobs, tmp_path / "out", BatchOptions(cache=tmp_path / "cache.sqlite"))
    found = {row["id"]: row for row in answers(tmp_path / "out")}
    assert (count.answered, count.failed) == (4, 3)
    assert found["quick"]["effort"] == "line model"
    assert found["code"]["effort"] == found["path"]["effort"] != "line model"
    assert found["code"]["text"] == found["path"]["text"]
    assert found["repo"]["tokens"] <= 500  # type: ignore[operator]
    assert {name: found[name]["error"] for name in ("gone", "small", "wrong")} == {
        "gone": "FileNotFoundError",
        "small": "BudgetError",
        "wrong": "InvalidInputError",
    }
    (tmp_path / "gone.py").write_text(POOL)
    before = run_batch(jobs, tmp_path / "out")
    assert (before.before, before.failed, before.failed_before) == (len(rows), 0, 3)
    again = run_batch(jobs, tmp_path / "out", BatchOptions(retry_errors=True))
    assert (again.before, again.answered, again.failed) == (4, 1, 2)
    assert len(answers(tmp_path / "out")) == len(rows)


def test_killed_batches_go_on_without_doing_a_row_twice(tmp_path: Path) -> None:
    rows = code_rows(40)
    jobs = write_jobs(tmp_path / "jobs.jsonl", rows)
    out = tmp_path / "out"
    rng = random.Random(0)
    for _ in range(4):
        process = subprocess.Popen(command(jobs, out), start_new_session=True, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(1.0, 4.0))
        children = below(process.pid)
        process.kill()
        process.wait()
        assert all_end(children)  # by themselves, since their pipe is closed
    subprocess.run(command(jobs, out), check=True, stderr=subprocess.DEVNULL)
    assert sorted(str(row["id"]) for row in answers(out)) == sorted(str(row["id"]) for row in rows)
    assert not [row for row in answers(out) if "error" in row]


def workers_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    return commanded(below(process.pid), "work_in_a_process")


def test_a_killed_worker_is_replaced(tmp_path: Path) -> None:
    jobs = write_jobs(tmp_path / "jobs.jsonl", code_rows(40))
    out = tmp_path / "out"
    process = subprocess.Popen(command(jobs, out, "--json"), stdout=subprocess.PIPE)
    wait_until(lambda: bool(workers_of(process)))
    for worker in workers_of(process):
        with suppress(psutil.NoSuchProcess):
            worker.kill()
    printed, _ = process.communicate(timeout=120)
    count = json.loads(printed)
    assert process.returncode == 0
    assert (count["answered"], count["failed"]) == (40, 0)
    assert count["deaths"] >= 1
    assert len({row["id"] for row in answers(out)}) == len(answers(out)) == 40


def test_a_row_that_kills_two_workers_is_an_error(tmp_path: Path) -> None:
    programs, poisoned = poison(tmp_path)
    jobs = write_jobs(tmp_path / "jobs.jsonl", [poisoned, *code_rows(2)])
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.Popen(
        command(jobs, tmp_path / "out", "--json"), env=environment, stdout=subprocess.PIPE
    )
    count = json.loads(done.communicate(timeout=200)[0])
    assert done.returncode == INCOMPLETE
    assert (count["answered"], count["failed"], count["deaths"]) == (2, 1, 2)
    assert {row["id"]: row.get("error") for row in answers(tmp_path / "out")} == {
        "poison": "WorkerDiedError",
        "row-0": None,
        "row-1": None,
    }


def test_a_pipe_is_no_code(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    jobs = write_jobs(tmp_path / "jobs.jsonl", [{"query": QUERY, "path": str(tmp_path / "pipe.py")}])
    run_batch(jobs, tmp_path / "out")
    assert "not a regular file" in str(answers(tmp_path / "out")[0]["message"])


def test_a_server_that_is_not_there_is_a_named_error(tmp_path: Path, free_port: int) -> None:
    jobs = write_jobs(tmp_path / "jobs.jsonl", code_rows(2))
    options = BatchOptions(servers=(f"127.0.0.1:{free_port}",), timeout=5)
    assert run_batch(jobs, tmp_path / "out", options).failed == 2
    assert {row["error"] for row in answers(tmp_path / "out")} <= {
        "ServerUnavailableError",
        "DeadlineExceededError",
    }
    assert run_batch(jobs, tmp_path / "out", BatchOptions(retry_errors=True)).answered == 2
