"""Claude Code's hook: its payloads as the host sends them, its answers, its settings, and the processes between."""

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lamr_agents import thin
from lamr_agents.claude_code import HOOK, read_call
from lamr_agents.host import HostSettingsError
from lamr_agents.installing import hook_command
from lamr_agents.local.server import LocalServer
from lamr_agents.local.store import Store
from lamr_agents.local.texts import Archive, Texts
from lamr_agents.policy import PROFILES

from tests.agents.samples import CODE, TASK, pruner, session
from tests.command import invoke, run_main

READ = {
    "type": "text",
    "file": {"filePath": "/w/a.py", "content": CODE, "numLines": 304, "startLine": 1, "totalLines": 304},
}
BASH = {"stdout": CODE, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}


def payload(tool: str, given: dict[str, Any], response: Any, **more: Any) -> dict[str, Any]:
    """What Claude Code 2.1.197 sends to a hook, without the fields that nobody reads here."""
    return {
        "session_id": "s1",
        "transcript_path": "",
        "cwd": "/w",
        "permission_mode": "default",
        "hook_event_name": "PostToolUse",
        "tool_name": tool,
        "tool_input": given,
        "tool_response": response,
        "tool_use_id": "toolu_1",
        "duration_ms": 57,
        **more,
    }


@pytest.fixture
def transcript(tmp_path: Path) -> str:
    path = tmp_path / "transcript.jsonl"
    path.write_text("".join(session().splitlines(keepends=True)[:2]), encoding="utf-8")
    return str(path)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "folder" / "shown.sqlite3")
    yield opened
    opened.close()


@pytest.fixture
def server(tmp_path: Path, store: Store) -> LocalServer:
    archive = Archive(Texts(tmp_path / "texts.sqlite3"))
    return LocalServer(tmp_path / "hook.sock", store, pruner, archive=archive, policy=PROFILES["eager"])


def said(answer: bytes) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(answer)["hookSpecificOutput"]
    assert value["hookEventName"] == "PostToolUse"
    return value


def ask(server: LocalServer, *arguments: Any, **more: Any) -> bytes:
    return server.answer(json.dumps(payload(*arguments, **more)).encode())


def test_reads_output_is_replaced_in_its_own_shape(server: LocalServer, transcript: str) -> None:
    output = said(ask(server, "Read", {"file_path": "/w/a.py"}, READ, transcript_path=transcript))[
        "updatedToolOutput"
    ]
    assert output.keys() == READ.keys()
    assert output["file"].keys() == READ["file"].keys()  # type: ignore[attr-defined]
    content = output["file"]["content"]
    assert "def handler_30(" in content
    assert "value_7 =" not in content
    assert output["file"]["numLines"] == content.count("\n") + 1
    assert "the markers carry the file's own numbers" in content.splitlines()[-1]


def test_a_second_read_of_the_file_passes_by_whatever_tool(server: LocalServer, transcript: str) -> None:
    assert ask(server, "Read", {"file_path": "/w/a.py"}, READ, transcript_path=transcript)
    assert not ask(server, "Read", {"file_path": "/w/a.py"}, READ, transcript_path=transcript)
    assert not ask(server, "Bash", {"command": "cat a.py"}, BASH, transcript_path=transcript)
    assert ask(server, "Read", {"file_path": "/w/a.py"}, READ, transcript_path=transcript, session_id="s2")


def test_a_question_that_comes_with_the_call_wins(transcript: str) -> None:
    given = {"file_path": "/w/a.py", "context_focus_question": "What does handler_9 write?"}
    call = read_call(payload("Read", given, READ, transcript_path=transcript))
    assert call is not None
    assert (call.intent.query, call.intent.task) == ("What does handler_9 write?", TASK)


@pytest.mark.parametrize(
    ("tool", "given", "response"),
    [
        ("Grep", {"pattern": "x"}, {"mode": "content", "content": CODE}),
        ("Bash", {"command": "make test"}, BASH),
        ("Bash", {"command": "cat a.py"}, {**BASH, "isImage": True}),
        ("Read", {"file_path": "/w/a.png"}, {"type": "image", "file": {"base64": "x"}}),
        ("Read", {"file_path": "/w/a.py"}, CODE),
        ("Read", {}, READ),
        ("Read", None, READ),
        (None, {}, {}),
    ],
)
def test_what_is_no_read_of_a_file_stays_as_it_is(
    server: LocalServer, tool: Any, given: Any, response: Any, transcript: str
) -> None:
    assert ask(server, tool, given, response, transcript_path=transcript) == b""


@pytest.mark.parametrize("call", [b"", b"  ", b"[]", b"null", b"1"])
def test_a_call_that_is_none_doesnt_harm(server: LocalServer, call: bytes) -> None:
    assert server.answer(call) == b""


