"""Written questions become records of the files they were written about, or an error that says what to fetch."""

from __future__ import annotations

import pytest
from lamr_training.corpus.fetch import SourceFile, bundled_manifest
from lamr_training.corpus.written import Question, bundled_questions, handmade_records
from lamr_training.errors import CorpusError

FILE = SourceFile("demo", "demo/one.py", "class A:\n    def b(self):\n        return 1\n\n\nx = 2\n", "train")


def test_lines_and_names_become_gold() -> None:
    asked = [
        Question("demo/one.py", "what is x", "what-role", lines=((6, 6), (1, 2))),
        Question("demo/one.py", "what does b give", "how", names=("A.b",)),
        Question("demo/other.py", "elsewhere", "how", lines=((1, 1),)),
    ]
    found = handmade_records([FILE], asked)
    assert [(r.query, r.kept_frags, r.kind) for r in found] == [
        ("what is x", (1, 2, 6), "what-role"),
        ("what does b give", (2, 3), "how"),
    ]
    assert all(r.code == FILE.text and r.project == "demo" for r in found)


@pytest.mark.parametrize(
    "question",
    [
        Question("demo/one.py", "q", "how", lines=((5, 90),)),
        Question("demo/one.py", "q", "how", names=("A.c",)),
        Question("demo/one.py", "q", "how"),
    ],
)
def test_another_version_of_a_file_is_an_error(question: Question) -> None:
    with pytest.raises(CorpusError, match="version that the manifest pins"):
        handmade_records([FILE], [question])


def test_bundled_questions_are_distinct_and_name_lines() -> None:
    questions = bundled_questions()
    assert len(questions) > 700
    assert len({(q.path, q.query) for q in questions}) == len(questions)
    assert all(1 <= first <= last for q in questions for first, last in q.lines)
    pinned = {package.split for package in bundled_manifest()}
    assert pinned == {"train", "validation"}
