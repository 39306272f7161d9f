"""Written questions become records of the files they were written about, or an error that says what to fetch."""

from __future__ import annotations

import pytest
from lamr_training.errors import CorpusError
from lamr_training.packages.build import bundled_manifest
from lamr_training.records.manifest import bundled_histories
from lamr_training.records.paths import shown_language, source_language
from lamr_training.records.source_files import SourceFile
from lamr_training.records.written import (
    ABOUT_HISTORIES,
    ABOUT_PACKAGES,
    WrittenQuestion,
    bundled_questions,
    written_records,
)

FILE = SourceFile("demo", "demo/one.py", "class A:\n    def b(self):\n        return 1\n\n\nx = 2\n", "train")


def question(*gold: tuple[int, int], path: str = "demo/one.py", project: str = "demo") -> WrittenQuestion:
    return WrittenQuestion(project, path, "what is x", "what-role", gold)


def test_ranges_of_lines_become_gold() -> None:
    questions = [
        question((6, 6), (1, 2)),
        question((2, 3)),
        question((1, 1), path="demo/other.py"),
        question((1, 1), project="another"),
    ]
    records = written_records([FILE], questions)
    assert [(r.query, r.kept_frags, r.kind) for r in records] == [
        ("what is x", (1, 2, 6), "what-role"),
        ("what is x", (2, 3), "what-role"),
    ]
    assert all(r.code == FILE.text and r.project == "demo" for r in records)


def test_a_question_brings_the_task_that_it_serves() -> None:
    asked = WrittenQuestion(
        "demo", FILE.path, "Now the value of x.", "session", ((6, 6),), task="Make x three"
    )
    assert [r.task for r in written_records([FILE], [asked, question((6, 6))])] == ["Make x three", ""]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_the_last_line_is_the_last_that_may_answer(ending: str) -> None:
    file = SourceFile("demo", "demo/one.py", FILE.text.replace("\n", ending), "train")
    assert written_records([file], [question((6, 6))])[0].kept_frags == (6,)
    with pytest.raises(CorpusError, match="has 6 lines, a question is about line 7; fetch the version"):
        written_records([file], [question((6, 7))])


@pytest.mark.parametrize("gold", [((5, 90),), ()])
def test_another_version_of_a_file_is_an_error(gold: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(CorpusError, match="version that the manifest pins"):
        written_records([FILE], [question(*gold)])


@pytest.mark.parametrize(("name", "least"), [(ABOUT_PACKAGES, 700), (ABOUT_HISTORIES, 20_000)])
def test_bundled_questions_are_distinct_and_name_lines(name: str, least: int) -> None:
    questions = bundled_questions(name)
    assert len(questions) > least
    assert len({(q.path, q.query) for q in questions}) == len(questions)
    assert all(q.gold and all(1 <= first <= last for first, last in q.gold) for q in questions)


def test_questions_about_both_sorts_of_projects_train_and_validate() -> None:
    packages = {package.name: package.split for package in bundled_manifest()}
    repositories = {row.repository: row.split for row in bundled_histories()}
    both = {"train", "validation"}
    assert {packages[q.project] for q in bundled_questions()} == both
    assert {repositories[q.project] for q in bundled_questions(ABOUT_HISTORIES)} == both


@pytest.mark.parametrize("split", ["train", "validation"])
def test_questions_about_repositories_are_about_ten_languages(split: str) -> None:
    rows = {row.repository: row for row in bundled_histories() if row.split == split}
    asked = [q for q in bundled_questions(ABOUT_HISTORIES) if q.project in rows]
    known = {(q.project, source_language(q.path)) for q in asked}
    languages = {
        shown_language(language.name, rows[project].language) for project, language in known if language
    }
    assert len(languages - {"python"}) == 10
