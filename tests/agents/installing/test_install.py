"""Installing and uninstalling: the file afterwards is the one before, to the byte, whatever it was."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lamr_agents.host import Command, Host, HostSettingsError
from lamr_agents.hosts import HOSTS
from lamr_agents.installing import SettingsScope, change, installed, removed, settings_path
from lamr_agents.installing.json_entries import read
from lamr_base.private_files import state_folder

from tests.agents.installing.test_jsonc import texts

COMMAND = Command(["python", "lamr_agents/thin.py", "--host", "x y"])
OTHER = Command(["python", "lamr_agents/thin.py", "--serve", '["--no-texts"]'])
CLAUDE, GEMINI, CURSOR = (HOSTS[name] for name in ("claude-code", "gemini-cli", "cursor"))
IN_JSON = st.sampled_from([CLAUDE, GEMINI, CURSOR])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A host's settings."""
    return tmp_path / "settings.json"


def file_of(text: str) -> Path:
    """A file with a text, in a folder of its own."""
    path = Path(tempfile.mkdtemp()) / "settings.json"
    path.write_bytes(text.encode())
    return path


@settings(max_examples=120)
@given(IN_JSON, texts(), st.booleans(), st.booleans())
def test_what_was_there_is_there_afterwards(host: Host, text: str, twice: bool, forgotten: bool) -> None:
    path = file_of(text)
    try:
        installed(host, path, COMMAND).write()
        if twice:
            installed(host, path, OTHER).write()
            assert "no-texts" in path.read_text()
        read(path.read_bytes().decode())
        assert not installed(host, path, OTHER if twice else COMMAND).is_one
        if forgotten:  # as on another machine; the entry is found by its form
            change.remember(host.name, path, None)
        removed(host, path).write()
        assert not removed(host, path).is_one
        left = path.read_bytes().decode()
        if forgotten:
            assert data_of(left) == data_of(text)
        else:
            assert left == text
    finally:
        shutil.rmtree(path.parent)


def data_of(text: str) -> Any:
    """What a file says; one that says nothing has no settings."""
    value = read(text)
    return {} if value is None else without_what_is_empty(value.data)


def without_what_is_empty(data: dict[str, Any]) -> dict[str, Any]:
    """Settings without lists and objects for hooks or servers that hold nothing."""
    kept = dict(data)
    for key in ("hooks", "mcpServers"):
        if isinstance(kept.get(key), dict):
            inner = {name: value for name, value in kept[key].items() if value}
            kept = (
                {**kept, key: inner}
                if inner
                else {name: value for name, value in kept.items() if name != key}
            )
    return kept


@settings(max_examples=120)
@given(IN_JSON, texts(), st.sampled_from([' "new": [1, {}],', '\n  "new": "x",  // mine\n']), st.booleans())
def test_what_the_user_writes_meanwhile_stays_as_if_lamr_had_never_been_there(
    host: Host, text: str, edit: str, at_the_end: bool
) -> None:
    value = read(text)
    assume(value is not None and value.parts)

    def edited(now: str) -> str:
        root = read(now)
        assert root is not None
        if not at_the_end:
            return now[: root.start + 1] + edit + now[root.start + 1 :]
        return now + "\n// more"

    path = file_of(text)
    try:
        installed(host, path, COMMAND).write()
        path.write_bytes(edited(path.read_bytes().decode()).encode())
        removed(host, path).write()
        assert path.read_bytes().decode() == edited(text)
    finally:
        shutil.rmtree(path.parent)


HOOK = {"type": "command", "command": "fmt"}
WITH_OTHERS = json.dumps(
    {
        "model": "opus",
        "hooks": {"PostToolUse": [{"matcher": "Edit", "hooks": [HOOK]}], "Stop": [{"hooks": [HOOK]}]},
    },
    indent=4,
)


def add_another(data: dict[str, Any]) -> None:
    data["hooks"]["PostToolUse"].append({"matcher": "Write", "hooks": [HOOK]})


def add_beside_ours(data: dict[str, Any]) -> None:
    data["hooks"]["PostToolUse"][-1]["hooks"].insert(0, HOOK)


def drop_the_others(data: dict[str, Any]) -> None:
    data["hooks"] = {"PostToolUse": data["hooks"]["PostToolUse"][-1:]}


@pytest.mark.parametrize("edit", [add_another, add_beside_ours, drop_the_others])
@pytest.mark.parametrize("indent", [None, 1, 4])
def test_a_file_that_another_program_writes_anew_loses_lamrs_entry_alone(
    path: Path, edit: Callable[[dict[str, Any]], None], indent: int | None
) -> None:
    path.write_text(WITH_OTHERS)
    installed(CLAUDE, path, COMMAND).write()
    data = json.loads(path.read_text())
    edit(data)
    path.write_text(json.dumps(data, indent=indent))
    removed(CLAUDE, path).write()
    left = path.read_text()
    assert "thin.py" not in left
    assert json.dumps(json.loads(left), indent=indent) == left  # in the other program's manner
    hooks = [
        hook for group in json.loads(left).get("hooks", {}).get("PostToolUse", []) for hook in group["hooks"]
    ]
    assert all(hook == HOOK for hook in hooks)
    assert len(hooks) == (2 if edit is not drop_the_others else 0)


