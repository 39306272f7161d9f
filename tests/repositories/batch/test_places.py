"""Formats of jobs and answers, and the places that they are read from and written to."""

import json
import sys
from pathlib import Path
from typing import Any

import fsspec
import pyarrow
import pytest
from lamr_client import InvalidInputError, MissingPackageError
from lamr_repositories import RepositoryError
from lamr_repositories.batch import BatchOptions, run_batch
from lamr_repositories.batch.formats import FORMATS
from lamr_repositories.batch.jobs import read_jobs
from lamr_repositories.batch.shards import Shards
from lamr_repositories.batch.storage import local_path
from pyarrow import parquet

from tests.repositories.batch.rows import answers, code_rows, write_jobs
from tests.repositories.conftest import POOL, QUERY

ANSWERS: list[dict[str, Any]] = [
    {"id": "a", "text": "\u2028é\n", "tokens": 3, "kept_lines": [1, 3], "relevance": 0.25},
    {"id": "b", "text": "", "tokens": 0, "files": ["x.py"], "notes": []},
    {"id": "c", "error": "BudgetError", "message": "too small"},
]


@pytest.fixture
def memory(tmp_path: Path) -> str:
    """The URL of an empty place in fsspec's memory, which lasts as long as the process."""
    return f"memory://{tmp_path.name}"


def listing(url: str) -> list[str]:
    """The names below a URL."""
    system, root = fsspec.core.url_to_fs(url)
    return sorted(str(path).rpartition("/")[2] for path in system.ls(root, detail=False))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("remote", [False, True])
def test_answers_are_read_as_they_were_written(form: str, remote: bool, memory: str, tmp_path: Path) -> None:
    place = memory if remote else str(tmp_path / "out")
    shards = Shards(place, form)
    shards.add(ANSWERS[:2])
    shards.add(ANSWERS[2:])
    shards.close()
    again = Shards(place, form)
    assert list(again.rows()) == ANSWERS
    assert again.done() == {"a": False, "b": False, "c": True}
    assert again.forget_errors() == 1
    again.add([ANSWERS[2]])
    again.close()
    assert list(Shards(place, form).rows()) == ANSWERS


def test_shards_of_parquet_are_one_table_whatever_their_rows_say(tmp_path: Path) -> None:
    shards = Shards(tmp_path, "parquet")
    for answer in ANSWERS:
        shards.add([answer])
    shards.close()
    assert parquet.read_table(tmp_path).num_rows == len(ANSWERS)


def test_parquet_rows_are_the_rows_of_jsonl(tmp_path: Path) -> None:
    rows = [
        {"id": 7, "query": "q", "code": "a"},
        {"query": "q", "repo": "b", "max_tokens": 400},
        {"query": "q"},
        {"query": "q", "path": "s3://bucket/a.py", "max_tokens": 1.5},
    ]
    columns = {name: [row.get(name) for row in rows] for name in ("id", "query", "code", "repo", "path")}
    sizes = pyarrow.array([row.get("max_tokens") for row in rows], pyarrow.float64())  # as pandas makes it
    table = pyarrow.table({**columns, "max_tokens": sizes, "__index_level_0__": [0, 1, 2, 3]})
    parquet.write_table(table, tmp_path / "jobs.parquet")
    from_table = list(read_jobs(tmp_path / "jobs.parquet"))
    from_lines = list(read_jobs(write_jobs(tmp_path / "jobs.jsonl", rows)))
    assert [job.fields for job in from_table] == [job.fields for job in from_lines]
    assert [job.id for job in from_table] == ["7", "row-2", "row-3", "row-4"]
    assert [job.problem for job in from_table] == [job.problem.replace("line", "row") for job in from_lines]
    assert "max_tokens must be" in from_table[3].problem
    (tmp_path / "jobs.parquet").write_bytes(b"PAR1 cut off")
    with pytest.raises(RepositoryError, match="no parquet file"):
        list(read_jobs(tmp_path / "jobs.parquet"))


