"""git is started in one place, where nothing of the repository's runs, and is bounded."""

import io
import os
import subprocess
import time
from pathlib import Path

import pytest
from lamr_repositories import RepositoryError, pack
from lamr_repositories import git as git_module
from lamr_repositories.errors import GitError, SlowGitError
from lamr_repositories.folders import Folder
from lamr_repositories.git import list_rows, run_git, transport_of
from lamr_repositories.revisions import Revision, read_object
from lamr_repositories.watch import Watch

from tests.repositories.conftest import git


def test_the_callers_variables_do_not_reach_git(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = str(repository.parent / "nowhere")  # where a trace would be written, too
    directories = ("DIR", "WORK_TREE", "OBJECT_DIRECTORY", "ALTERNATE_OBJECT_DIRECTORIES", "NAMESPACE")
    programs = ("EXTERNAL_DIFF", "SSH_COMMAND", "ASKPASS", "EXEC_PATH", "TRACE", "TRACE2")
    for name in (*directories, *programs, "INDEX_FILE", "CONFIG_COUNT", "CONFIG_PARAMETERS"):
        monkeypatch.setenv(f"GIT_{name}", nowhere)
    monkeypatch.setenv("SSH_AUTH_SOCK", "/agent")
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.environ['PATH']}")
    found = {each.path for each in Folder(repository).files()}
    assert "src/pool.py" in found
    script = "!env >&2"
    said = run_git("-c", f"alias.show-env={script}", "show-env").stderr.decode().splitlines()
    known = dict(row.split("=", 1) for row in said if "=" in row)
    assert nowhere not in known.values()
    assert known["GIT_ALLOW_PROTOCOL"] == "none"
    assert known["GIT_NO_LAZY_FETCH"] == "1"
    assert "SSH_AUTH_SOCK" not in known
    assert known["HOME"] == os.environ["HOME"]
    assert not [part for part in known["PATH"].split(os.pathsep) if not Path(part).is_absolute()]


@pytest.mark.parametrize(
    ("url", "allowed", "agent"),
    [
        ("https://h/r", "https", True),
        ("http://h/r", "http:https", True),
        ("a@h:r", "ssh", True),
        (None, "none", False),
    ],
)
def test_a_url_allows_its_own_transport_only(
    url: str | None, allowed: str, agent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", "/agent")
    said = run_git("-c", "alias.show-env=!env >&2", "show-env", url=url).stderr.decode()
    assert f"GIT_ALLOW_PROTOCOL={allowed}\n" in said
    assert ("SSH_AUTH_SOCK=/agent" in said) is agent


def test_transports_are_told_from_urls() -> None:
    known = {
        "HTTPS://h/r": "https",
        "a@h:r": "ssh",
        "h:r": "ssh",
        "/p/q": "file",
        "./a:b": "file",
        "file:///p": "file",
    }
    assert {url: transport_of(url) for url in known} == known


def test_a_repository_of_another_user_is_refused_with_the_remedy(repository: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git(repository, "clone", "-q", "--bare", ".", str(bare))
    stranger = 12_345
    for place in (repository, bare):
        for each in (place, *place.rglob("*")):
            os.chown(each, stranger, stranger, follow_symlinks=False)
    for attempt in (
        lambda: Revision(bare, "HEAD"),
        lambda: Revision(repository, "HEAD"),
        lambda: [*Folder(repository).files()],
    ):
        with pytest.raises(GitError, match=r"dubious ownership.*git config --global --add safe.directory '/"):
            attempt()
    with pytest.raises(RepositoryError, match="dubious ownership"):
        pack(repository.as_uri(), "pools")
    # Whoever owns a folder above the user's doesn't keep the user from the user's own.
    mine = repository / "mine"
    mine.mkdir()
    (mine / "a.py").write_text("x = 1\n")
    assert [each.path for each in Folder(mine).files()] == ["a.py"]


def test_the_users_safe_directories_count(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in (repository, *repository.rglob("*")):
        os.chown(each, 12_345, 12_345, follow_symlinks=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text(f"[safe]\n\tdirectory = {repository.resolve()}\n")
    assert "src/pool.py" in {each.path for each in Revision(repository, "HEAD").files()}


def test_a_list_without_end_is_ended(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_module, "MOST_NAMES", 3)
    with pytest.raises(RepositoryError, match="more than 3 files"):
        list_rows("ls-files", "-z", folder=repository)


def test_a_git_that_is_silent_is_ended(repository: Path) -> None:
    waiting = ("-c", "alias.wait=!exec sleep 30", "wait")
    begin = time.monotonic()
    with pytest.raises(SlowGitError, match="was ended after 0 s"):
        list_rows(*waiting, folder=repository, seconds=0.2)
    with pytest.raises(SlowGitError, match="was ended after 0 s"):
        run_git(*waiting, folder=repository, seconds=0.2)
    assert time.monotonic() - begin < 20


def test_a_watch_counts_only_while_somebody_waits() -> None:
    with subprocess.Popen(["sleep", "30"], start_new_session=True) as process:
        with Watch(process, 0.05) as watch:
            watch.rest()
            time.sleep(0.3)
            assert process.poll() is None
            watch.beat()
            process.wait(timeout=20)
        assert watch.late


def test_what_git_says_is_shown_without_control_signs(tmp_path: Path) -> None:
    run_git("init", "-q", str(tmp_path))
    (tmp_path / ".git" / "config").write_bytes(b"[core\x1b]0;owned\x07\n")
    with pytest.raises(GitError) as caught:
        list(Folder(tmp_path).files())
    assert str(caught.value).isprintable()


def test_what_git_thinks_about_without_end_is_walked(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / ".gitignore").write_text("*.log\n")
    (repository / "a.log").write_text("x")
    git(repository, "add", "-f", "a.log")
    (repository / "b.log").write_text("x")
    by_git = [each.path for each in Folder(repository).files()]
    asked = git_module.list_rows

    def without_others(*arguments: str, **more: object) -> list[bytes]:
        if "--others" in arguments:
            raise SlowGitError("too slow")
        return asked(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr("lamr_repositories.folders.list_rows", without_others)
    assert [each.path for each in Folder(repository).files()] == by_git
    assert "a.log" in by_git
    assert "b.log" not in by_git


def test_a_revision_of_another_repository_is_refused(repository: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    (clone / ".git").write_text(f"gitdir: {repository / '.git'}\n")
    with pytest.raises(RepositoryError, match="doesn't point back"):
        Revision(clone, "HEAD")
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert Revision(tmp_path / "tree", "HEAD").commit == git(repository, "rev-parse", "HEAD")


@pytest.mark.parametrize("most", [None, 3])
def test_an_object_that_is_longer_than_it_says_ends_the_reading(most: int | None) -> None:
    longer = io.BytesIO(b"aa blob 6\n" + b"\0" * 4_000 + b"\nbb blob 2\nx\n\n")
    assert read_object(longer, most) is None
    right = io.BytesIO(b"aa blob 6\nabcdef\nbb blob 2\nx\n\ncc missing\n")
    assert read_object(right) == ("aa", b"abcdef")
    assert read_object(right, 1) == ("bb", None)
    assert read_object(right) == ("cc", None)
    assert read_object(right) is None
