"""`lamr eval` with the shipped model: bad rows are named and left out, and the exit code says so."""

import json

import pytest

from tests.command import run_main
from tests.repositories.conftest import QUERY, folder, git, repository

__all__ = ["folder", "repository"]

GOOD = {"query": "where is the total summed up?", "code": "x = 1\n\ntotal = sum(values)\n", "kept_frags": [3]}
BAD = {
    2: ("{", "not JSON"),
    3: (json.dumps({**GOOD, "kept_frags": [9]}), "kept_frags holds 9, but the code has lines 1 to 3"),
    5: (json.dumps({**GOOD, "code": "a\0\n\n\n"}), "lamr refuses it: the code has a NUL"),
}


def lamr_eval(path, *arguments, what="--data"):
    return run_main("eval", what, path, *arguments)


@pytest.fixture
def mixed(tmp_path):
    rows = [BAD[row][0] if row in BAD else json.dumps(GOOD) for row in range(1, 7)]
    path = tmp_path / "items.jsonl"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_three_bad_rows_are_counted_and_named_in_any_form(mixed):
    done = lamr_eval(mixed)
    assert done.returncode == 4, done.stderr
    assert done.stdout.startswith("3 items, 3 files; 3 left out;")
    messages = done.stderr.splitlines()
    for message, (row, (_, reason)) in zip(messages, BAD.items(), strict=True):
        assert message.startswith(f"{mixed}:{row}: {reason}")
    done = lamr_eval(mixed, "--json")
    assert done.returncode == 4, done.stderr
    report = json.loads(done.stdout)
    assert report["items"] == 3
    assert [problem["line"] for problem in report["left_out"]] == list(BAD)


def test_strict_ends_at_the_first_bad_row(mixed, tmp_path):
    done = lamr_eval(mixed, "--strict")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"lamr: {mixed}:2: not JSON")
    refused = tmp_path / "refused.jsonl"
    refused.write_text(json.dumps(GOOD) + "\n" + BAD[5][0] + "\n")
    done = lamr_eval(refused, "--strict")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"lamr: {refused}: line 2: lamr refuses it: the code has a NUL")


def test_good_rows_alone_end_with_0_and_bad_ones_alone_with_2(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_text(json.dumps(GOOD) + "\n")
    done = lamr_eval(path, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["reference"], report["left_out"]) == ("lamr", [])
    assert {"lamr", "bm25-functions", "grep±5"} <= {scorer["name"] for scorer in report["scorers"]}
    path.write_text("{\n")
    done = lamr_eval(path)
    assert done.returncode == 2
    assert "none of 1 rows is a record; line 1: not JSON" in done.stderr
    path.write_text("")
    done = lamr_eval(path)
    assert done.returncode == 2
    assert "holds no records" in done.stderr


def test_items_about_repositories_that_cant_be_measured_are_named(repository, tmp_path, monkeypatch):
    repository.rename(tmp_path / "a+pools")
    revision = git(tmp_path / "a+pools", "rev-parse", "HEAD")
    good = {
        "repository": "a/pools",
        "revision": revision,
        "query": QUERY,
        "gold": {"src/pool.py": [31]},
        "id": "1",
    }
    rows = [
        good,
        {**good, "gold": {}},
        {**good, "repository": "a/none", "id": "2"},
        {**good, "revision": "0" * 40},
    ]
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    asked = {"what": "--repositories"}
    done = lamr_eval(path, "--mirror", str(tmp_path), **asked)
    assert done.returncode == 4, done.stderr
    assert done.stdout.startswith("1 items of 1 repositories; 3 left out\n")
    reasons = ["gold must name lines", "2: a/none: no bare repository", "1: "]
    for message, (line, reason) in zip(done.stderr.splitlines(), enumerate(reasons, 2), strict=True):
        assert message.startswith(f"{path}:{line}: {reason}")
    done = lamr_eval(path, "--mirror", str(tmp_path), "--strict", **asked)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"lamr: {path}:2: gold must name lines")
