"""Suites are pinned by hash, free of other people's code, and built from a folder of bare repositories."""

import hashlib
import io
import json
import subprocess
import zipfile
from collections import Counter
from dataclasses import replace

import pyarrow
import pytest
from lamr_agents.sessions import BigRead, Event, Read
from lamr_agents.sessions.shown import ShownLines
from lamr_cli.evaluate import SUITE_NAMES
from lamr_evaluation import suites
from lamr_evaluation.__main__ import main
from lamr_evaluation.errors import DataError
from lamr_evaluation.mirrors import Mirrors, clone, locate
from lamr_evaluation.records import read_records
from lamr_evaluation.repositories import read_items
from lamr_evaluation.reserved import reserved_package, reserved_path, reserved_repository
from lamr_evaluation.suites import (
    SUITES,
    PinnedIssue,
    PinnedItem,
    PinnedQuestion,
    PinnedRead,
    Sources,
    build_suite,
    join,
    manifest,
    read_manifest,
    words_before,
)
from lamr_evaluation.wheels import WheelCache
from pyarrow import parquet

from tests.command import run_main

CODE = "int twice(int x) {\n    return 2 * x;\n}\n"
IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@example.invalid", "-c", "init.defaultBranch=main")
PINNED = [name for name in SUITES if name != "questions"]


def sources(mirror):
    return Sources(Mirrors(mirror), WheelCache(mirror / "wheels"))


SHOWN = [f"int f_{n}(void) {{ return {n}; }}" for n in range(1, 101)]
LOG = [
    {
        "role": "user",
        "content": [{"type": "text", "text": "Let the seventh function return something else."}],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I'll read f_7 first."},
            {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "src/f.c"}},
        ],
    },
    {"role": "toolResult", "toolCallId": "c1", "content": [{"type": "text", "text": "\n".join(SHOWN)}]},
]


ISSUE = "Doubling is wrong\n\n" + "Steps: call twice(2).\n" * 900
CONTEXTS = [
    {"file": "/workspace/demo__twice__0.1/twice.c", "start_line": 2, "end_line": 3, "content": ""},
    {"file": "/testbed/docs/twice.md", "start_line": 1, "end_line": 1, "content": ""},
    {"file": "twice.c", "start_line": 1, "end_line": 2, "content": ""},
]


def instances(**changed):
    """ContextBench's file with one instance."""
    row = {"instance_id": "demo-1", "problem_statement": ISSUE, "gold_context": json.dumps(CONTEXTS)}
    stream = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist([row | changed]), stream)
    return stream.getvalue()


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
    rows = [json.dumps({"type": "message", "message": message}) for message in LOG]
    (work / "session.jsonl").write_text("\n".join(rows) + "\n")
    (work / "other.jsonl").write_text('{"a": 1}\n')
    (work / "contexts.parquet").write_bytes(instances())
    git(work, "add", ".")
    git(work, "commit", "--quiet", "--message", "Double it")
    git(folder, "clone", "--quiet", "--bare", str(work), "demo+twice")
    return folder


def source(mirror, path):
    """What every row says of where its file lies."""
    place = mirror / "demo+twice"
    commit, blob = git(place, "rev-parse", "HEAD"), git(place, "rev-parse", f"HEAD:{path}")
    where = {"repository": "demo/twice", "commit": commit, "licence": "MIT", "path": path, "blob": blob}
    return {**where, "language": "c"}


@pytest.fixture
def item(mirror):
    return PinnedItem(query="How is it doubled?", kind="how", kept_frags=(2,), **source(mirror, "twice.c"))


@pytest.fixture
def read(mirror):
    return PinnedRead(call="c1", kind="pi", kept_frags=(7,), **source(mirror, "session.jsonl"))