def test_what_lamr_made_is_removed_with_the_folders_that_it_made(tmp_path: Path) -> None:
    for name, below in (("claude-code", "settings.json"), ("copilot-cli", "hooks/lamr.json")):
        path = tmp_path / "a" / "b" / below
        installed(HOSTS[name], path, COMMAND).write()
        installed(HOSTS[name], path, OTHER).write()
        assert path.exists()
        removed(HOSTS[name], path).write()
        assert not list(tmp_path.iterdir())


def test_a_folder_that_others_use_by_now_stays(tmp_path: Path) -> None:
    path = tmp_path / "a" / "settings.json"
    installed(CLAUDE, path, COMMAND).write()
    (tmp_path / "a" / "mine").touch()
    removed(CLAUDE, path).write()
    assert [each.name for each in (tmp_path / "a").iterdir()] == ["mine"]


def test_what_others_put_into_a_file_that_lamr_made_stays(path: Path) -> None:
    installed(CLAUDE, path, COMMAND).write()
    path.write_text(path.read_text().replace("{", '{\n  "model": "opus",', 1))
    removed(CLAUDE, path).write()
    assert json.loads(path.read_text()) == {"model": "opus"}


def test_a_link_stays_one_and_its_target_is_what_it_was(tmp_path: Path) -> None:
    target, path = tmp_path / "dotfiles" / "settings.json", tmp_path / "settings.json"
    target.parent.mkdir()
    target.write_text("{ }")
    target.chmod(0o640)
    path.symlink_to(target)
    installed(CLAUDE, path, COMMAND).write()
    assert "thin.py" in target.read_text()
    removed(CLAUDE, path).write()
    assert path.is_symlink()
    assert target.read_text() == "{ }"
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_record_that_is_broken_costs_nothing_but_blanks(path: Path) -> None:
    path.write_text('{"a": 1}\n')
    installed(CLAUDE, path, COMMAND).write()
    (state_folder() / "installed.json").write_text('{"claude-code')
    removed(CLAUDE, path).write()
    assert path.read_text() == '{"a": 1}\n'


