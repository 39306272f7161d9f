"""No name leads out of a root, whoever gave it, and nothing but regular files is read."""

import errno
import os
from pathlib import Path

import pytest
from lamr_repositories import safe_root
from lamr_repositories.safe_root import (
    LINK,
    MOST_DEPTH,
    OUTSIDE,
    TOO_DEEP,
    NotBelowError,
    SafeRoot,
    problem_of,
)


@pytest.fixture(params=[True, False], ids=["by descriptor", "by path"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of going: the one for systems without descriptors of folders as well."""
    monkeypatch.setattr(safe_root, "_BY_DESCRIPTOR", request.param)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with files, links out of it, and a secret beside it."""
    root = tmp_path / "root"
    (root / "in" / "deep").mkdir(parents=True)
    (root / "other").mkdir()
    for name in ("a.py", "in/b.py", "in/deep/c.py", "other/d.py"):
        (root / name).write_text(name)
    (tmp_path / "secret.py").write_text("secret")
    (root / "link.py").symlink_to("../secret.py")
    (root / "folder").symlink_to(tmp_path)
    (root / "inside").symlink_to("in")
    return root


@pytest.mark.parametrize(
    "name",
    ["../secret.py", "in/../../secret.py", "/etc/passwd", "//etc/passwd", "./a.py", "in//b.py", "", ".", "..",
     "/", "in/", ".git/config", "in/.git/config", ".GIT/config", ".git./config", "git~1/config", "a\0b"],
)  # fmt: skip
def test_names_that_lead_out_are_refused(root: Path, name: str) -> None:
    assert problem_of(name) == OUTSIDE
    with SafeRoot(root) as below:
        for ask in (below.status, lambda each: below.read(each, 100)):
            with pytest.raises(NotBelowError) as caught:
                ask(name)
            assert caught.value.problem == OUTSIDE


@pytest.mark.parametrize(
    "name", ["..a.py", "a..", "...", ".gitignore", ".github/a", "a.git/b", "git~a", "a b", "x.git"]
)
def test_names_that_look_like_it_are_not(name: str) -> None:
    assert problem_of(name) is None


def test_files_are_read_in_any_order(root: Path) -> None:
    with SafeRoot(root) as below:
        for name in ("in/deep/c.py", "a.py", "other/d.py", "in/b.py", "in/deep/c.py"):
            assert below.read(name, 100) == name.encode()
            assert below.status(name).st_size == len(name)
        assert sorted(below.entries("")) == [
            ("a.py", False), ("folder", False), ("in", True), ("inside", False), ("link.py", False), ("other", True),
        ]  # fmt: skip
        assert sorted(below.entries("in")) == [("b.py", False), ("deep", True)]


def test_links_are_not_followed(root: Path) -> None:
    with SafeRoot(root) as below:
        with pytest.raises(OSError, match="symbolic links"):
            below.read("link.py", 100)
        for name in ("folder/secret.py", "inside/b.py"):
            with pytest.raises(NotBelowError) as caught:
                below.read(name, 100)
            assert caught.value.problem == LINK
        with pytest.raises(OSError, match=r"link|Not a directory"):
            below.entries("folder")


def test_a_folder_that_becomes_a_link_is_not_followed(root: Path, tmp_path: Path) -> None:
    with SafeRoot(root) as below:
        assert below.read("in/b.py", 100) == b"in/b.py"
        assert below.read("a.py", 100) == b"a.py"
        (root / "in").rename(tmp_path / "moved")
        (root / "in").symlink_to(tmp_path)
        with pytest.raises(NotBelowError):
            below.read("in/secret.py", 100)


def test_only_regular_files_of_a_bounded_size_are_read(root: Path) -> None:
    os.mkfifo(root / "fifo")
    with SafeRoot(root) as below:
        assert below.read("fifo", 100) is None
        assert below.read("a.py", 4) == b"a.py"
        with pytest.raises(OSError, match="large") as caught:
            below.read("a.py", 3)
        assert caught.value.errno == errno.EFBIG
        with pytest.raises(IsADirectoryError):
            below.read("in", 100)
        with pytest.raises(FileNotFoundError):
            below.read("none/x.py", 100)
        assert problem_of("d/" * (MOST_DEPTH + 1) + "a") == TOO_DEEP


def test_what_was_opened_is_closed(root: Path) -> None:
    if not Path("/proc/self/fd").exists():
        return
    before = len([*Path("/proc/self/fd").iterdir()])
    with SafeRoot(root) as below:
        below.read("in/deep/c.py", 100)
        below.close()
    assert len([*Path("/proc/self/fd").iterdir()]) == before
