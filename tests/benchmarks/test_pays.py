"""Profiles and gates on recorded sessions: where logs come from, and what the forecast makes of them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from lamr_evaluation.errors import ReservedError

from benchmarks.pays import logs
from benchmarks.pays.forecast import Forecast, Seen, _log_odds
from benchmarks.pays.logs import projects, write_logs


def seen(requests: float, tokens: float = 2000.0, context: float = 50_000.0) -> Seen:
    return Seen(np.array([np.log1p(requests)]), np.array([1.0]), context, tokens)


def forecast(odds: float) -> Forecast:
    return Forecast(np.array([1.0]), np.array([odds, 0.0]))


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


def test_a_cut_pays_with_many_requests_to_come_and_not_with_few_if_agents_come_back() -> None:
    assert forecast(-9.0).pays(seen(1))
    assert not forecast(0.0).pays(seen(1))
    assert forecast(0.0).pays(seen(200))
    assert not forecast(0.0).pays(seen(1, context=900_000.0))
    assert forecast(0.0).pays(seen(1, tokens=60_000.0))


def test_log_odds_find_what_tells() -> None:
    rng = np.random.default_rng(0)
    features = np.stack([np.ones(2000), rng.normal(size=2000), rng.normal(size=2000)], axis=1)
    happened = (rng.random(2000) < 1 / (1 + np.exp(-2 * features[:, 1]))).astype(float)
    weights = _log_odds(features, happened)
    assert abs(weights[1] - 2) < 0.3
    assert abs(weights[2]) < 0.2