def test_a_question_about_a_wheel_is_joined_with_the_lines_that_dont_give_its_answer_away(tmp_path):
    text = "def f(x):\n    # halves it\n    return x / 2\n"
    with zipfile.ZipFile(tmp_path / "demo-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("demo/a.py", text)
    where = ("demo", "1.0", "demo/a.py", hashlib.sha256(text.encode()).hexdigest())
    item = PinnedQuestion(*where, query="halves it", kind="comment", cut=(2,), kept_frags=(2,))
    (record,) = join([item], Sources(Mirrors(tmp_path), WheelCache(tmp_path)))
    assert (record.code, record.kept_frags) == ("def f(x):\n    return x / 2\n", (2,))
    assert (record.project, record.path, record.kind) == ("demo", "demo/a.py", "comment")


def test_a_read_of_a_session_is_asked_for_in_its_own_words_and_one_that_its_log_lacks_is_named(mirror, read):
    (record,) = join([read], sources(mirror))
    assert record.query == "I'll read f_7 first.\n\nLet the seventh function return something else."
    assert record.lines == tuple(SHOWN)
    assert (record.path, record.kind, record.language, record.kept_frags) == ("src/f.c", "pi", "c", (7,))
    with pytest.raises(DataError, match=r"demo/twice/session.jsonl: has no big read by the call c9"):
        join([replace(read, call="c9")], sources(mirror))
    other = source(mirror, "other.jsonl")["blob"]
    with pytest.raises(DataError, match="no known host writes such a log"):
        join([replace(read, blob=other)], sources(mirror))


@pytest.fixture
def issue(mirror, monkeypatch):
    """A row about an instance of a benchmark that lies in the mirror."""
    monkeypatch.setattr(suites, "CONTEXTBENCH", "demo/twice")
    monkeypatch.setattr(suites, "CONTEXTBENCH_BLOB", source(mirror, "contexts.parquet")["blob"])
    return PinnedIssue(instance="demo-1", kind="issue", **source(mirror, "twice.c"))


def test_an_issue_is_the_whole_query_and_its_annotators_lines_are_gold(mirror, issue):
    (record,) = join([issue], sources(mirror))
    assert (record.query, record.code, record.kept_frags) == (ISSUE, CODE, (1, 2, 3))
    assert (record.project, record.path, record.kind) == ("demo/twice", "twice.c", "issue")
    assert suites.read_instances(instances())["demo-1"].gold["docs/twice.md"] == (1,)


@pytest.mark.parametrize("changed", [{"instance": "demo-2"}, {"path": "other.c"}])
def test_an_instance_without_gold_in_the_file_is_named(mirror, issue, changed):
    with pytest.raises(DataError, match=r"demo/twice/\w+\.c: ContextBench has no gold there by demo-\d"):
        join([replace(issue, **changed)], sources(mirror))


@pytest.mark.parametrize(
    "data", [b"", b"PAR1", instances(gold_context="context: 1"), instances(gold_context='[{"file": "a.c"}]')]
)
def test_a_file_that_is_not_the_benchmarks_is_refused(data):
    with pytest.raises(DataError, match="ContextBench's file isn't of the form"):
        suites.read_instances(data)


def big_read(task="", intent="", searched="", description=""):
    call, shown = Event("call", call="c", tool="read"), ShownLines(tuple(SHOWN), None)
    return BigRead(1, call, Read("src/f.c"), shown, task, intent, searched, description)


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (big_read("task", "a", "c", "b"), "a\nb\nc\n\ntask"),
        (big_read("task"), "task"),
        (big_read(), "src/f.c"),
        (big_read("t" * 50, "i" * 50), "i" * 10 + "\n\n" + "t" * 8),
        (big_read("t" * 3, "i" * 50), "i" * 15 + "\n\n" + "t" * 3),
        (big_read("t" * 50, "i"), "i\n\n" + "t" * 17),
    ],
)
def test_long_words_give_way_and_the_latest_stay(read, expected):
    assert words_before(read, 20) == expected


@pytest.mark.parametrize("layout", ["{}.git", "{}/repo"])
def test_other_layouts_of_a_mirror(mirror, item, layout):
    (mirror / "demo+twice").rename(mirror / "moved")
    place = mirror / layout.format("demo+twice")
    place.parent.mkdir(exist_ok=True)
    (mirror / "moved").rename(place)
    assert locate("demo/twice", mirror) == place
    assert join([item], sources(mirror))[0].code == CODE


def test_what_a_mirror_lacks_and_a_binary_file_is_refused(mirror, item):
    with pytest.raises(DataError, match=r"demo/other: no bare repository at .*demo\+other"):
        Mirrors(mirror).read("demo/other", item.blob)
    with pytest.raises(DataError, match=r"lacks blob 0000.* of demo/twice; fetch all its branches there"):
        Mirrors(mirror).read("demo/twice", "0" * 40)
    blob = subprocess.run(
        ["git", f"--git-dir={mirror}/demo+twice", "hash-object", "-w", "--stdin"],
        input=b"\xff\xfe",
        capture_output=True,
        check=True,
    ).stdout.decode()
    with pytest.raises(DataError, match="isn't UTF-8"):
        Mirrors(mirror).read("demo/twice", blob.strip())


def test_records_come_from_a_folder_of_bare_repositories_and_fit_their_files(mirror, item):
    (record,) = join([item], sources(mirror))
    assert (record.code, record.kept_frags, record.language) == (CODE, (2,), "c")
    assert (record.project, record.path, record.kind) == ("demo/twice", "twice.c", "how")
    with pytest.raises(DataError, match=r"the how item about twice.c: kept_frags holds 9"):
        join([replace(item, kept_frags=(9,))], sources(mirror))


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
    with pytest.raises(DataError, match=r"rows.jsonl:1: expected exactly the fields cut, kept_frags"):
        read_manifest(path)
    path.write_text("{\n")
    with pytest.raises(DataError, match=r"rows.jsonl:1: not JSON"):
        read_manifest(path)


