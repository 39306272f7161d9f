"""The folder of a running front is refused where it can't serve, with the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from lamr_front.errors import FrontError
from lamr_front.run_folder import FOLDER_VARIABLE, MOST_PATH_BYTES, RunFolder


def test_a_path_that_is_too_long_for_sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / ("long" * 20)))
    with pytest.raises(FrontError, match=rf"at most {MOST_PATH_BYTES}; set {FOLDER_VARIABLE}"):
        RunFolder(tmp_path / "tenants.toml").make()
    assert not list(tmp_path.iterdir())


def test_a_file_in_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, "/dev/null/front")
    with pytest.raises(FrontError, match=FOLDER_VARIABLE):
        RunFolder(tmp_path / "tenants.toml").make()
