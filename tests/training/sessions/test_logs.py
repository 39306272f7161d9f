"""Where the files of a session lie within its project."""

from __future__ import annotations

import json

import pytest
from lamr_training.sessions.build import project_path, working_folders


def log(*folders: str) -> str:
    return "".join(json.dumps({"cwd": folder}) + "\n" for folder in folders)


def test_folders_with_the_projects_name_count_and_else_the_one_named_most() -> None:
    text = log("/home/ann", "/home/ann/Headers", "/home/ann/headers/web", "/home/ann", "/home/ann")
    assert working_folders(text, "headers") == ("/home/ann/headers/web", "/home/ann/Headers")
    assert working_folders(log("/w/one", "/w/two", "/w/two"), "headers") == ("/w/two",)
    assert working_folders(log("D:\\work\\headers"), "headers") == ("D:/work/headers",)
    assert working_folders("no folder", "headers") == ()


@pytest.mark.parametrize(
    ("path", "folders", "within"),
    [
        ("/w/headers/src/a.py", ("/w/headers",), "src/a.py"),
        ("/w/other/src/a.py", ("/w/headers",), None),
        ("D:\\work\\headers\\src\\a.py", ("D:/work/headers",), "src/a.py"),
        ("C:\\else\\a.py", ("D:/work/headers",), None),
        ("./src/a.py", ("/w/headers",), "src/a.py"),
        ("src/a.py", (), "src/a.py"),
        ("../other/a.py", ("/w/headers",), None),
        ("~/other/a.py", (), None),
        ("/w/headers/.claude/worktrees/topic/src/a.py", ("/w/headers",), "src/a.py"),
        ("/home/ann/headers/src/a.py", (), "src/a.py"),
        ("/home/ann/other/src/a.py", (), None),
    ],
)
def test_a_path_is_the_projects_or_none(path: str, folders: tuple[str, ...], within: str | None) -> None:
    assert project_path(path, folders, "headers") == within
