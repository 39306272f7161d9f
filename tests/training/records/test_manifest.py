"""The manifest of histories: what it may name, and that the bundled one keeps to it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from lamr_evaluation.reserved import RESERVED, reserved_repository
from lamr_evaluation.suites import manifest, read_manifest
from lamr_training.errors import CorpusError
from lamr_training.records.manifest import (
    Repository,
    bundled_histories,
    bundled_sessions,
    check_histories,
    read_histories,
    write_histories,
)

ROW = Repository("someone/project", "0" * 40, "MIT", "python", "train")


def test_the_bundled_manifest_is_permissive_balanced_and_holds_no_reserved_repository() -> None:
    rows = bundled_histories()
    check_histories(rows)
    assert not [row for row in rows if reserved_repository(row.repository)]
    counts = Counter((row.split, row.language) for row in rows)
    languages = {row.language for row in rows}
    assert len(languages) == 11
    assert min(counts["train", language] for language in languages) >= 17
    assert min(counts["suite", language] for language in languages) >= 3
    assert sum(row.split != "suite" for row in rows) >= 220


def test_the_bundled_sessions_are_permissive_and_apart_from_evaluations_and_histories() -> None:
    rows = bundled_sessions()
    check_histories(rows)
    assert {row.split for row in rows} == {"train", "validation"}
    elsewhere = {row.repository.lower(): row.split for row in bundled_histories()}
    assert not [row for row in rows if elsewhere.get(row.repository.lower(), row.split) != row.split]


@pytest.mark.parametrize("suite", ["polyglot", "edits", "sessions", "contexts"])
def test_no_repository_of_a_suite_trains(suite: str) -> None:
    rows = [*bundled_histories(), *bundled_sessions()]
    trained = {row.repository.lower() for row in rows if row.split != "suite"}
    assert trained
    assert not trained & {item.repository.lower() for item in read_manifest(manifest(suite))}


@pytest.mark.parametrize("project", RESERVED, ids=lambda project: project.repository)
def test_every_reserved_repository_is_refused_by_name(project) -> None:
    with pytest.raises(CorpusError, match=f"{project.repository}: kept for evaluation"):
        check_histories([ROW, replace(ROW, repository=project.repository)])


def test_a_fork_of_a_reserved_repository_is_refused() -> None:
    with pytest.raises(CorpusError, match="as pallets/flask"):
        check_histories([replace(ROW, repository="someone/Flask")])


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (
            replace(ROW, repository="a/b", licence="GPL-3.0-only"),
            "licence 'GPL-3.0-only' isn't one we train on",
        ),
        (replace(ROW, split="test"), "split 'test'"),
        (replace(ROW, commit="main"), "expected owner/name and a whole commit hash"),
        (replace(ROW, repository="project"), "expected owner/name"),
        (replace(ROW, repository="Someone/Project"), "twice in the manifest"),
    ],
)
def test_rows_that_cannot_be_are_named(row: Repository, words: str) -> None:
    with pytest.raises(CorpusError, match=words):
        check_histories([ROW, row])


def test_a_manifest_is_read_back_and_others_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    rows = [replace(ROW, repository="b/b"), replace(ROW, repository="a/a", split="suite")]
    write_histories(rows, path)
    assert read_histories(path) == [rows[1], rows[0]]
    path.write_text('[{"name": "x"}]')
    with pytest.raises(CorpusError, match=r"m\.json: not a manifest .* list of repository, commit, licence"):
        read_histories(path)
    with pytest.raises(CorpusError, match="can't be read"):
        read_histories(tmp_path / "none.json")