def test_the_command_lists_every_suite_and_an_unknown_one_is_named(tmp_path):
    with pytest.raises(DataError, match="no suite is called 'none'; there are questions, polyglot"):
        build_suite("none", tmp_path)
    assert ", ".join((*SUITES, "repositories")) == SUITE_NAMES


def test_the_suite_of_repositories_is_pinned_and_its_projects_dont_train():
    items = read_items(manifest("repositories"))
    assert (len(items), len({item.repository for item in items}), len({item.language for item in items})) == (
        220,
        44,
        11,
    )
    assert all(len(item.revision) == 40 for item in items)
    assert {item.repository for item in items} <= {
        item.repository for item in read_manifest(manifest("edits"))
    }


@pytest.mark.parametrize("suite", PINNED)
def test_manifests_are_pinned_and_repeat_nothing(suite):
    items = read_manifest(manifest(suite))
    for item in items:
        assert len(item.commit) == len(item.blob) == 40
        assert item.licence
        if suite != "contexts":
            assert list(item.kept_frags) == sorted(set(item.kept_frags))
            assert item.kept_frags[0] > 0
            assert reserved_repository(item.repository) is None
            assert reserved_path(item.path) is None
    asked = ("query", "call", "instance")
    rows = {(item.repository, item.path, *(getattr(item, name, "") for name in asked)) for item in items}
    assert len(rows) == len(items)


def most(items, *names):
    """How many items at most have these fields in common."""
    return max(Counter(tuple(getattr(item, name) for name in names) for item in items).values())


def test_polyglot_edits_and_sessions_are_of_many_languages_and_projects():
    polyglot, edits, sessions = (
        read_manifest(manifest(suite)) for suite in ("polyglot", "edits", "sessions")
    )
    assert [len(items) for items in (polyglot, edits, sessions)] == [300, 300, 150]
    for items, count in ((polyglot, 10), (edits, 11)):
        languages = Counter(item.language for item in items)
        assert len(languages) == count
        assert min(languages.values()) >= 25
    assert most(polyglot, "repository", "path") <= 3
    assert {item.kind for item in polyglot} == {"behaviour", "config", "how", "where", "why"}
    assert most(edits, "repository") <= 12
    assert max(len(item.kept_frags) for item in edits) <= 60
    assert {item.kind for item in edits} == {"change", "fix", "test"}
    assert len({item.repository for item in sessions}) >= 8
    assert most(sessions, "repository") <= 32
    for name in ("kind", "language"):
        assert len({getattr(item, name) for item in sessions}) >= 4


def test_contexts_holds_reserved_projects_alone_and_neither_issues_nor_gold():
    items = read_manifest(manifest("contexts"))
    assert {type(item) for item in items} == {PinnedIssue}
    assert not [item for item in items if reserved_repository(item.repository) is None]
    assert [len({getattr(item, name) for item in items}) for name in ("repository", "language")] == [17, 6]
    assert (len(items), most(items, "repository") <= 12, most(items, "instance") <= 2) == (52, True, True)


def test_questions_are_about_one_version_of_reserved_packages_and_hold_no_code():
    items = read_manifest(manifest("questions"))
    kinds = Counter(item.kind for item in items)
    written = sum(kinds[kind] for kind in ("behaviour", "config", "how", "what-role", "where", "why"))
    assert (len(items), written) == (515, 215)
    assert all(reserved_package(item.project) for item in items)
    assert most(items, "path", "query") == 1
    assert len({(item.project, item.version) for item in items}) == len({item.project for item in items})
    for item in items:
        assert list(item.kept_frags) == sorted(set(item.kept_frags))
        assert len(item.sha256) == 64
        assert len(item.query) < 400
        assert "\n" not in item.query


def test_build_writes_a_suite(tmp_path, mirror, item, monkeypatch, capsys):
    rows = tmp_path / "polyglot.jsonl"
    rows.write_text(json.dumps({**vars(item), "kept_frags": [2]}) + "\n")
    monkeypatch.setattr("lamr_evaluation.suites.manifest", lambda suite: rows)
    out = tmp_path / "items.jsonl"
    arguments = [str(out), "--suite", "polyglot", "--mirror", str(mirror)]
    assert main(arguments) == 0
    assert [record.code for record in read_records(out)] == [CODE]
    assert capsys.readouterr().out == "1 items\n"
    assert main([*arguments[:-1], str(tmp_path)]) == 2
    assert "no bare repository" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give one of --data, --suite and"),
        (("--data", "a.jsonl", "--suite", "edits"), "give one of --data, --suite and"),
        (("--suite", "polyglot", "--mirror", "/dev/null"), "no bare repository"),
    ],
)
def test_the_command_says_what_it_lacks(arguments, message):
    done = run_main("eval", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
