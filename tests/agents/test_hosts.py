"""Another host with a hook is a row: the process, the local server and the installer all go by it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from lamr_agents import claude_code, thin
from lamr_agents.calls import Call, HookHost
from lamr_agents.host import Host, HostSettings, Way, hook_of
from lamr_agents.hosts import HOSTS, host_named
from lamr_agents.installing import SettingsScope, hook_command, installed, removed, settings_path
from lamr_agents.local.server import LocalServer
from lamr_agents.local.store import Store
from lamr_agents.policy import PROFILES
from lamr_agents.skimmed import Skim
from lamr_cli.main import app
from lamr_client import InvalidInputError
from typer.testing import CliRunner

from tests.agents.samples import CODE, pruner
from tests.agents.test_claude_code import READ, hook, payload, transcript
from tests.processes import end_servers

__all__ = ["transcript"]


def _read_call(given: Mapping[str, Any]) -> Call | None:
    return claude_code.read_call(
        payload("Read", {"file_path": given["file"]}, READ, transcript_path=given["log"])
    )


def _answer(call: Call, shown: Skim) -> Mapping[str, Any] | None:
    return {"instead": shown.text} if shown.cut else None


HOOK = HookHost("other", _read_call, _answer, '{"note": %s}')
OTHER = Host(
    *("other", "Other", Way.HOOK, "1.0", "2026-11-25"),
    settings=HostSettings(hook_of("AfterTool", ("view",)), user="hooks.json", project=".other/hooks.json"),
    hook=HOOK,
)


@pytest.fixture(autouse=True)
def other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HOSTS, "other", OTHER)  # type: ignore[arg-type]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LocalServer]:
    with closing(Store(tmp_path / "shown.sqlite3")) as store:
        yield LocalServer(tmp_path / "hook.sock", store, pruner, policy=PROFILES["eager"])


def call(transcript: str, **more: Any) -> bytes:
    return json.dumps({"file": "/w/a.py", "log": transcript, thin.HOST: "other", **more}).encode()


def test_a_call_is_answered_by_the_host_that_it_names(server: LocalServer, transcript: str) -> None:
    text = json.loads(server.answer(call(transcript)))["instead"]
    assert "def handler_30(" in text
    assert len(text) < len(CODE) / 2


def test_a_failure_is_told_in_the_hosts_own_words(server: LocalServer) -> None:
    assert json.loads(server.answer(json.dumps({thin.HOST: "other"}).encode())) == {
        "note": "[lamr: not pruned: KeyError: 'file']"
    }


def test_a_host_that_nobody_knows_is_told(server: LocalServer, transcript: str) -> None:
    answer = server.answer(call(transcript, **{thin.HOST: "none"}))
    assert b"not pruned: InvalidInputError: no host is called 'none'; lamr knows claude-code, " in answer
    with pytest.raises(InvalidInputError, match="lamr knows claude-code"):
        host_named("none")


def test_the_process_tells_its_own_failures_so_too(tmp_path: Path) -> None:
    options = ["--socket", str(tmp_path / "none" / "s"), "--limit", "0", "--beside", HOOK.beside]
    told = json.loads(hook(b"{" + b" " * thin.SMALL + b"}", *options).stdout)
    end_servers(tmp_path)
    assert told == {"note": "[lamr: not pruned: TimeoutError: the local server took too long]"}


def test_the_hook_goes_into_the_hosts_own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = settings_path(OTHER, SettingsScope.PROJECT)
    assert path == tmp_path / ".other" / "hooks.json"
    installed(OTHER, path, hook_command(HOOK)).write()
    (entry,) = json.loads(path.read_text())["hooks"]["AfterTool"]
    assert entry["matcher"] == "view"
    assert "--host other --beside '{\"note\": %s}'" in entry["hooks"][0]["command"]
    removed(OTHER, path).write()
    assert not path.parent.exists()
    done = CliRunner().invoke(app, ["install", "other", "--project"])
    assert done.exit_code == 0, done.output
    assert "--host other" in path.read_text()


def test_a_host_without_a_hook_is_refused() -> None:
    done = CliRunner().invoke(app, ["install", "none", "--dry-run"])
    assert done.exit_code == 2
    assert "is not one of claude-code" in " ".join(done.output.split())


def test_the_guide_lists_every_host_with_its_version_and_day() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    for host in HOSTS.values():
        if host is not OTHER:
            assert any(host.title in row and (host.version or "documentation") in row for row in rows), (
                host.title
            )
            assert host.on in page


def test_the_programs_are_tried_in_the_versions_that_the_table_names() -> None:
    folder = Path(__file__).parent / "hosts" / "installed"
    pins = "".join(file.read_text(encoding="utf-8") for file in folder.iterdir())
    names = {"claude-code", "codex", "copilot-cli", "gemini-cli", "openhands", "mini-swe-agent", "litellm"}
    for name in names:
        assert HOSTS[name].version in pins, name
