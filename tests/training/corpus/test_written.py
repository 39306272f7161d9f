"""Written questions become records of the files they were written about, or an error that says what to fetch."""

from __future__ import annotations

import pytest
from lamr_training.corpus.fetch import SourceFile, bundled_manifest
from lamr_training.corpus.written import WrittenQuestion, bundled_questions, written_records
from lamr_training.errors import CorpusError

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


def test_bundled_questions_are_distinct_and_name_lines() -> None:
    questions = bundled_questions()
    assert len(questions) > 700
    assert len({(q.path, q.query) for q in questions}) == len(questions)
    assert all(q.gold and all(1 <= first <= last for first, last in q.gold) for q in questions)
    splits = {package.name: package.split for package in bundled_manifest()}
    assert {splits[q.project] for q in questions} == {"train", "validation"}
