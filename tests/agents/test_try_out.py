"""`lamr agents test`: what each host's agent would see, by the hook's own process, without the agent."""

import json
from pathlib import Path

import pytest
from lamr_agents.hosts import HOSTS
from lamr_agents.local.store import default_store

from tests.agents.payloads import RECORDED
from tests.agents.samples import CODE
from tests.command import run_main

HOOKED = [name for name, host in HOSTS.items() if host.hook]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_text(CODE)
    return path


@pytest.mark.parametrize("host", HOOKED)
def test_every_host_shows_what_is_asked_for(host: str, file: Path) -> None:
    done = run_main("agents", "test", host, file, "-q", "Where is handler_30?", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["reason"] == "pruned"
    assert "def handler_30(" in told["shown"]
    assert "[lamr: " in told["shown"]
    assert 0 < told["tokens_out"] < told["tokens_in"] / 2
    assert told["seconds"] > 0
    assert told["installed"] == []
    assert not default_store().exists()  # no call of the agent's


@pytest.mark.parametrize("host", HOOKED)
def test_files_that_begin_with_slashes_or_tell_of_failures_are_shown(host: str, tmp_path: Path) -> None:
    path = tmp_path / "a.js"
    body = "    // the row is not pruned\n    const row = rows.get({0});\n    return row.at({0});\n"
    code = "".join(f"function handler_{n}(rows) {{\n{body.format(n)}}}\n\n" for n in range(100))
    path.write_text(f"// {'The rows of a table and what is done with them. ' * 8}\n" + code)
    done = run_main("agents", "test", host, path, "-q", "Where is handler_30?")
    assert done.returncode == 0, done.stderr
    assert "function handler_30(" in done.stdout
    assert "not pruned" in done.stdout


def test_a_hosts_own_call_is_tried_and_an_install_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    recorded, payload = RECORDED["codex"], tmp_path / "call.json"
    payload.write_bytes(recorded.call(tmp_path, recorded.shell("cat a.py", CODE)))
    assert run_main("install", "codex").returncode == 0
    done = run_main("agents", "test", "codex", "--payload", payload)
    assert "def handler_30(" in done.stdout
    assert f"installed in {tmp_path / 'hooks.json'}" in done.stderr
    payload.write_bytes(recorded.call(tmp_path, recorded.shell("make", CODE)))
    done = run_main("agents", "test", "codex", "--payload", payload)
    assert (done.returncode, done.stdout) == (0, "")
    assert "lamr has nothing to do with this call, the result stays as it is" in done.stderr
    assert "not installed: lamr install pi" in run_main("agents", "test", "pi", "--payload", payload).stderr


def test_what_fails_ends_with_its_reason(file: Path, tmp_path: Path) -> None:
    done = run_main("agents", "test", "claude-code", file, "-q", "x", "--model", tmp_path / "no")
    assert done.returncode == 3
    assert "not pruned: " in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "asked", [["claude-code"], ["claude-code", "a.py"], ["cursor", "a.py", "-q", "x"], ["nobody"]]
)
def test_what_cant_be_tried_is_refused(asked: list[str]) -> None:
    assert run_main("agents", "test", *asked).returncode == 2
