"""Which files of a repository count, and what is said of the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from lamr_repositories import RepositoryError, WalkOptions
from lamr_repositories.folders import Folder, NamedFiles
from lamr_repositories.revisions import Revision
from lamr_repositories.sources import FileSource
from lamr_repositories.walk import WalkCount, walk

from tests.repositories.conftest import POOL, git, write_files

SOURCES = ["README.md", "src/colours.py", "src/pool.py", "src/retry.go", "tests/test_pool.py", "web/view.ts"]


def walked(source: FileSource, options: WalkOptions | None = None) -> tuple[list[str], WalkCount]:
    count = WalkCount()
    return [listed.path for listed, _, _ in walk(source, options or WalkOptions(), count)], count


def test_what_nobody_wrote_by_hand_is_left_out_and_counted(folder: Path) -> None:
    paths, count = walked(Folder(folder))
    assert paths == SOURCES
    assert count.left_out == {"vendored": 1, "generated": 1, "minified": 1, "binary": 1, "empty": 1}
    assert count.files == count.read + sum(count.left_out.values())
    everything, _ = walked(Folder(folder), WalkOptions(everything=True))
    assert set(everything) - set(paths) == {"vendor/pool.py", "api.pb.go", "app.min.js"}


def test_files_of_other_encodings_count_and_their_secrets_are_found(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    write_files(tmp_path, {"plain.c": "int limit;\n"})
    (tmp_path / "latin.c").write_bytes("/* Größe */\n".encode("latin-1"))
    (tmp_path / "chinese.c").write_bytes("/* 设置重试上限 */\n".encode("gbk"))
    (tmp_path / "wide.txt").write_bytes("Größe\r\n".encode("utf-16"))
    (tmp_path / "key.txt").write_bytes(f"key = {token}\n".encode("utf-16"))
    paths, count = walked(Folder(tmp_path))
    assert paths == ["chinese.c", "latin.c", "plain.c", "wide.txt"]
    assert (dict(count.left_out), count.with_secrets) == ({"with secrets": 1}, ["key.txt"])


def test_gits_list_a_walk_and_a_revision_agree(repository: Path, folder: Path) -> None:
    (repository / ".gitignore").write_text("build/\n*.log\n!keep.log\n")
    write_files(repository, {"build/made.py": "x = 1\n", "a.log": "line\n", "keep.log": "line\n"})
    write_files(
        repository, {"deep/.gitignore": "/here.py\n", "deep/here.py": "x = 1\n", "deep/in/here.py": "x = 1\n"}
    )
    by_git, _ = walked(Folder(repository))
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "second")
    at_revision, _ = walked(Revision(repository, "HEAD"))
    (repository / ".git").rename(repository.parent / "away")
    by_walk, _ = walked(Folder(repository))
    assert by_git == by_walk == at_revision
    assert {"keep.log", "deep/in/here.py"} <= set(by_git)
    assert not {"build/made.py", "a.log", "deep/here.py"} & set(by_git)


def test_a_revision_is_read_from_git_whatever_the_work_tree_holds(repository: Path) -> None:
    (repository / "src/pool.py").write_text("changed = True\n")
    texts = {
        listed.path: text
        for listed, _, text in walk(Revision(repository, "main"), WalkOptions(), WalkCount())
    }
    assert "class Pool:" in texts["src/pool.py"]
    bare = repository.parent / "bare.git"
    git(repository, "clone", "-q", "--bare", ".", str(bare))
    assert walked(Revision(bare, "HEAD"))[0] == SOURCES
    assert walked(Revision(repository / "src", "HEAD"))[0] == ["colours.py", "pool.py", "retry.go"]
    with pytest.raises(RepositoryError, match="no revision 'none'"):
        Revision(repository, "none")


def test_links_are_not_followed(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("password = 'x'\n")
    (repository / "link.py").symlink_to(tmp_path / "secret.py")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "more.py").write_text("password = 'x'\n")
    (repository / "away").symlink_to(tmp_path / "elsewhere")
    paths, count = walked(Folder(repository))
    assert paths == SOURCES
    assert count.left_out["symbolic link"] == 2
    named, count = walked(NamedFiles(repository, ["away/more.py", "src/pool.py", "not/there.py"]))
    assert named == ["src/pool.py"]
    assert count.left_out == {"symbolic link": 1, "unreadable": 1}
    with pytest.raises(RepositoryError, match="lies outside"):
        NamedFiles(repository, ["../secret.py"])


def test_patterns_choose_files(folder: Path) -> None:
    (folder / ".lamrignore").write_text("colours.py\n.lamrignore\n")
    assert "src/colours.py" not in walked(Folder(folder))[0]
    (folder / ".lamrignore").write_text("colours.py\r\n.lamrignore\r\n", encoding="utf-16", newline="")
    assert "src/colours.py" not in walked(Folder(folder))[0]
    assert walked(Folder(folder), WalkOptions(include=("src/",)))[0] == ["src/pool.py", "src/retry.go"]
    assert walked(Folder(folder), WalkOptions(include=("./src",)))[0] == ["src/pool.py", "src/retry.go"]
    with pytest.raises(RepositoryError, match=r"no file matches '\*\.go,\*\.md': a comma is part"):
        walked(Folder(folder), WalkOptions(exclude=("*.go,*.md",)))
    paths, count = walked(Folder(folder), WalkOptions(exclude=("*.go", "*.md")))
    assert paths == ["src/pool.py", "tests/test_pool.py", "web/view.ts"]
    assert count.left_out["excluded"] == 5


def test_a_name_in_brackets_is_that_name_where_there_is_one(folder: Path) -> None:
    write_files(
        folder, {f"app/{name}/page.ts": "let x = 1;\n" for name in ("[id]", "[...all]", "i", "(group)")}
    )
    for pattern in ("app/[id]/page.ts", "app/[...all]/", "./app/[id]/*.ts", "app/(group)/**"):
        (path,), _ = walked(Folder(folder), WalkOptions(include=(pattern,)))
        assert path.split("/")[1] in pattern
    assert walked(Folder(folder), WalkOptions(include=("app/[hij]/",)))[0] == ["app/i/page.ts"]


def test_repositories_in_this_one_are_said_to_be_left_out(repository: Path) -> None:
    git(repository, "clone", "-q", ".", "inner")
    assert walked(Folder(repository))[1].left_out["folder, such as a submodule"] == 1
    git(repository, "add", "inner")
    assert walked(Folder(repository))[1].left_out["folder, such as a submodule"] == 1


def test_large_files_and_odd_names_are_left_out(folder: Path) -> None:
    write_files(folder, {"large.py": "x = 1\n" * 1000, "line\nend.py": "x = 1\n"})
    paths, count = walked(Folder(folder), WalkOptions(most_bytes=5000))
    assert not {"large.py", "line\nend.py"} & set(paths)
    assert count.left_out["larger than 5,000 bytes"] == 1
    assert count.left_out["name that can't be written"] == 1


def test_a_repository_runs_no_program(repository: Path, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(program))
    walked(Folder(repository))
    assert not (tmp_path / "ran").exists()


def test_what_is_no_repository_is_named(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="isn't a folder"):
        Folder(tmp_path / "none")
    with pytest.raises(RepositoryError, match="no git repository"):
        Revision(tmp_path, "HEAD")
    with pytest.raises(RepositoryError, match="not a pattern"):
        walked(Folder(tmp_path), WalkOptions(include=("!",)))


def test_a_folder_that_the_repository_around_it_ignores_is_walked(repository: Path) -> None:
    write_files(
        repository,
        {".gitignore": "installed/\n", "installed/pool/pool.py": POOL, "installed/pool/x.log": "x"},
    )
    write_files(repository, {"installed/pool/.gitignore": "*.log\n"})
    found = {each.path for each in Folder(repository / "installed" / "pool").files()}
    assert found == {"pool.py", ".gitignore"}
    assert not any("installed" in each.path for each in Folder(repository).files())
    assert {each.path for each in Folder(repository / "src").files()} == {"pool.py", "colours.py", "retry.go"}
