"""`lamr install`, `uninstall` and `agents status`, and the hook whose command is the same on every machine."""

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from lamr_agents import thin
from lamr_agents.host import HostSettingsError, Way
from lamr_agents.hosts import HOSTS
from lamr_agents.installing import shared_command
from lamr_agents.local.store import Store, StoredResult, default_socket
from lamr_base.private_files import private_folder

from tests.command import invoke
from tests.processes import end_servers

WRITABLE = [host.name for host in HOSTS.values() if host.settings]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for variable in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    with tempfile.TemporaryDirectory() as short:  # a socket's path is
        monkeypatch.setenv("XDG_CACHE_HOME", short)
        yield tmp_path
        end_servers(Path(short))


def run(*arguments: str, code: int = 0) -> Any:
    done = invoke(*arguments)
    assert done.exit_code == code, done.output
    return done


def program(folder: Path, name: str, says: str) -> None:
    path = folder / "bin" / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)


@pytest.mark.parametrize("name", WRITABLE)
def test_every_host_of_the_table_is_installed_and_leaves_no_trace(home: Path, name: str) -> None:
    shown = run("install", name, "--dry-run").stdout
    assert "lamr" in shown
    assert sorted(each.name for each in home.iterdir()) == ["bin", "project"]
    said = " ".join(run("install", name).stderr.split())
    assert f"restart {HOSTS[name].title}" in said
    assert "nothing to do: it is installed" in run("install", name).stderr
    (told,) = (each for each in json.loads(run("agents", "status", "--json").stdout) if each["agent"] == name)
    assert len(told["installed"]) == 1
    run("uninstall", name)
    assert "nothing to do: it isn't installed" in run("uninstall", name).stderr
    assert not [path for path in home.rglob("*") if path.is_file()]


def test_what_a_team_checks_in_names_no_machine(home: Path) -> None:
    for name in WRITABLE:
        if HOSTS[name].settings and HOSTS[name].settings.shared:
            run("install", name, "--shared")
            text = (Path.cwd() / HOSTS[name].settings.shared).read_text()
            assert str(home) not in text
            assert sys.prefix not in text
            assert str(Path(thin.__file__).parent) not in text
            run("uninstall", name, "--shared")
    assert not list(Path.cwd().iterdir())


def test_uninstalling_says_where_it_is_installed_otherwise(home: Path) -> None:
    run("install", "claude-code", "--shared")
    said = " ".join(run("uninstall", "claude-code", "--project").stderr.split())
    assert f"it isn't installed; --shared for {Path.cwd() / '.claude' / 'settings.json'}" in said


def test_uninstalling_ends_the_hooks_server(home: Path) -> None:
    run("install", "claude-code")
    with socket.socket(socket.AF_UNIX) as server:  # one whose socket is gone ends, as other tests show
        private_folder(default_socket().parent)
        server.bind(str(default_socket()))
        assert "local server ends" in run("uninstall", "claude-code").stderr
    assert not default_socket().exists()
    assert "local server" not in run("uninstall", "claude-code").stderr


def test_a_host_without_such_settings_says_so(home: Path) -> None:
    for arguments, remedy in (
        (("gemini-cli", "--project"), "use --shared"),
        (("windsurf", "--shared"), "leave the option"),
    ):
        error = invoke("install", *arguments).exception
        assert isinstance(error, HostSettingsError)
        assert remedy in str(error)
    assert "is not one of claude-code" in " ".join(run("install", "openhands", code=2).stderr.split())


def test_status_tells_what_is_here_and_what_happened(home: Path) -> None:
    assert "no agent that lamr supports is on this machine" in run("agents", "status").stdout
    assert "Windsurf not found, MCP (windsurf)" in run("agents", "status", "--all").stdout
    program(home, "claude", "2.1.330 (Claude Code)")
    program(home, "copilot", "GitHub Copilot CLI 1.0.102.")
    run("install", "claude-code")
    run("install", "claude-code", "--project")
    store = home / "shown.sqlite3"
    with closing(Store(store)) as opened:
        for reason, now in (("not pruned: TimeoutError: late", 2e9 - 60), ("pruned", 2e9)):
            opened.add(StoredResult("claude-code", "s", "Read", "/w/a.py", reason, 10, 10, 0.1), now)
    text = run("agents", "status", "--store", str(store)).stdout
    assert "Claude Code 2.1.330, hook (claude-code)\n  installed in " in text
    assert text.count("installed in") == 2
    assert "  last call 2033-05-1" in text
    assert "  last error 2033-05-1" in text
    assert ": not pruned: TimeoutError: late\n" in text
    assert "Copilot CLI 1.0.102, hook (copilot-cli)\n  not installed\n" in text
    (home / "home" / ".claude" / "settings.json").write_text("{")
    told = json.loads(run("agents", "status", "--json", "--store", str(store)).stdout)
    claude = next(each for each in told if each["agent"] == "claude-code")
    assert (claude["version"], claude["way"]) == ("2.1.330", Way.HOOK.value)
    assert "settings.json" in claude["trouble"]
    assert claude["last_call"].startswith("2033-05-1")


def test_a_program_that_says_nothing_has_no_version(home: Path) -> None:
    program(home, "gemini", "hello")
    assert "Gemini CLI version unknown, hook" in run("agents", "status").stdout


def shell(home: Path, line: str, call: bytes, **more: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PATH": os.pathsep.join([str(home / "bin"), "/usr/bin", "/bin"]), **more}
    return subprocess.run(
        ["sh", "-c", line], input=call, capture_output=True, check=False, env=environment, timeout=60
    )


def test_the_shared_command_says_nothing_where_there_is_no_lamr(home: Path) -> None:
    hook = HOSTS["claude-code"].hook
    assert hook
    done = shell(home, shared_command(hook).line, b"x" * (1 << 20))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_shared_command_asks_the_users_own_server(home: Path) -> None:
    path = home / "bin" / "lamr-hook"
    places = os.pathsep.join(filter(None, sys.path))
    path.write_text(f"#!{sys.executable}\nfrom lamr_cli.hook import main\nmain()\n")
    path.chmod(0o755)
    hook = HOSTS["claude-code"].hook
    assert hook
    call = b"{" + b" " * thin.SMALL + b"}"
    line = shared_command(hook).line.replace("--limit 8", "--limit 0")
    done = shell(home, line, call, PYTHONPATH=places)
    assert "not pruned: TimeoutError" in done.stdout.decode(), done.stderr
    assert done.returncode == 0


def test_the_shared_command_imports_no_package_that_takes_time() -> None:
    code = (
        "import sys; from lamr_cli import hook; hook._thin(); "
        "print([name for name in ('numpy', 'typer', 'lamr_agents', 'lamr_client', 'json') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert "lamr_agents" not in done.stdout
    assert "typer" not in done.stdout
    assert "numpy" not in done.stdout
