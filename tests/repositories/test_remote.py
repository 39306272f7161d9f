"""Repositories by URL: fetched without anything of theirs taking effect, and removed again."""

import tempfile
from pathlib import Path

import pytest
from lamr_base.errors import InvalidInputError
from lamr_repositories import PackOptions, RepositoryError, pack
from lamr_repositories.remote import fetched, is_url, name_of, shown

from tests.repositories.conftest import QUERY, git, write_files

BM25 = PackOptions()


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    place = tmp_path / "scratch"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


@pytest.mark.parametrize(
    ("root", "name"),
    [
        ("https://example.com/owner/name.git", "name"),
        ("https://user:secret@example.com/owner/name/", "name"),
        ("ssh://git@example.com/~owner/name", "name"),
        ("git@example.com:owner/name.git", "name"),
        ("git@example.com:name", "name"),
    ],
)
def test_urls_are_told_from_folders(root: str, name: str) -> None:
    assert is_url(root)
    assert name_of(root) == name


@pytest.mark.parametrize(
    "root", [".", "src/a:b", "C:/x", "ext::sh -c date", "https:", "-u", "ext://x", "a@b::c"]
)
def test_what_is_no_url_of_a_repository_is_a_folder(root: str) -> None:
    assert not is_url(root)


def test_a_url_gives_the_pack_of_the_folder(repository: Path, scratch: Path) -> None:
    stages = []
    url = repository.as_uri()
    fetched_pack = pack(url, QUERY, 700, options=BM25,
                        on_progress=lambda stage, done, total: stages.append((stage, done, total)))  # fmt: skip
    assert fetched_pack.text == pack(repository, QUERY, 700, options=BM25).text
    assert fetched_pack.seconds.fetch > 0
    assert "fetch" in fetched_pack.summary()
    assert {stage for stage, *_ in stages} >= {"files", "counting objects"}
    assert not list(scratch.iterdir())


def test_branches_tags_and_commits_are_fetched(repository: Path) -> None:
    first = git(repository, "rev-parse", "HEAD")
    git(repository, "tag", "v1")
    git(repository, "config", "uploadpack.allowAnySHA1InWant", "true")
    write_files(repository, {"src/closed.py": "def closed(pool):\n    return pool.closed\n"})
    git(repository, "checkout", "-q", "-b", "topic/new")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "second")
    git(repository, "checkout", "-q", "main")
    url = repository.as_uri()
    for revision, there in ((None, False), ("v1", False), (first, False), ("topic/new", True)):
        options = PackOptions(revision=revision)
        assert (
            "src/closed.py" in {each.path for each in pack(url, QUERY, 900, options=options).files}
        ) is there


@pytest.mark.parametrize(
    ("revision", "words"),
    [
        ("none", "has no branch or tag 'none'"),
        ("0" * 40, "no commit 0000"),
        ("main~1", "no branch, tag or whole commit hash"),
        ("--upload-pack=touch x", "no branch, tag or whole commit hash"),
        ("a:refs/heads/b", "no branch, tag or whole commit hash"),
    ],
)
def test_revisions_that_cannot_be_had_are_named(repository: Path, revision: str, words: str) -> None:
    with pytest.raises(RepositoryError, match=words):
        pack(repository.as_uri(), QUERY, 700, options=PackOptions(revision=revision))


def test_urls_that_cannot_be_fetched_are_named_without_their_passwords(
    tmp_path: Path, free_port: int
) -> None:
    with pytest.raises(RepositoryError, match="git couldn't fetch it"):
        pack((tmp_path / "gone").as_uri(), QUERY, 700, options=BM25)
    with pytest.raises(RepositoryError) as caught:
        pack(f"http://me:secret@127.0.0.1:{free_port}/a", QUERY, 700, options=BM25)
    assert "secret" not in str(caught.value)
    assert caught.value.path == f"http://127.0.0.1:{free_port}/a"
    assert shown("fatal: https://me:secret@example.com/a failed") == "fatal: https://example.com/a failed"
    with pytest.raises(InvalidInputError, match="not of a URL"):
        pack(tmp_path.as_uri(), QUERY, 700, options=PackOptions(names=("a",)))


def test_nothing_of_a_repository_runs_and_interrupts_clean_up(
    repository: Path, tmp_path: Path, scratch: Path
) -> None:
    ran = tmp_path / "ran"
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "reference-transaction", "post-merge", "upload-pack"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (hooks / name).chmod(0o755)
    git(repository, "config", "uploadpack.packObjectsHook", f"touch {ran};")
    git(repository, "config", "filter.run.smudge", f"touch {ran}")
    write_files(repository, {".gitattributes": "* filter=run\n"})
    git(repository, "-c", "core.hooksPath=/dev/null", "add", ".gitattributes")
    git(repository, "-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "attributes")
    pack(repository.as_uri(), QUERY, 700, options=BM25)
    assert not ran.exists()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), fetched(repository.as_uri(), None, interrupted):
        pass
    assert not list(scratch.iterdir())
