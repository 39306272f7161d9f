"""Records made from packages: their gold lines, splits, and what is kept out."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from lamr_evaluation.errors import ReservedError
from lamr_evaluation.records import Record, read_records, write_records
from lamr_training.errors import CorpusError, RecordError
from lamr_training.made.build import cut_window
from lamr_training.made.settings import OF_PACKAGES
from lamr_training.packages.build import (
    build_packages,
    describe,
    fetch,
    fetch_pinned,
    package_records,
    source_files,
)
from lamr_training.records.source_files import SourceFile

from tests.training.samples import CACHE, files

SMALL = replace(OF_PACKAGES, min_lines=10, per_file=8, absent=0.2)


def wheel(folder: Path, name: str, licence: str = "MIT", extra: dict[str, str] | None = None) -> Path:
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            f"{name}-1.0.dist-info/METADATA", f"Name: {name}\nVersion: 1.0\nLicense-Expression: {licence}\n"
        )
        for file in files(project=name):
            archive.writestr(file.path, file.text)
        for place, text in (extra or {}).items():
            archive.writestr(place, text)
    return path


def test_docstring_queries_take_the_docstring_out_of_the_code() -> None:
    records = package_records(files(), SMALL)["train"]
    from_docstrings = [r for r in records if r.kind == "docstring"]
    assert from_docstrings
    gone = [r for r in from_docstrings if r.code.count('"""') < CACHE.count('"""')]
    assert len(gone) >= len(from_docstrings) / 2
    for record in gone:
        compile(record.code, "sample", "exec")
        first = record.code.split("\n")[record.kept_frags[0] - 1]
        assert first.lstrip().startswith(("def ", "class "))


def test_records_are_repeatable_distinct_and_split_by_project() -> None:
    sources = [*files(), *files(split="validation", project="other"), *files()]
    one, two = package_records(sources, SMALL), package_records(sources, SMALL)
    assert one == two
    assert {r.project for r in one["train"]} == {"demo"}
    # the other project's files are the same texts: nothing of them may be in two splits
    assert not one["validation"]
    assert len({(r.path, r.query) for r in one["train"] if r.score}) == len(
        [r for r in one["train"] if r.score]
    )


def test_some_files_hold_no_answer() -> None:
    records = package_records(files(), SMALL)["train"]
    absent = [r for r in records if r.kind == "absent"]
    assert absent
    assert all(r.score == 0 and not r.kept_frags for r in absent)
    assert all(r.score == 1 and r.kept_frags for r in records if r.kind != "absent")


def test_build_from_wheels(tmp_path: Path) -> None:
    wheel(tmp_path, "demo", extra={"demo/_vendor/requests.py": CACHE, "demo/bad.py": "def (:\n" * 20})
    other = "\n".join(line.replace("time", "clock").replace("path", "place") for line in CACHE.split("\n"))
    with zipfile.ZipFile(wheel(tmp_path, "checks"), "w") as archive:
        archive.writestr("checks-1.0.dist-info/METADATA", "Name: checks\nVersion: 1.0\nLicense: BSD\n")
        archive.writestr("checks/one.py", other)
    packages = [*fetch(["demo"], tmp_path, "train"), *fetch(["checks"], tmp_path, "validation")]
    assert not any("_vendor" in file.path for file in source_files(packages, tmp_path))
    counts = build_packages(tmp_path, tmp_path / "out", packages=packages, settings=SMALL)
    assert counts["train"] > 10
    assert counts["validation"] > 0
    assert counts["written"] == counts["written-validation"] == 0
    assert counts["train"] == len(list(read_records(tmp_path / "out" / "train.jsonl")))


def lamr_corpus(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lamr_cli.main", "corpus", "packages", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command_writes_records_and_a_manifest_that_repeats_them(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    wheel(cache, "demo")
    other = "\n".join(line.replace("time", "clock").replace("path", "place") for line in CACHE.split("\n"))
    with zipfile.ZipFile(wheel(cache, "checks"), "w") as archive:
        archive.writestr("checks-1.0.dist-info/METADATA", "Name: checks\nVersion: 1.0\nLicense: BSD\n")
        archive.writestr("checks/one.py", other)
    common = ("--downloads", cache, "--min-lines", 10, "--per-file", 8, "--json")
    done = lamr_corpus("-o", tmp_path / "a", "demo", "--validation", "checks", *common)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert counts["train"] == len(list(read_records(tmp_path / "a" / "train.jsonl"))) > 10
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_text())
    assert [(p["name"], p["split"], p["licence"]) for p in manifest] == [
        ("demo", "train", "MIT"),
        ("checks", "validation", "BSD"),
    ]
    done = lamr_corpus("--output", tmp_path / "b", "--manifest", tmp_path / "a" / "manifest.json", *common)
    assert done.returncode == 0, done.stderr
    for name in ("train.jsonl", "validation.jsonl", "manifest.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("demo",), "name two or more"),
        (("demo", "conan"), "conan: kept for evaluation"),
        (("demo", "--validation", "Demo"), "can't train and validate"),
        (("demo", "bad"), "licence 'GPL-3.0-only'"),
        (("--validation", "demo"), "goes with names to train on"),
        (("--manifest", "none.json"), "none.json: can't be read"),
        (("--manifest", "odd.json"), "odd.json: not a manifest"),
        (("--manifest", "held.json"), "flask: kept for evaluation"),
        (("--manifest", "gone.json"), "can't download demo==9 with pip"),
        (("--manifest", "odd.json", "demo"), "not both"),
    ],
)
def test_the_command_names_what_it_cannot_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    wheel(tmp_path, "demo")
    wheel(tmp_path, "bad", "GPL-3.0-only")
    row = {"version": "9", "licence": "MIT", "sha256": "0", "file": "gone.whl", "split": "train"}
    (tmp_path / "odd.json").write_text('[{"name": "demo"}]')
    (tmp_path / "held.json").write_text(json.dumps([{"name": "Flask", **row}]).replace("Flask", "flask"))
    (tmp_path / "gone.json").write_text(json.dumps([{"name": "demo", **row}]))
    done = lamr_corpus("-o", tmp_path / "out", "--downloads", tmp_path, *arguments)
    assert done.returncode == 2
    assert reason in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr


def test_windows_show_part_of_a_file_with_part_of_the_answer() -> None:
    code = "".join(f"def f{n}():\n    a = {n}\n\n    return a\n\n\n" for n in range(100))
    whole = Record("where?", code, tuple(range(301, 311)))
    rng = random.Random(1)
    for record in (whole, replace(whole, kept_frags=(), score=0.0)):
        for _ in range(50):
            part = cut_window(record, rng)
            assert part.code in record.code
            assert bool(part.kept_frags) == bool(record.kept_frags)
            lines, all_lines = part.code.split("\n"), code.split("\n")
            assert {lines[n - 1] for n in part.kept_frags} <= {all_lines[n - 1] for n in record.kept_frags}
            assert len(lines) < len(all_lines)
    short = Record("where?", "a = 1\nb = 2\n", (2,))
    assert cut_window(short, rng) == short
    long = [replace(file, text=2 * file.text) for file in files()]
    counts = [r.code.count("\n") for r in package_records(long, replace(SMALL, windows=1.0))["train"]]
    assert min(counts) < 60 < max(counts)


def test_a_manifest_pins_files(tmp_path: Path) -> None:
    path = wheel(tmp_path, "demo")
    package = describe(path, "train")
    fetch_pinned([package], tmp_path)
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(CorpusError, match="sha256"):
        fetch_pinned([package], tmp_path)


def test_licences_and_reserved_projects_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="licence"):
        describe(wheel(tmp_path, "copyleft", "GPL-3.0-only"), "train")
    with pytest.raises(ReservedError, match="evaluation"):
        fetch(["streamlink"], tmp_path, "train")


def test_records_round_trip_and_errors_name_the_line(tmp_path: Path) -> None:
    record = Record("where?", "a\nb", (2,), 0.5, "p.py", "demo", "question")
    path = tmp_path / "r.jsonl"
    assert write_records([record], path) == 1
    assert list(read_records(path)) == [record]
    path.write_text(record.to_json() + "\n" + json.dumps({"query": "q", "code": "a"}) + "\n")
    with pytest.raises(RecordError, match=r"r\.jsonl:2: .*kept_frags"):
        list(read_records(path))
    path.write_text(json.dumps({"query": "q", "code": "a", "kept_frags": [7]}) + "\n")
    with pytest.raises(RecordError, match=r"r\.jsonl:1: .*lines 1 to 1"):
        list(read_records(path))


def test_what_is_no_text_python_takes_asks_nothing() -> None:
    for text in (
        CACHE.replace("\n", "\r"),
        CACHE.replace("\n\n\n", "\n\f\n"),
        CACHE + "def (:\n",
        "print 1\n" + CACHE,
    ):
        assert not package_records([SourceFile("p", "p/a.py", text, "train")], SMALL)["train"]
