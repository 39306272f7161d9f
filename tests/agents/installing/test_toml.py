"""A table in a TOML file: it stands there after the install, and the rest stays as it was, to the byte."""

import sys
from pathlib import Path
from typing import Any

import pytest
from lamr_agents.host import Command, HostSettingsError
from lamr_agents.hosts import HOSTS
from lamr_agents.installing import change, installed, removed

toml: Any = __import__("tomllib" if sys.version_info >= (3, 11) else "tomli")
VIBE = HOSTS["mistral-vibe"]
COMMAND = Command(["python", "lamr_agents/thin.py", "--host", 'x "y'])
OTHER = Command(["python", "lamr_agents/thin.py", "--serve", '["--no-texts"]'])
OTHERS_HOOK = '[[hooks]]\nname = "lint"  # mine\ntype = "post_agent"\ncommand = "make lint"\n'


@pytest.mark.parametrize("forgotten", [False, True])
@pytest.mark.parametrize(
    "text", [None, "", "x = 1", "# mine\n", OTHERS_HOOK, f"x = 1\r\n{OTHERS_HOOK}\n[y]\nz = 1\n"]
)
def test_a_table_comes_and_goes(tmp_path: Path, text: str | None, forgotten: bool) -> None:
    path = tmp_path / "new" / "hooks.toml"
    if text is not None:
        path.parent.mkdir()
        path.write_bytes(text.encode())
    for command in (COMMAND, OTHER):
        installed(VIBE, path, command).write()
        *others, ours = toml.loads(path.read_bytes().decode())["hooks"]
        assert (ours["name"], ours["type"], ours["command"]) == ("lamr", "post_tool", command.line)
        assert [each["name"] for each in others] == (["lint"] if text and "lint" in text else [])
        assert not installed(VIBE, path, command).is_one
    if forgotten:  # as on another machine; the entry is found by its form
        change.remember(VIBE.name, path, None)
        removed(VIBE, path).write()
        assert toml.loads(path.read_bytes().decode()) == toml.loads(text or "")
    else:
        removed(VIBE, path).write()
        assert (path.read_bytes().decode() if path.exists() else None) == text
    assert not removed(VIBE, path).is_one


def test_what_the_user_writes_below_stays(tmp_path: Path) -> None:
    path = tmp_path / "hooks.toml"
    installed(VIBE, path, COMMAND).write()
    path.write_text(path.read_text() + OTHERS_HOOK)
    removed(VIBE, path).write()
    assert path.read_text() == OTHERS_HOOK


@pytest.mark.parametrize("text", ["hooks = []\n", "hooks = 1\n", "[[hooks]\n"])
def test_a_file_that_cant_have_the_table_stays(tmp_path: Path, text: str) -> None:
    path = tmp_path / "hooks.toml"
    path.write_text(text)
    with pytest.raises(HostSettingsError, match="not TOML with a list of tables"):
        installed(VIBE, path, COMMAND)
    assert path.read_text() == text
