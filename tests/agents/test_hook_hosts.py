"""Every host with a hook: its calls, as the programs sent them, and its answers, in the one server behind all."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from lamr_agents import claude_code, thin
from lamr_agents.calls import Call, HookHost
from lamr_agents.copilot_cli import read_call as read_copilot
from lamr_agents.host import Host, HostSettings, Way, hook_of
from lamr_agents.hosts import HOSTS, host_named
from lamr_agents.installing import SettingsScope, hook_command, installed, removed, settings_path
from lamr_agents.local.server import LocalServer
from lamr_agents.local.store import Store
from lamr_agents.local.texts import Archive, Texts
from lamr_agents.policy import PROFILES, Policy
from lamr_agents.skimmed import Skim
from lamr_client import InvalidInputError, MissingPackageError

from tests.agents.payloads import RECORDED, Recorded
from tests.agents.samples import CODE, SAID, TASK, pruner
from tests.agents.test_claude_code import READ, hook, payload, running, transcript
from tests.command import invoke
from tests.processes import end_servers

__all__ = ["transcript"]

HOOKED = [host for host in HOSTS.values() if host.way is Way.HOOK]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LocalServer]:
    with closing(Store(tmp_path / "shown.sqlite3")) as store:
        archive = Archive(Texts(tmp_path / "texts.sqlite3"))
        yield LocalServer(
            tmp_path / "hook.sock", store, pruner, archive=archive, seconds=60.0, policy=Policy()
        )


@pytest.fixture(params=RECORDED.values(), ids=RECORDED)
def host(request: pytest.FixtureRequest) -> Recorded:
    recorded: Recorded = request.param
    return recorded


def answered(server: LocalServer, call: bytes) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(server.answer(call) or b"{}")
    return answer


def test_every_host_with_a_hook_has_calls_here() -> None:
    assert {host.name for host in HOOKED} == set(RECORDED)


def test_a_file_is_cut_and_all_around_it_stays(server: LocalServer, host: Recorded, tmp_path: Path) -> None:
    call = host.shell("cat a.py", CODE)
    text = host.text_of(answered(server, host.call(tmp_path, call)))
    assert text is not None
    assert "def handler_30(" in text
    assert len(text) < len(CODE) / 2
    assert "[lamr: " in text
    printed = json.dumps(call)
    for notice in (
        "<untrusted_context>\\nOutput: ",
        "Process Group PGID: 51\\n</untrusted_context>",
        "<shellId: 0 ",
    ):
        assert (notice in json.dumps(text)) == (notice in printed)
    if host.read:
        again = answered(server, host.call(tmp_path, host.read(CODE)))
        assert again == {}  # shown before
        read = answered(server, host.call(tmp_path, host.read(CODE), session_id="s2", sessionId="s1"))
        assert host.name == "copilot-cli" or "def handler_30(" in (host.text_of(read) or "")


def test_what_is_no_file_stays_as_it_is(server: LocalServer, host: Recorded, tmp_path: Path) -> None:
    for call in (host.shell("make test", CODE), host.shell("cat a.py", "small"), {}, {"tool_name": 1}):
        assert answered(server, host.call(tmp_path, call)) == {}


def test_a_failure_is_told_in_the_hosts_own_words(host: Recorded, tmp_path: Path) -> None:
    def fails() -> Any:
        raise MissingPackageError("onnxruntime isn't installed")

    with closing(Store(tmp_path / "shown.sqlite3")) as store:
        broken = LocalServer(tmp_path / "hook.sock", store, fails, seconds=60.0, policy=Policy())
        answer = answered(broken, host.call(tmp_path, host.shell("cat a.py", CODE)))
        assert host.text_of(answer) is None
        assert host.aside(answer) == "[lamr: not pruned: MissingPackageError: onnxruntime isn't installed]"
        (last,) = store.last_calls()
    assert (last.host, last.error) == (
        host.name,
        "not pruned: MissingPackageError: onnxruntime isn't installed",
    )


def test_a_command_that_fails_passes(server: LocalServer, tmp_path: Path) -> None:
    copilot, gemini = RECORDED["copilot-cli"], RECORDED["gemini-cli"]
    for host, old, new in (
        (copilot, "code 0>", "code 1>"),
        (gemini, "\\nProcess", "\\nExit Code: 1\\nProcess"),
        (gemini, '"returnDisplay"', '"error": {"message": "no"}, "returnDisplay"'),
    ):
        call = host.call(tmp_path, host.shell("cat a.py nothere.py", CODE)).decode()
        assert old in call
        assert server.answer(call.replace(old, new).encode()) == b""


def test_what_a_host_shortens_keeps_its_notice(server: LocalServer, tmp_path: Path) -> None:
    head = (
        "\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines 1-304 of 3637 total lines.\n"
        "Action: To read more of the file, use start_line: 305.\n\n--- FILE CONTENT (truncated) ---\n"
    )
    gemini, codex = RECORDED["gemini-cli"], RECORDED["codex"]
    assert gemini.read
    text = gemini.text_of(answered(server, gemini.call(tmp_path, gemini.read(head + CODE))))
    assert text is not None
    assert text.startswith(head)
    assert "def handler_30(" in text
    short = "Warning: truncated output (original token count: 28146)\nTotal output lines: 3636\n\n" + CODE
    text = codex.text_of(
        answered(server, codex.call(tmp_path, codex.shell("cat a.py", short), session_id="s2"))
    )
    assert text is not None
    assert text.startswith(short[: short.index("import os")])


def test_a_range_that_is_asked_for_passes(server: LocalServer, tmp_path: Path) -> None:
    copilot, gemini = RECORDED["copilot-cli"], RECORDED["gemini-cli"]
    assert copilot.read
    assert gemini.read
    view, read = copilot.read(CODE), gemini.read(CODE)
    view["toolArgs"]["view_range"] = [100, 403]
    read["tool_input"] |= {"start_line": 100, "end_line": 403}
    assert answered(server, copilot.call(tmp_path, view)) == {}
    assert answered(server, gemini.call(tmp_path, read)) == {}


def test_the_session_of_copilot_is_found_by_its_name_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copilot = RECORDED["copilot-cli"]
    payload = json.loads(copilot.call(tmp_path, copilot.shell("cat a.py", CODE)))
    call = read_copilot(payload)
    assert call is not None
    assert (call.intent.query, call.intent.task) == (SAID, TASK)
    monkeypatch.setenv("COPILOT_HOME", payload.pop("lamr_folder"))
    call = read_copilot(payload)
    assert call is not None
    assert call.intent.query == SAID
    call = read_copilot({**payload, "sessionId": "../session-state/s1"})
    assert call is not None
    assert not call.intent.query


def test_what_gemini_shows_is_the_users_alone_and_doesnt_pile_up(server: LocalServer, tmp_path: Path) -> None:
    gemini = RECORDED["gemini-cli"]
    folder = tmp_path / "tmp" / "project" / "lamr"
    for number in range(3):
        call = gemini.call(tmp_path, gemini.shell("cat a.py", CODE), session_id=f"s{number}")
        assert gemini.text_of(answered(server, call))
        (file,) = folder.iterdir()
        assert file.stat().st_mode & 0o077 == 0
        os.utime(file, (0, 0))
    assert folder.stat().st_mode & 0o077 == 0
    folder.chmod(0o700)
    (file,) = folder.iterdir()
    file.unlink()
    folder.rmdir()
    folder.write_text("somebody's")
    answer = answered(server, gemini.call(tmp_path, gemini.shell("cat a.py", CODE), session_id="s4"))
    assert (gemini.aside(answer) or "").startswith("[lamr: not pruned: ")
    call = json.loads(
        gemini.call(tmp_path, gemini.shell("cat a.py", CODE), session_id="s5", transcript_path="chats/x")
    )
    call["tool_input"]["context_focus_question"] = "What does handler_30 write?"
    answer = answered(server, json.dumps(call).encode())
    assert gemini.aside(answer) == "[lamr: not pruned: the host keeps no folder for the project]"


def test_each_hosts_process_asks_the_server_and_lets_pass_what_it_must(
    server: LocalServer, host: Recorded, tmp_path: Path
) -> None:
    row = HOSTS[host.name].hook
    assert row
    options = hook_command(row, socket=tmp_path / "hook.sock").words[4:]
    call = json.loads(host.call(tmp_path, host.shell("cat a.py", CODE)))
    for ours in (thin.HOST, thin.FOLDER):
        call.pop(ours, None)
    with running(server), pytest.MonkeyPatch.context() as patch:
        patch.setenv("COPILOT_HOME", str(tmp_path / "moved"))
        assert host.text_of(json.loads(hook(json.dumps(call).encode(), *options).stdout))
    for_another = json.dumps({**call, "original_request_name": "read_file"}, separators=(",", ":"))
    passes = hook(for_another.encode(), *options, "--limit", "0").stdout == b""
    assert passes == (host.name == "gemini-cli")


# Another host with a hook is a row: the process, the local server and the installer all go by it


def _read_call(given: Mapping[str, Any]) -> Call | None:
    return claude_code.read_call(
        payload("Read", {"file_path": given["file"]}, READ, transcript_path=given["log"])
    )


def _answer(call: Call, shown: Skim) -> Mapping[str, Any] | None:
    return {"instead": shown.text} if shown.cut else None


HOOK = HookHost("other", _read_call, _answer, lambda _: {}, '{"note": %s}')
OTHER = Host(
    *("other", "Other", Way.HOOK, "1.0", "2026-11-25"),
    settings=HostSettings(hook_of("AfterTool", ("view",)), user="hooks.json", project=".other/hooks.json"),
    hook=HOOK,
)


@pytest.fixture(autouse=True)
def other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HOSTS, "other", OTHER)  # type: ignore[arg-type]


@pytest.fixture
def eager_server(tmp_path: Path) -> Iterator[LocalServer]:
    with closing(Store(tmp_path / "shown.sqlite3")) as store:
        yield LocalServer(tmp_path / "hook.sock", store, pruner, policy=PROFILES["eager"])


def call(transcript: str, **more: Any) -> bytes:
    return json.dumps({"file": "/w/a.py", "log": transcript, thin.HOST: "other", **more}).encode()


def test_a_call_is_answered_by_the_host_that_it_names(eager_server: LocalServer, transcript: str) -> None:
    text = json.loads(eager_server.answer(call(transcript)))["instead"]
    assert "def handler_30(" in text
    assert len(text) < len(CODE) / 2


def test_a_failure_is_told_by_the_row(eager_server: LocalServer) -> None:
    assert json.loads(eager_server.answer(json.dumps({thin.HOST: "other"}).encode())) == {
        "note": "[lamr: not pruned: KeyError: 'file']"
    }


def test_a_host_that_nobody_knows_is_told(eager_server: LocalServer, transcript: str) -> None:
    answer = eager_server.answer(call(transcript, **{thin.HOST: "none"}))
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
    done = invoke("install", "other", "--project")
    assert done.exit_code == 0, done.output
    assert "--host other" in path.read_text()


def test_a_host_without_a_hook_is_refused() -> None:
    done = invoke("install", "none", "--dry-run")
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
    for host in HOSTS.values():
        assert host is OTHER or host.version in pins, host.name
