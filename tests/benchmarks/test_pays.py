"""Profiles on recorded sessions: where logs come from."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from lamr_evaluation.errors import ReservedError

from benchmarks.pays import logs
from benchmarks.pays.logs import projects, write_logs


def test_no_project_of_the_table_is_for_evaluations_and_none_is_in_both_splits() -> None:
    found = projects()
    assert len({each.repository for each in found}) == len(found)
    assert {each.split for each in found} == {"fit", "test"}
    assert sum(len(each.logs) for each in found) >= 150


def test_a_project_for_evaluations_is_refused(tmp_path: Path) -> None:
    row = {"repository": "psf/requests", "commits": [], "licence": "Apache-2.0", "split": "fit", "logs": []}
    table = tmp_path / "sessions.jsonl"
    table.write_text(json.dumps(row) + "\n")
    with pytest.raises(ReservedError, match="psf/requests"):
        projects(table)


def test_logs_are_written_by_the_names_of_their_blobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "mirrors" / "somebody+theirs" / "repo"
    place.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "--bare", str(place)], check=True)
    written = subprocess.run(
        ["git", "--git-dir", str(place), "hash-object", "-w", "--stdin"],
        input=b'{"a": 1}\n',
        capture_output=True,
        check=True,
    )
    blob = written.stdout.decode().strip()[:16]
    row = {
        "repository": "somebody/theirs",
        "commits": [],
        "licence": "MIT",
        "split": "fit",
        "logs": [blob, "0" * 16],
    }
    monkeypatch.setattr(logs, "projects", lambda: [logs.Project(**row)])
    done = [each[1:] for each in write_logs(tmp_path / "mirrors", tmp_path / "logs")]
    assert done == [(1, 1)]
    assert (tmp_path / "logs" / "somebody+theirs" / f"{blob}.jsonl").read_bytes() == b'{"a": 1}\n'