def test_where_no_record_can_be_kept_lamr_is_installed_all_the_same(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").write_text("somebody's file")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path.write_text('{"a": 1}\n')
    installed(CLAUDE, path, COMMAND).write()
    assert "thin.py" in path.read_text()
    removed(CLAUDE, path).write()
    assert path.read_text() == '{"a": 1}\n'


def test_somebody_elses_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "lamr.json"
    path.write_text("mine")
    copilot = HOSTS["copilot-cli"]
    with pytest.raises(
        HostSettingsError, match="somebody else's file has this name; move it away first; nothing was"
    ):
        installed(copilot, path, COMMAND)
    assert not removed(copilot, path).is_one


@pytest.mark.parametrize("variable", ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME"])
def test_a_folder_that_users_have_moved_is_where_settings_go(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    (host,) = (host for host in HOSTS.values() if host.folder and host.folder.variable == variable)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert settings_path(host).is_relative_to(tmp_path / "home")
    monkeypatch.setenv(variable, str(tmp_path / "moved"))
    assert settings_path(host).is_relative_to(tmp_path / "moved")
    monkeypatch.setenv(variable, "~/elsewhere")
    assert settings_path(host).is_relative_to(tmp_path / "home" / "elsewhere")


def test_a_projects_own_settings_and_those_that_are_checked_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert settings_path(CLAUDE, SettingsScope.PROJECT) == tmp_path / ".claude" / "settings.local.json"
    assert settings_path(CLAUDE, SettingsScope.SHARED) == tmp_path / ".claude" / "settings.json"
    with pytest.raises(
        HostSettingsError, match="no settings of one's own in a project; use --shared, or leave"
    ):
        settings_path(GEMINI, SettingsScope.PROJECT)
    with pytest.raises(HostSettingsError, match="no settings to check in in a project; leave the option out"):
        settings_path(HOSTS["windsurf"], SettingsScope.SHARED)
    with pytest.raises(HostSettingsError, match=r"docs/agents\.md"):
        settings_path(HOSTS["openhands"])


def test_no_row_names_a_program_twice_and_each_has_a_day() -> None:
    programs = [program for host in HOSTS.values() for program in host.programs]
    assert len(set(programs)) == len(programs)
    assert all(len(host.on) == len("2026-11-25") for host in HOSTS.values())
    assert all(host.settings is None or host.folder for host in HOSTS.values())


@pytest.mark.parametrize(
    ("text", "edit", "left"),
    [
        ("{}", ("{", '{\n  "x": 1,'), {"x": 1}),  # before the entry, with a comma that the object needed
        ('{"hooks": {}}', ("]}}", ']}, "x": 1}'), {"hooks": {}, "x": 1}),
        ('{"hooks": {}}', ("}]}", '}], "Stop": []}'), {"hooks": {"Stop": []}}),
        ('{"a": 1,}', ("]}}", ']}, "x": 1}'), {"a": 1, "x": 1}),
        ('{"a": 1}', ("]}}", ']}, "x": 1}'), {"a": 1, "x": 1}),
    ],
)
def test_what_is_put_beside_the_entry_leaves_json_behind(
    path: Path, text: str, edit: tuple[str, str], left: Any
) -> None:
    path.write_text(text)
    installed(CLAUDE, path, COMMAND).write()
    with_entry = path.read_text()
    assert with_entry.count(edit[0]) >= 1
    path.write_text(
        edit[1].join(with_entry.rsplit(edit[0], 1)) if edit[0] != "{" else edit[1] + with_entry[1:]
    )
    removed(CLAUDE, path).write()
    assert json.loads(path.read_text()) == left


def test_a_link_that_led_nowhere_does_so_again(tmp_path: Path, path: Path) -> None:
    path.symlink_to(tmp_path / "dotfiles.json")
    installed(CLAUDE, path, COMMAND).write()
    removed(CLAUDE, path).write()
    assert path.is_symlink()
    assert not path.exists()


def test_what_a_host_writes_between_reading_and_writing_is_kept(path: Path) -> None:
    path.write_text("{}")
    planned = installed(CLAUDE, path, COMMAND)
    path.write_text('{"model": "opus"}')
    with pytest.raises(HostSettingsError, match="was changed meanwhile; try again, nothing was changed"):
        planned.write()
    assert path.read_text() == '{"model": "opus"}'
    assert not removed(CLAUDE, path).is_one


def test_installs_at_once_keep_each_others_records(tmp_path: Path) -> None:
    text = (
        '{"hooks": {"PostToolUse": [ ], "AfterTool": [ ]}, "mcpServers": { }}'  # by its form, less comes out
    )
    hosts = (CLAUDE, GEMINI, CURSOR)
    paths = [tmp_path / f"{number}-{host.name}.json" for number in range(8) for host in hosts]
    for path in paths:
        path.write_text(text)

    def change(make: Callable[..., Any]) -> None:
        with ThreadPoolExecutor(len(paths)) as pool:
            list(pool.map(make, hosts * 8, paths))

    change(lambda host, path: installed(host, path, COMMAND).write())
    assert len(json.loads((state_folder() / "installed.json").read_text())) >= len(paths)
    change(lambda host, path: removed(host, path).write())
    assert {path.read_text() for path in paths} == {text}


KILLED = """
import os, sys
from pathlib import Path
from lamr_agents.host import Command
from lamr_agents.hosts import HOSTS
from lamr_agents.installing import installed, removed

name, text, folder = sys.argv[1:]
host = HOSTS[name]

def at(count, make):  # whether a child that is killed before its so-manyeth event was killed before it was done
    home = Path(folder, make, str(count))
    os.environ.update(HOME=str(home), XDG_STATE_HOME=str(home / "state"))
    path = home / "a" / "b" / "settings.json"
    def run(words, killed=False):
        command = Command(["python", "lamr_agents/thin.py", *words])
        change = installed(host, path, command) if words else removed(host, path)
        if not killed:
            change.write()
            return 0
        child = os.fork()
        if child == 0:
            left = [count]
            def hook(event, arguments):
                if event in {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir"}:
                    left[0] -= 1
                    if left[0] < 0:
                        os._exit(9)
            sys.addaudithook(hook)
            change.write()
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    (home / "state" / "lamr").mkdir(parents=True)
    if text:
        path.parent.mkdir(parents=True)
        path.write_text(text)
    if make != "install":
        run(["one"])
    code = run([] if make == "uninstall" else ["two"], killed=True)
    run([])
    found = [each for each in home.rglob("*") if each.is_file()]
    assert [each.read_text() for each in found] == ([text] if text else []), (count, found)
    assert text or not (home / "a").exists(), count
    return code

for make in ("install", "install again", "uninstall"):
    count = 0
    while at(count, make):
        count += 1
    assert count >= 6, (make, count)
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("claude-code", ""),
        ("claude-code", '{"hooks": {"PostToolUse": [ ]}, "a": [1,]} // mine\n'),
        ("copilot-cli", ""),
    ],
)
def test_a_run_that_is_killed_leaves_what_can_be_taken_out(tmp_path: Path, name: str, text: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, name, text, str(tmp_path)],
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
