"""Nothing that the package ships or fetches for training comes from a project that is for evaluation only."""

import json
from collections import Counter
from importlib import resources
from pathlib import Path

import pytest
from lamr_evaluation.errors import DataError, ReservedError
from lamr_evaluation.reserved import (
    RESERVED,
    Reserved,
    normalized,
    reserved_package,
    reserved_path,
    reserved_repository,
)
from lamr_evaluation.suites import manifest
from lamr_evaluation.suites import read_manifest as read_suite
from lamr_evaluation.wheels import download_wheel
from lamr_training.commits import check_repository
from lamr_training.errors import CorpusError
from lamr_training.written import ABOUT_HISTORIES, bundled_packages, bundled_questions, bundled_repositories

SUITES = ("polyglot", "edits", "sessions", "contexts")
PACKAGES = sorted(name for project in RESERVED for name in project.packages)


def test_what_is_shipped_for_training_is_pinned_once_and_about_no_reserved_project() -> None:
    names = [package.name for package in bundled_packages()]
    assert not [name for name in names if reserved_package(name)]
    assert len(set(names)) == len(names) > 100
    assert {package.split for package in bundled_packages()} == {"train", "validation"}
    data = resources.files("lamr_training") / "data"
    written = [json.loads(line) for line in (data / "written.jsonl").read_text(encoding="utf-8").splitlines()]
    projects = {row["project"] for row in written}
    assert projects <= {package.name for package in bundled_packages()}
    assert not [project for project in projects if reserved_package(project)]
    assert not {question.path for question in bundled_questions() if reserved_path(question.path)}


def test_written_questions_about_repositories_ask_about_none_of_an_evaluation() -> None:
    questions = bundled_questions(ABOUT_HISTORIES)
    asked = {question.project for question in questions}
    assert asked <= {row.repository for row in bundled_repositories() if row.split != "suite"}
    assert not [name for name in asked if reserved_repository(name)]
    assert not {question.path for question in questions if reserved_path(question.path)}
    for suite in SUITES:
        assert not asked & {item.repository for item in read_suite(manifest(suite))}


def test_no_reserved_wheel_is_downloaded_unless_for_evaluation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(ReservedError, match="flask: kept for evaluation"):
        download_wheel("flask", tmp_path, "3.0")
    with pytest.raises(DataError, match=r"can't download flask==3\.0 with pip: "):
        download_wheel("flask", tmp_path, "3.0", for_evaluation=True)


@pytest.mark.parametrize("name", [*PACKAGES, "Scikit_Learn", "Django", "commons.lang3"])
def test_every_reserved_package_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ReservedError, match=f"{name}: kept for evaluation"):
        download_wheel(name, tmp_path)


@pytest.mark.parametrize("project", RESERVED, ids=lambda project: project.repository)
def test_every_reserved_repository_is_refused(project: Reserved) -> None:
    with pytest.raises(CorpusError, match=f"{project.repository}: kept for evaluation"):
        check_repository(project.repository)
    if project.repository == "pallets/flask":  # a fork, too
        with pytest.raises(CorpusError, match="as pallets/flask"):
            check_repository("someone/Flask")


def test_the_bundled_repositories_are_balanced_and_none_is_reserved() -> None:
    rows = bundled_repositories()
    assert not [row for row in rows if reserved_repository(row.repository)]
    counts = Counter((row.split, row.language) for row in rows)
    languages = {row.language for row in rows}
    assert len(languages) == 11
    assert min(counts["train", language] for language in languages) >= 17
    assert min(counts["suite", language] for language in languages) >= 3
    assert sum(row.split != "suite" for row in rows) >= 220


@pytest.mark.parametrize("suite", SUITES)
def test_no_package_and_no_repository_of_a_suite_trains(suite: str) -> None:
    asked = {item.repository.lower() for item in read_suite(manifest(suite))}
    packages = {package.name for package in bundled_packages()}
    assert not packages & {normalized(repository.split("/")[1]) for repository in asked}
    trained = {row.repository.lower() for row in bundled_repositories() if row.split != "suite"}
    assert asked
    assert trained
    assert not trained & asked
