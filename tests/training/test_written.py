"""Written questions become records of the files they were written about, or an error that says what to fetch."""

import functools
import hashlib
import zipfile
from pathlib import Path

import pytest
from lamr_evaluation.mirrors import locate
from lamr_postprocess.detection import detect_language
from lamr_training import written
from lamr_training.errors import CorpusError
from lamr_training.written import (
    ABOUT_HISTORIES,
    ABOUT_PACKAGES,
    Package,
    Repository,
    WrittenQuestion,
    as_records,
    bundled_packages,
    bundled_questions,
    bundled_repositories,
    written_records,
)

from tests.training.repository import PARSER
from tests.training.repository import Repository as Made

FILE = "class A:\n    def b(self):\n        return 1\n\n\nx = 2\n"
PATH = "demo/one.py"


def question(*gold: tuple[int, int], path: str = PATH, project: str = "demo") -> WrittenQuestion:
    return WrittenQuestion(project, path, "what is x", "what-role", gold)


def test_ranges_of_lines_become_gold_and_a_question_brings_its_task() -> None:
    records = list(as_records({PATH: FILE}, [question((6, 6), (1, 2)), question((2, 3))]))
    assert [(r.query, r.kept_frags, r.kind) for r in records] == [
        ("what is x", (1, 2, 6), "what-role"),
        ("what is x", (2, 3), "what-role"),
    ]
    assert all(r.code == FILE and r.project == "demo" for r in records)
    asked = WrittenQuestion("demo", PATH, "Now the value of x.", "session", ((6, 6),), task="Make x three")
    assert [r.task for r in as_records({PATH: FILE}, [asked, question((6, 6))])] == ["Make x three", ""]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_the_last_line_is_the_last_that_may_answer(ending: str) -> None:
    texts = {PATH: FILE.replace("\n", ending)}
    assert next(as_records(texts, [question((6, 6))])).kept_frags == (6,)
    with pytest.raises(CorpusError, match="has 6 lines, a question is about line 7; fetch the version"):
        list(as_records(texts, [question((6, 7))]))


@pytest.mark.parametrize("gold", [((5, 90),), ()])
def test_another_version_of_a_file_is_an_error(gold: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(CorpusError, match="version that the manifest pins"):
        list(as_records({PATH: FILE}, [question(*gold)]))


def test_files_come_from_pinned_wheels_and_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "demo-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(PATH, FILE)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    package = Package("demo", "1.0", "MIT", digest, wheel.name, "train")
    commit = Made(tmp_path / "someone+headers").commit("Read headers", {"src/parser.py": PARSER})
    row = Repository("someone/headers", commit, "MIT", "python", "train")
    about = {
        ABOUT_PACKAGES: [question((6, 6))],
        ABOUT_HISTORIES: [question((3, 3), path="src/parser.py", project=row.repository)],
    }
    monkeypatch.setattr(written, "bundled_packages", lambda: [package])
    monkeypatch.setattr(written, "bundled_repositories", lambda: [row])
    monkeypatch.setattr(written, "bundled_questions", lambda name=ABOUT_PACKAGES: about[name])
    place = functools.partial(locate, folder=tmp_path)
    records = list(written_records("train", tmp_path, place))
    assert [(r.path, r.code, r.kept_frags) for r in records] == [
        (PATH, FILE, (6,)),
        ("src/parser.py", PARSER, (3,)),
    ]
    assert not list(written_records("validation", tmp_path, place))
    wheel.write_bytes(wheel.read_bytes() + b" ")
    with pytest.raises(CorpusError, match="sha256"):
        list(written_records("train", tmp_path, place))


@pytest.mark.parametrize(("name", "least"), [(ABOUT_PACKAGES, 700), (ABOUT_HISTORIES, 20_000)])
def test_bundled_questions_are_distinct_and_name_lines(name: str, least: int) -> None:
    questions = bundled_questions(name)
    assert len(questions) > least
    assert len({(q.path, q.query) for q in questions}) == len(questions)
    assert all(q.gold and all(1 <= first <= last for first, last in q.gold) for q in questions)


def test_questions_about_both_sorts_of_projects_train_and_validate() -> None:
    packages = {package.name: package.split for package in bundled_packages()}
    repositories = {row.repository: row.split for row in bundled_repositories()}
    both = {"train", "validation"}
    assert {packages[q.project] for q in bundled_questions()} == both
    assert {repositories[q.project] for q in bundled_questions(ABOUT_HISTORIES)} == both


@pytest.mark.parametrize("split", ["train", "validation"])
def test_questions_about_repositories_are_about_ten_languages(split: str) -> None:
    rows = {row.repository: row for row in bundled_repositories() if row.split == split}
    asked = [q for q in bundled_questions(ABOUT_HISTORIES) if q.project in rows]
    languages = {detect_language("", q.path).name for q in asked}
    assert len(languages - {"python", "tsx"}) == 10