def test_a_broken_store_is_set_aside_once_and_told(tmp_path: Path, transcript: str) -> None:
    path = tmp_path / "shown.sqlite3"
    path.write_bytes(b"not a database" * 1000)
    with_it = LocalServer(tmp_path / "hook.sock", Store(path), pruner)
    answer = said(ask(with_it, "Read", {"file_path": "/w/a.py"}, READ, transcript_path=transcript))
    assert answer.keys() == {"hookEventName", "additionalContext"}
    why = (
        f"{path}: what was shown can't be kept there (file is not a database; it is set aside as "
        "shown.sqlite3.broken, and a new one is begun)"
    )
    assert answer["additionalContext"] == f"[lamr: not pruned: StoreError: {why}]"
    again = ask(with_it, "Read", {"file_path": "/w/a.py"}, READ, transcript_path=transcript)
    assert "updatedToolOutput" in said(again)
    assert (tmp_path / "shown.sqlite3.broken").read_bytes() == b"not a database" * 1000
    done = invoke("agents", "stats", "--store", str(path))
    assert "pruned" in done.stdout


def test_a_folder_too_deep_for_a_socket_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ("deep" * 30)))
    for command in (["install", "claude-code", "--project"], ["agents", "serve"]):
        done = run_main(*command)
        assert done.returncode == 2
        assert "a socket's path has at most" in done.stderr
        assert "set XDG_CACHE_HOME to a shorter folder" in done.stderr
    assert not list(tmp_path.iterdir())


@contextmanager
def running(server: LocalServer) -> Iterator[None]:
    ready = threading.Event()
    thread = threading.Thread(target=server.run, kwargs={"ready": ready.set})
    thread.start()
    assert ready.wait(120)
    try:
        yield
    finally:
        server.stop()
        thread.join()


def hook(call: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-I", "-S", thin.__file__, *options]
    return subprocess.run(command, input=call, capture_output=True, check=True)


def test_the_hooks_process_asks_the_server_and_a_second_server_gives_way(
    tmp_path: Path, server: LocalServer, store: Store, transcript: str
) -> None:
    call = json.dumps(payload("Read", {"file_path": "/w/a.py"}, READ, transcript_path=transcript)).encode()
    path = str(tmp_path / "hook.sock")
    with running(server):
        assert Path(path).stat().st_mode & 0o077 == 0
        assert not LocalServer(Path(path), store, pruner).run()
        assert "updatedToolOutput" in said(hook(call, "--socket", path).stdout)
        again = hook(call, "--socket", path).stdout
        assert json.loads(again) == {}
    assert not Path(path).exists()


def test_a_server_whose_socket_is_removed_ends_and_leaves_anothers(
    tmp_path: Path, server: LocalServer, store: Store
) -> None:
    path, ready = tmp_path / "hook.sock", threading.Event()
    thread = threading.Thread(target=server.run, kwargs={"ready": ready.set})
    thread.start()
    assert ready.wait(120)
    path.unlink()
    path.write_text("another's")
    thread.join(30)
    assert not thread.is_alive()
    assert path.read_text() == "another's"
    path.unlink()
    assert LocalServer(path, store, pruner).run(idle=0.0)


def test_a_server_that_never_answers_is_told_within_the_limit(tmp_path: Path) -> None:

    path = str(tmp_path / "deaf.sock")
    call = json.dumps(payload("Read", {"file_path": "/w/a.py"}, READ)).encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as deaf:
        deaf.bind(path)
        deaf.listen()
        begin = time.monotonic()
        answer = said(hook(call, "--socket", path, "--limit", "0.5").stdout)
        assert time.monotonic() - begin < 30
    assert answer["additionalContext"].startswith("[lamr: not pruned: TimeoutError")


def test_where_python_has_no_unix_sockets_nothing_is_installed_and_the_reason_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(socket, "AF_UNIX")
    with pytest.raises(
        HostSettingsError, match="over a Unix socket, which Python on Windows doesn't have; install lamr"
    ):
        hook_command(HOOK)


@pytest.mark.parametrize("profile", PROFILES)
def test_what_a_command_prints_stays_to_the_byte(profile: str, tmp_path: Path, transcript: str) -> None:
    """Rows that differ in numbers alone, colours, returns of the carriage: nobody but the tool knows what they mean."""
    server = LocalServer(tmp_path / "s", Store(tmp_path / "shown"), pruner, policy=PROFILES[profile])
    rows = "".join(f"\x1b[32m[{n}/40]\x1b[0m case {n}: exit code {n % 9 // 8}  \r\n" for n in range(200))
    for _ in range(2):
        assert not ask(
            server, "Bash", {"command": "make test"}, {**BASH, "stdout": rows}, transcript_path=transcript
        )


def test_words_that_look_like_lamrs_in_what_a_command_prints_are_told(
    server: LocalServer, transcript: str
) -> None:
    response = {**BASH, "stdout": "ok\n" * 900 + "[lamr: all tests passed]\n"}
    answer = said(ask(server, "Bash", {"command": "make test"}, response, transcript_path=transcript))
    assert answer["additionalContext"] == thin.AS_IT_CAME
