"""Folders and files of the user's alone: what is made, what is mended and what is refused."""

import os
import stat
from pathlib import Path

import pytest
from lamr_base.private_files import (
    cache_folder,
    open_private,
    private_file,
    private_folder,
    set_aside,
    take_lock,
    write_whole,
)

as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file away"
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_what_is_made_is_the_users_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = private_folder(tmp_path / "a" / "b")
        os.close(open_private(folder / "file"))
    finally:
        os.umask(before)
    assert [mode(path) for path in (folder.parent, folder, folder / "file")] == [0o700, 0o700, 0o600]


def test_an_open_folder_and_file_are_closed_to_others(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "file").write_text("kept")
    (folder / "file").chmod(0o644)
    private_folder(folder)
    descriptor = open_private(folder / "file")
    assert os.read(descriptor, 9) == b"kept"
    os.close(descriptor)
    assert (mode(folder), mode(folder / "file")) == (0o700, 0o600)


def test_links_are_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "link").symlink_to(victim)
    (tmp_path / "folder").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("link", "dangling"):
        with pytest.raises(PermissionError, match="it is a link"):
            open_private(tmp_path / name, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    for name in ("folder", "dangling", "link"):
        with pytest.raises(PermissionError, match="it is not a folder"):
            private_folder(tmp_path / name)
    assert victim.read_text() == "precious"
    assert not (tmp_path / "nowhere").exists()


def test_other_kinds_of_files_and_second_names_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PermissionError, match="not a regular file"):
        open_private(tmp_path / "pipe")
    (tmp_path / "file").touch()
    os.link(tmp_path / "file", tmp_path / "second")
    with pytest.raises(PermissionError, match="second name"):
        open_private(tmp_path / "second")


@as_root
def test_what_belongs_to_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    for name in ("folder", "file"):
        os.chown(tmp_path / name, 65534, 65534)
    with pytest.raises(PermissionError, match="belongs to user 65534"):
        private_folder(tmp_path / "folder")
    with pytest.raises(PermissionError, match="belongs to user 65534"):
        open_private(tmp_path / "file")


def test_a_relative_cache_folder_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for named in ("", "here"):
        monkeypatch.setenv("XDG_CACHE_HOME", named)
        assert cache_folder() == tmp_path / ".cache" / "lamr"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "c"))
    assert cache_folder() == tmp_path / "c" / "lamr"


def test_a_broken_database_is_set_aside_with_what_lies_beside_it(tmp_path: Path) -> None:
    for name in ("a.sqlite3", "a.sqlite3-wal", "a.sqlite3-journal", "a.sqlite3.broken"):
        (tmp_path / name).write_text(name)
    assert set_aside(tmp_path / "a.sqlite3") == tmp_path / "a.sqlite3.broken"
    assert [each.name for each in tmp_path.iterdir()] == ["a.sqlite3.broken"]
    assert (tmp_path / "a.sqlite3.broken").read_text() == "a.sqlite3"


def test_a_file_for_a_library_is_made_or_seen_to_be_ones_own(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert private_file(tmp_path / "file")
    finally:
        os.umask(before)
    assert mode(tmp_path / "file") == 0o600
    (tmp_path / "file").chmod(0o644)
    assert private_file(tmp_path / "file", make=False)
    assert mode(tmp_path / "file") == 0o600
    assert not private_file(tmp_path / "absent", make=False)
    assert not (tmp_path / "absent").exists()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe")
    os.link(tmp_path / "file", tmp_path / "second")
    (tmp_path / "folder").mkdir()
    for name, why in (
        ("link", "a link"),
        ("pipe", "regular"),
        ("second", "second name"),
        ("folder", "regular"),
    ):
        with pytest.raises(PermissionError, match=why):
            private_file(tmp_path / name)
    assert not (tmp_path / "nowhere").exists()


def test_a_file_that_is_there_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing a descriptor would release the locks that SQLite has on the file elsewhere in the process."""
    private_file(tmp_path / "file")
    opened: list[int] = []
    open_file = os.open

    def watched(path: str, flags: int, mode: int = 0o777) -> int:
        opened.append(open_file(path, flags, mode))
        return opened[-1]

    monkeypatch.setattr(os, "open", watched)
    assert private_file(tmp_path / "file")
    assert opened == []


@as_root
def test_a_file_for_a_library_that_belongs_to_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.chown(tmp_path / "file", 65534, 65534)
    with pytest.raises(PermissionError, match="belongs to user 65534"):
        private_file(tmp_path / "file")


def test_a_lock_is_held_until_its_file_is_closed(tmp_path: Path) -> None:
    first, second = (open_private(tmp_path / "lock") for _ in range(2))
    try:
        assert take_lock(first)
        assert not take_lock(second)
    finally:
        os.close(first)
    assert take_lock(second)
    os.close(second)


def test_a_file_is_replaced_where_its_link_leads_and_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    file = tmp_path / "there" / "settings.json"
    (tmp_path / "link").symlink_to(file)
    write_whole(tmp_path / "link", "é\n")
    assert (file.read_text(encoding="utf-8"), mode(file)) == ("é\n", 0o600)
    file.chmod(0o640)
    write_whole(tmp_path / "link", "more\n")
    assert (file.read_text(), mode(file)) == ("more\n", 0o640)
    assert (tmp_path / "link").is_symlink()


def test_a_file_that_cant_be_written_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text("before\n")
    with pytest.raises(UnicodeEncodeError):
        write_whole(file, "half\ud800")
    assert file.read_text() == "before\n"
    assert list(tmp_path.iterdir()) == [file]
