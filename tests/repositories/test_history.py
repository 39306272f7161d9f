"""What past commits say about a question, read from real git histories."""

from __future__ import annotations

from pathlib import Path

import pytest
from lamr_repositories import PackOptions, pack
from lamr_repositories.history import Change, past_changes, rank_by_history
from lamr_repositories.sources import Folder, Revision

from tests.repositories.conftest import git, write_files

FILES = ["a.py", "b.py", "c.py"]


@pytest.fixture
def changed(repository: Path) -> Path:
    """A repository whose files were changed by commits with messages of several kinds."""
    for message, paths in (
        ("Répare le délai d'attente\n\nof two\n\n\nparagraphs", ["src/pool.py"]),
        ("Rename everything", ["src/pool.py", "src/retry.go", "web/view.ts"]),
        ("", ["src/retry.go"]),
        ("Mix greener colours", ["src/colours.py", "a strange\nname.py"]),
    ):
        for path in paths:
            place = repository / path
            place.write_text((place.read_text() if place.exists() else "") + "\n", encoding="utf-8")
        git(repository, "add", "-A")
        git(repository, "commit", "-q", "--allow-empty-message", "-m", message)
    git(repository, "commit", "-q", "--allow-empty", "-m", "Change nothing")
    return repository


def test_a_history_is_read_newest_first_with_messages_and_paths(changed: Path) -> None:
    found = past_changes("HEAD", folder=changed)
    assert [each.message.strip() for each in found] == [
        "Mix greener colours",
        "",
        "Rename everything",
        "Répare le délai d'attente\n\nof two\n\nparagraphs",
        "first",
    ]
    assert [sorted(each.paths) for each in found[:4]] == [
        ["a strange\nname.py", "src/colours.py"],
        ["src/retry.go"],
        ["src/pool.py", "src/retry.go", "web/view.ts"],
        ["src/pool.py"],
    ]


def test_a_source_tells_the_changes_of_its_own_files(changed: Path) -> None:
    commit = git(changed, "rev-parse", "HEAD~2")
    whole, part = Revision(changed, commit), Revision(changed / "src", commit)
    assert [each.paths for each in whole.changes()][:1] == [("src/retry.go",)]
    assert part.changes()[0].paths == ("retry.go",)
    assert {path for each in part.changes() for path in each.paths} == {"pool.py", "retry.go", "colours.py"}
    assert Folder(changed / "src").changes()[0].paths == ("colours.py",)


def test_where_there_is_no_history_there_is_no_change(folder: Path) -> None:
    assert Folder(folder).changes() == []
    git(folder, "init", "-q")
    assert Folder(folder).changes() == []  # a branch without a commit


def test_a_signature_is_not_checked(changed: Path) -> None:
    marker = changed / "ran"
    git(changed, "config", "log.showSignature", "true")
    git(changed, "config", "gpg.program", f"touch {marker};")
    assert len(Folder(changed).changes()) == 5
    assert not marker.exists()


def test_a_file_has_the_rank_of_its_likest_change() -> None:
    changes = [
        Change("Wake callers of a closed pool", ("b.py", "gone.py")),
        Change("Close the pool", ("a.py", "b.py")),
        Change("Mix colours", ("c.py",)),
    ]
    scores = rank_by_history("callers wait when the pool is closed", changes, FILES)
    assert scores[1] == 1.0
    assert 0 < scores[0] < 1
    assert scores[2] == 0


def test_a_change_of_many_files_says_less_of_each() -> None:
    alone = rank_by_history("pool", [Change("pool", ("a.py",)), Change("x", ("b.py",))], FILES)
    both = rank_by_history("pool", [Change("pool", ("a.py", "b.py")), Change("x", ("b.py",))], FILES)
    assert alone[0] == 1.0
    assert both[0] == both[1] == pytest.approx(0.5**0.5)
    flood = Change("pool", ("a.py", *(f"{n}.py" for n in range(30))))
    assert not rank_by_history("pool", [flood, Change("x", ("b.py",))], FILES).any()


@pytest.mark.parametrize(
    ("query", "changes"),
    [
        ("pool", []),
        ("of the and", [Change("of the and", ("a.py",))]),
        ("pool", [Change("", ("a.py",))]),
        ("pool", [Change("pool", ())]),
    ],
)
def test_nothing_is_said_without_words_or_files(query: str, changes: list[Change]) -> None:
    assert rank_by_history(query, changes, FILES).tolist() == [0.0, 0.0, 0.0]


def test_a_pack_prefers_the_file_that_a_like_change_touched(tmp_path: Path) -> None:
    body = "def handle(request):\n    return request\n"
    write_files(tmp_path, {f"{name}.py": body for name in "abcdefgh"})
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "first")
    (tmp_path / "f.py").write_text(body + "\n", encoding="utf-8")
    git(tmp_path, "commit", "-qam", "Answer slow requests in time")
    options = PackOptions(ranker="bm25")
    found = pack(tmp_path, "slow requests handled too late", 2_000, options=options)
    assert max(found.files, key=lambda each: each.score).path == "f.py"
