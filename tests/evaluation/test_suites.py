"""Suites are pinned by hash, free of other people's code, and built from a folder of bare repositories."""

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest
from lamr_cli.evaluate import SUITE_NAMES
from lamr_evaluation.__main__ import main
from lamr_evaluation.errors import DataError
from lamr_evaluation.mirrors import Mirrors, clone, locate
from lamr_evaluation.records import read_records
from lamr_evaluation.reserved import reserved_path, reserved_repository
from lamr_evaluation.suites import SUITES, PinnedItem, build_suite, join, manifest, read_manifest

CODE = "int twice(int x) {\n    return 2 * x;\n}\n"
IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@example.invalid", "-c", "init.defaultBranch=main")
PINNED = [name for name in SUITES if manifest(name).exists() and name != "questions"]


def git(folder, *arguments):
    command = ["git", "-C", str(folder), *IDENTITY, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def mirror(tmp_path):
    """A folder with one bare repository, `demo+twice`, that holds one file."""
    work, folder = tmp_path / "work", tmp_path / "mirror"
    work.mkdir()
    folder.mkdir()
    git(work, "init", "--quiet")
    (work / "twice.c").write_text(CODE)
    git(work, "add", ".")
    git(work, "commit", "--quiet", "--message", "Double it")
    git(folder, "clone", "--quiet", "--bare", str(work), "demo+twice")
    return folder


@pytest.fixture
def item(mirror):
    place = mirror / "demo+twice"
    return PinnedItem(
        repository="demo/twice",
        commit=git(place, "rev-parse", "HEAD"),
        licence="MIT",
        language="c",
        path="twice.c",
        blob=git(place, "rev-parse", "HEAD:twice.c"),
        query="How is it doubled?",
        kind="how",
        kept_frags=(2,),
    )


def test_records_come_from_a_folder_of_bare_repositories(mirror, item):
    (record,) = join([item], Mirrors(mirror))
    assert (record.code, record.kept_frags, record.language) == (CODE, (2,), "c")
    assert (record.project, record.path, record.kind) == ("demo/twice", "twice.c", "how")


@pytest.mark.parametrize("layout", ["{}.git", "{}/repo"])
def test_other_layouts_of_a_mirror(mirror, item, layout):
    (mirror / "demo+twice").rename(mirror / "moved")
    place = mirror / layout.format("demo+twice")
    place.parent.mkdir(exist_ok=True)
    (mirror / "moved").rename(place)
    assert locate("demo/twice", mirror) == place
    assert join([item], Mirrors(mirror))[0].code == CODE


def test_what_a_mirror_lacks_is_named(mirror, item):
    with pytest.raises(DataError, match=r"demo/other: no bare repository at .*demo\+other"):
        Mirrors(mirror).read("demo/other", item.blob)
    with pytest.raises(DataError, match=r"lacks blob 0000.* of demo/twice; fetch all its branches there"):
        Mirrors(mirror).read("demo/twice", "0" * 40)


def test_a_binary_file_is_refused(mirror):
    blob = subprocess.run(
        ["git", f"--git-dir={mirror}/demo+twice", "hash-object", "-w", "--stdin"],
        input=b"\xff\xfe",
        capture_output=True,
        check=True,
    ).stdout.decode()
    with pytest.raises(DataError, match="isn't UTF-8"):
        Mirrors(mirror).read("demo/twice", blob.strip())


def test_an_item_that_does_not_fit_its_file_is_named(mirror, item):
    with pytest.raises(DataError, match=r"'How is it doubled\?' on demo/twice/twice.c: kept_frags holds 9"):
        join([replace(item, kept_frags=(9,))], Mirrors(mirror))


def test_a_clone_is_made_once_and_a_failed_one_says_what_to_remove(mirror, tmp_path, monkeypatch):
    monkeypatch.setattr("lamr_evaluation.mirrors._CLONE_FROM", str(mirror) + "/{}")
    (mirror / "demo").mkdir()
    (mirror / "demo+twice").rename(mirror / "demo" / "twice")
    place = clone("demo/twice", tmp_path / "cache")
    (mirror / "demo" / "twice").rename(mirror / "gone")
    assert clone("demo/twice", tmp_path / "cache") == place
    with pytest.raises(DataError, match=r"demo/absent: git couldn't clone it .*; remove .*demo\+absent.part"):
        clone("demo/absent", tmp_path / "cache")


def test_a_row_of_another_form_is_named(tmp_path, item):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"repository": "a/b", "code": "x"}) + "\n")
    with pytest.raises(DataError, match=r"rows.jsonl:1: expected exactly the fields blob, commit"):
        read_manifest(path)
    path.write_text("{\n")
    with pytest.raises(DataError, match=r"rows.jsonl:1: not JSON"):
        read_manifest(path)