def test_a_batch_from_memory_to_memory_goes_on(memory: str) -> None:
    rows = code_rows(3)
    with fsspec.open(f"{memory}-in/jobs.jsonl", "w") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows[:2])
    options = BatchOptions(format="parquet", shard_rows=1)
    assert run_batch(f"{memory}-in/jobs.jsonl", memory, options).answered == 2
    with fsspec.open(f"{memory}-in/jobs.jsonl", "w") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    again = run_batch(f"{memory}-in/jobs.jsonl", memory, options)
    assert (again.before, again.answered) == (2, 1)
    shards = Shards(memory, "parquet")
    assert [row["id"] for row in shards.rows()] == [row["id"] for row in rows]
    assert all(name.endswith(".parquet") for name in listing(memory))


def test_a_file_url_is_a_path_in_jobs_rows_and_answers(tmp_path: Path) -> None:
    code = tmp_path / "a pool.py"
    code.write_text(POOL)
    fields = {"query": QUERY, "max_tokens": 150}
    jobs = write_jobs(
        tmp_path / "jobs.jsonl", [{**fields, "path": code.as_uri()}, {**fields, "path": str(code)}]
    )
    assert run_batch(jobs.as_uri(), (tmp_path / "out").as_uri()).answered == 2
    by_url, by_path = answers(tmp_path / "out")
    assert by_url["text"] == by_path["text"]
    kept = Shards(tmp_path / "out")
    with pytest.raises(RepositoryError, match="another batch"):
        Shards((tmp_path / "out").as_uri())
    kept.close()


def test_of_two_batches_on_one_url_the_slower_stops_before_a_row_is_there_twice(memory: str) -> None:
    first, second = Shards(memory), Shards(memory)
    first.add(ANSWERS[:1])
    with pytest.raises(RepositoryError, match="another batch writes"):
        second.add(ANSWERS[:1])
    first.add(ANSWERS[1:])
    assert list(first.rows()) == ANSWERS


def test_a_shard_that_is_cut_off_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "answers-000001.jsonl").write_text('{"id": "a", "te')
    shards = Shards(tmp_path)
    with pytest.raises(RepositoryError, match=r"answers-000001\.jsonl isn't whole .* delete it"):
        shards.done()


def test_a_batch_goes_on_in_its_own_format_only(tmp_path: Path) -> None:
    shards = Shards(tmp_path)
    shards.add(ANSWERS)
    shards.close()
    with pytest.raises(RepositoryError, match="go on with --format jsonl"):
        Shards(tmp_path, "parquet")
    with pytest.raises(InvalidInputError, match="choose from jsonl, parquet"):
        Shards(tmp_path, "csv")
    Shards(tmp_path).close()  # who was refused holds no lock


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("jobs.jsonl", "jobs.jsonl"),
        ("file:///a%20b/c", "/a b/c"),
        ("FILE:///a", "/a"),
        ("a:b", "a:b"),
        ("s3://bucket/key", None),
        ("simplecache::s3://bucket/key", None),
    ],
)
def test_what_counts_as_a_url(place: str, path: str | None) -> None:
    assert local_path(place) == (None if path is None else Path(path))


def test_what_is_missing_is_named_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(RepositoryError, match="nonesuch"):
        Shards("nonesuch://bucket/answers")
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(MissingPackageError, match="s3fs"):
        Shards("s3://bucket/answers")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingPackageError, match=r"'\.\[batch\]'"):
        Shards("s3://bucket/answers")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPackageError, match=r"'\.\[batch\]'"):
        Shards(tmp_path, "parquet").add(ANSWERS)
    jobs = write_jobs(tmp_path / "jobs.jsonl", code_rows(1))
    assert run_batch(jobs, tmp_path / "out").answered == 1  # neither is needed for JSONL in a folder
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingPackageError, match=r"'\.\[ray\]'"):
        run_batch(jobs, tmp_path / "more", BatchOptions(ray="local"))
