"""The benchmark's definitions hold, and are joined with exactly the files that they pin."""

import hashlib
import importlib.resources
import json
import zipfile
from collections import Counter

import pytest
from lamr_evaluation.benchmark import (
    QUESTION_KINDS,
    BenchmarkQuestion,
    build_items,
    read_files,
    read_questions,
)
from lamr_evaluation.errors import DataError
from lamr_evaluation.records import read_records
from lamr_evaluation.reserved import reserved_package
from lamr_evaluation.wheels import PinnedFile, cached_wheel, fetch_for_evaluation

TEXT = "def f(value):\n    checked = check_value(value)\n    return checked\n"


@pytest.fixture
def wheel(tmp_path):
    path = tmp_path / "demo-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("demo/a.py", TEXT)
    return path


@pytest.fixture
def pinned():
    return PinnedFile("demo", "1.0", "demo/a.py", hashlib.sha256(TEXT.encode()).hexdigest())


def build(wheel, question, **options):
    options.setdefault("fetch", lambda project, version, cache: wheel)
    return build_items(wheel.parent, questions=[question], files=[], **options)


def test_questions_are_joined_with_the_pinned_file(tmp_path, wheel, pinned):
    out = tmp_path / "items.jsonl"
    items = build(wheel, BenchmarkQuestion(pinned, "what is checked?", (2,), "what-role"), output=out)
    assert [(i.code, i.kept_frags, i.kind, i.path, i.project) for i in items] == [
        (TEXT, (2,), "what-role", "demo/a.py", "demo")
    ]
    assert list(read_records(out)) == items


def test_a_wheel_in_the_cache_is_not_downloaded(wheel, pinned):
    assert fetch_for_evaluation("demo", "1.0", wheel.parent) == wheel


def test_a_cached_wheel_is_found_by_name_and_version(wheel):
    (wheel.parent / "stray.whl").write_bytes(b"")
    newer = wheel.with_name("Demo-1.1-py3-none-any.whl")
    newer.write_bytes(b"")
    assert cached_wheel("demo", wheel.parent, "1.0") == wheel
    assert cached_wheel("DEMO", wheel.parent, "1.1") == newer
    assert cached_wheel("demo", wheel.parent) in {wheel, newer}
    assert cached_wheel("other", wheel.parent) is None


def test_another_file_than_the_pinned_one_is_refused(wheel, pinned):
    other = PinnedFile("demo", "1.0", "demo/a.py", "0" * 64)
    with pytest.raises(DataError, match="but the benchmark pins 0000"):
        build(wheel, BenchmarkQuestion(other, "q", (1,), "how"))


def test_a_missing_member_or_broken_wheel_is_refused(tmp_path, wheel, pinned):
    absent = PinnedFile("demo", "1.0", "demo/b.py", pinned.sha256)
    with pytest.raises(DataError, match=r"can't read demo/b\.py"):
        build(wheel, BenchmarkQuestion(absent, "q", (1,), "how"))
    broken = tmp_path / "broken.whl"
    broken.write_bytes(b"PK")
    with pytest.raises(DataError, match=r"broken\.whl: can't read"):
        build(wheel, BenchmarkQuestion(pinned, "q", (1,), "how"), fetch=lambda *_: broken)


def test_a_gold_line_outside_the_file_is_refused(wheel, pinned):
    with pytest.raises(DataError, match=r"question 'q' on demo/demo/a\.py: kept_frags holds 4, but"):
        build(wheel, BenchmarkQuestion(pinned, "q", (4,), "how"))


@pytest.mark.parametrize("row", ["{", "[]", '{"project": "x"}'])
def test_a_broken_definition_is_named(tmp_path, row):
    path = tmp_path / "definition.jsonl"
    path.write_text(row + "\n")
    with pytest.raises(DataError, match=r"definition\.jsonl:1: "):
        read_questions(path)
    with pytest.raises(DataError, match=r"definition\.jsonl:1: "):
        read_files(path)


def test_bundled_questions_are_sound():
    questions = read_questions()
    assert {q.kind for q in questions} == set(QUESTION_KINDS)
    assert all(reserved_package(file.project) for file in [*(q.file for q in questions), *read_files()])
    assert max(Counter((q.file.path, q.query) for q in questions).values()) == 1
    assert all(list(q.kept_frags) == sorted(set(q.kept_frags)) for q in questions)
    pins = {(q.file.project, q.file.version) for q in questions} | {
        (f.project, f.version) for f in read_files()
    }
    assert len(pins) == len({project for project, _ in pins}), "one version a project"


def test_the_definition_holds_no_source_code():
    """Files belong to other projects: only names, hashes, numbers and our own questions are stored."""
    data = importlib.resources.files("lamr_evaluation") / "data"
    file = {"project", "version", "path", "sha256"}
    names = {"files.jsonl": file, "questions.jsonl": file | {"query", "kept_frags", "kind", "score"}}
    for name, fields in names.items():
        for row in map(json.loads, (data / name).read_text(encoding="utf-8").splitlines()):
            assert set(row) == fields
            assert len(row.get("query", "")) < 400
            assert "\n" not in row.get("query", "")