def test_an_unknown_suite_is_named(tmp_path):
    with pytest.raises(DataError, match="no suite is called 'none'; there are questions, polyglot"):
        build_suite("none", tmp_path)


def test_the_command_lists_every_suite():
    assert ", ".join(SUITES) == SUITE_NAMES


@pytest.mark.parametrize("suite", PINNED)
def test_manifests_are_pinned_and_reserved_projects_absent(suite):
    items = read_manifest(manifest(suite))
    for item in items:
        assert len(item.commit) == len(item.blob) == 40
        assert item.licence
        assert list(item.kept_frags) == sorted(set(item.kept_frags))
        assert item.kept_frags[0] > 0
        assert reserved_repository(item.repository) is None
        assert reserved_path(item.path) is None
    assert len({(item.repository, item.path, item.query) for item in items}) == len(items)


def test_polyglot_asks_in_ten_languages_and_no_more_than_three_times_about_a_file():
    items = read_manifest(manifest("polyglot"))
    assert len(items) >= 200
    languages = Counter(item.language for item in items)
    assert len(languages) == 10
    assert min(languages.values()) >= 15
    assert max(Counter((item.repository, item.path) for item in items).values()) <= 3
    assert {item.kind for item in items} == {"behaviour", "config", "how", "where", "why"}


def test_build_writes_a_suite(tmp_path, mirror, item, monkeypatch, capsys):
    rows = tmp_path / "polyglot.jsonl"
    rows.write_text(json.dumps({**vars(item), "kept_frags": [2]}) + "\n")
    monkeypatch.setattr("lamr_evaluation.suites.manifest", lambda suite: rows)
    out = tmp_path / "items.jsonl"
    arguments = ["build", str(out), "--suite", "polyglot", "--mirror", str(mirror)]
    assert main(arguments) == 0
    assert [record.code for record in read_records(out)] == [CODE]
    assert capsys.readouterr().out.startswith("1 items")
    assert main([*arguments[:-1], str(tmp_path)]) == 2
    assert "no bare repository" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["--data", "a.jsonl", "--suite", "edits"]])
def test_the_command_wants_either_data_or_a_suite(arguments):
    command = [sys.executable, "-m", "lamr_cli.main", "eval", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "give one of --data and --suite" in done.stderr


def test_the_command_names_the_suite_whose_sources_are_missing(tmp_path):
    command = [
        sys.executable,
        "-m",
        "lamr_cli.main",
        "eval",
        "--suite",
        "polyglot",
        "--mirror",
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no bare repository" in done.stderr


def test_edits_come_from_eleven_languages_and_cover_little_of_each_file():
    items = read_manifest(manifest("edits"))
    assert len(items) == 300
    languages = Counter(item.language for item in items)
    assert len(languages) == 11
    assert min(languages.values()) >= 25
    assert max(Counter(item.repository for item in items).values()) <= 12
    assert max(len(item.kept_frags) for item in items) <= 60
    assert {item.kind for item in items} == {"change", "fix", "test"}
