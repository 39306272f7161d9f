"""The folder of a running front is refused where it can't serve, with the remedy."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from lamr_serving.errors import FrontError
from lamr_serving.front.control import FOLDER_VARIABLE, MOST_PATH_BYTES, RunFolder
from lamr_serving.front.fleet import Fleet, FrontSettings, Replica
from lamr_serving.front.rendering import FrontPaths, render, write


def test_a_path_that_is_too_long_for_sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / ("long" * 20)))
    with pytest.raises(FrontError, match=rf"at most {MOST_PATH_BYTES}; set {FOLDER_VARIABLE}"):
        RunFolder(tmp_path / "tenants.toml").make()
    assert not list(tmp_path.iterdir())


def test_a_file_in_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, "/dev/null/front")
    with pytest.raises(FrontError, match=FOLDER_VARIABLE):
        RunFolder(tmp_path / "tenants.toml").make()


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a short path, which fronts run in."""
    with tempfile.TemporaryDirectory(prefix="lamr-") as name:
        monkeypatch.setenv(FOLDER_VARIABLE, name)
        yield Path(name)


def test_the_folder_is_the_users_own(short: Path) -> None:
    folder = RunFolder(short / "tenants.toml")
    folder.path.symlink_to(short)
    with pytest.raises(FrontError, match="folder"):
        folder.make()
    folder.path.unlink()
    folder.make()
    assert folder.path.stat().st_mode & 0o777 == 0o700
    with folder.held():
        assert (folder.path / "lock").stat().st_mode & 0o777 == 0o600


def test_what_is_written_is_for_its_owner_alone(tmp_path: Path) -> None:
    fleet = Fleet(FrontSettings(), (Replica("one", "127.0.0.1:9"),), ())
    places = FrontPaths(tmp_path / "made" / "files", tmp_path / "sockets")
    before = os.umask(0)
    try:
        written = write(render(fleet, places, "tenants.toml"), places)
        write(render(fleet, places, "tenants.toml"), places)  # again
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (*written, places.state_file)} == {0o600}
    assert {folder.stat().st_mode & 0o777 for folder in (places.folder, places.sockets)} == {0o700}
    written[0].unlink()
    written[0].symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="link"):
        write(render(fleet, places, "tenants.toml"), places)
    assert not (tmp_path / "elsewhere").exists()
