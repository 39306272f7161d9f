"""The hook when its server is slow or killed: the agent keeps the original, is told why, and the next call works."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lamr_agents import thin
from lamr_agents.local.server import SPARE_SECONDS, LocalServer, lock_of
from lamr_agents.local.store import Store
from lamr_client import DeadlineExceededError, Pruner, ServerUnavailableError
from lamr_client.deferred import DeferredTransport
from lamr_client.mock_transport import MockTransport, uniform_answer

from tests.agents.samples import CODE, pruner
from tests.agents.test_claude_code import READ, hook, payload, said, store, transcript
from tests.processes import eventually

__all__ = ["store", "transcript"]
ROOT = Path(__file__).resolve().parents[2]
WAIT = 120.0


def call(transcript: str, **more: Any) -> bytes:
    return json.dumps(
        payload("Read", {"file_path": "/w/a.py"}, READ, transcript_path=transcript, **more)
    ).encode()


def reason(answer: bytes) -> str:
    told = said(answer)
    assert told.keys() == {"hookEventName", "additionalContext"}  # the host keeps the original
    words: str = told["additionalContext"]
    assert words.startswith("[lamr: not pruned: ")
    return words


def test_a_model_that_never_answers_is_left_in_time(tmp_path: Path, store: Store, transcript: str) -> None:
    stop = threading.Event()

    def stuck(request: Any) -> Any:
        stop.wait()
        return uniform_answer(request, 0.5)

    try:
        server = LocalServer(tmp_path / "hook.sock", store, lambda: pruner(stuck))
        server.answer(call(transcript, tool_name="none"))
        answer = server.answer(call(transcript, **{thin.LEFT: SPARE_SECONDS + 0.2}))
        assert "updatedToolOutput" in said(answer), "the line model answers"
        assert [each.reason for each in store.decisions()] == ["pruned"]
    finally:
        stop.set()


def test_the_pruner_gets_less_time_than_the_hook_has(tmp_path: Path, store: Store, transcript: str) -> None:
    transport = MockTransport(lambda request: uniform_answer(request, 0.5))
    server = LocalServer(tmp_path / "hook.sock", store, lambda: Pruner(transport=transport), seconds=20.0)
    for left, most in ((60.0, 20.0), (12.0, 12.0 - SPARE_SECONDS)):
        server.answer(call(transcript, session_id=str(left), **{thin.LEFT: left}))
        timeouts, transport.timeouts = transport.timeouts, []
        assert timeouts
        assert all(seconds is not None and seconds <= most for seconds in timeouts)


def test_a_server_that_answers_at_once_reads_nothing(tmp_path: Path, store: Store, transcript: str) -> None:
    transport = MockTransport(lambda request: uniform_answer(request, 0.5))
    server = LocalServer(tmp_path / "hook.sock", store, lambda: Pruner(transport=transport), effort="instant")
    assert "updatedToolOutput" in said(server.answer(call(transcript)))
    assert not transport.requests


def test_a_model_without_a_line_model_reads_all_the_same(
    tmp_path: Path, store: Store, transcript: str
) -> None:
    class Slow(Pruner):
        answers_at_once = False

    transport = MockTransport(lambda request: uniform_answer(request, 0.5))
    server = LocalServer(tmp_path / "hook.sock", store, lambda: Slow(transport=transport), effort="instant")
    server.answer(call(transcript))
    assert transport.requests


def test_what_took_too_long_isnt_tried_again_at_once(tmp_path: Path, store: Store, transcript: str) -> None:
    transport = MockTransport(lambda request: uniform_answer(request, 0.5))
    late: list[Exception] = []

    class Late(Pruner):  # what even the line model can't answer in time
        def prune(self, *arguments: Any, **options: Any) -> Any:
            if late:
                raise late.pop()
            return super().prune(*arguments, **options)

    server = LocalServer(tmp_path / "hook.sock", store, lambda: Late(transport=transport, retries=0))
    assert "updatedToolOutput" in said(server.answer(call(transcript, session_id="0")))
    late.append(_deadline())
    assert "DeadlineExceededError" in reason(server.answer(call(transcript, session_id="1")))
    asked = len(transport.requests)
    assert "took too long a few minutes ago" in reason(server.answer(call(transcript, session_id="2")))
    assert len(transport.requests) == asked
    half = "".join(CODE.splitlines(keepends=True)[:200])
    smaller = {**READ, "file": {**READ["file"], "content": half}}  # type: ignore[dict-item]
    assert "updatedToolOutput" in said(server.answer(call(transcript, session_id="3", tool_response=smaller)))


def _deadline() -> Exception:
    return DeadlineExceededError("no complete answer within 6.5 s")


def test_a_server_behind_that_is_away_is_told_until_it_is_back(
    tmp_path: Path, store: Store, transcript: str
) -> None:
    transport = MockTransport(lambda request: uniform_answer(request, 0.5))
    server = LocalServer(tmp_path / "hook.sock", store, lambda: Pruner(transport=transport, retries=0))
    transport.errors = [ServerUnavailableError("nothing answers at 127.0.0.1:8001")] * 9
    away = json.dumps(said(server.answer(call(transcript)))["updatedToolOutput"])
    assert "[lamr: judged in haste (line model; server unavailable): " in away
    transport.errors = []
    back = json.dumps(said(server.answer(call(transcript, session_id="s2")))["updatedToolOutput"])
    assert "judged in haste" not in back


def test_calls_are_answered_by_the_line_model_while_the_encoder_is_loaded(
    tmp_path: Path, store: Store, transcript: str
) -> None:
    loading, go = threading.Event(), threading.Event()

    def make() -> MockTransport:
        loading.set()
        go.wait()
        return MockTransport(lambda request: uniform_answer(request, 0.5))

    server = LocalServer(
        tmp_path / "hook.sock", store, lambda: Pruner(transport=DeferredTransport(make)), seconds=600.0
    )
    ready = threading.Event()
    running = threading.Thread(target=server.run, kwargs={"ready": ready.set})
    running.start()
    try:
        assert ready.wait(WAIT)
        assert loading.wait(WAIT)
        answer = json.dumps(said(server.answer(call(transcript)))["updatedToolOutput"])
        assert "judged in haste (line model; encoder loading)" in answer
        go.set()
    finally:
        go.set()
        server.stop()
        running.join()


@contextmanager
def ending(socket: Path) -> Iterator[None]:
    """End the server that the hook starts."""
    try:
        yield
    finally:
        if socket.exists():
            os.kill(int(lock_of(socket).read_text()), signal.SIGTERM)


@pytest.mark.timeout(900)  # four waits, each of which may take as long as `WAIT` on a busy machine
def test_a_local_server_that_is_killed_under_way_is_told_and_started_anew(
    tmp_path: Path, transcript: str
) -> None:
    socket, record, asked = tmp_path / "s", tmp_path / "shown.sqlite3", tmp_path / "asked"
    command = [sys.executable, "-m", "tests.agents.stuck_server", str(socket), str(record), str(asked)]
    stuck = subprocess.Popen(command, cwd=ROOT)
    serve = json.dumps(["--store", str(record), "--no-texts", "--timeout", str(WAIT), "--idle", "60"])
    options = ["--socket", str(socket), "--limit", str(WAIT), "--serve", serve]
    try:
        assert eventually(socket.exists, WAIT)
        answers: list[bytes] = []
        asking = threading.Thread(target=lambda: answers.append(hook(call(transcript), *options).stdout))
        asking.start()
        assert eventually(asked.exists, WAIT)
    finally:
        stuck.kill()
        stuck.wait()
    asking.join()
    assert "the local server went away" in reason(answers[0])
    with ending(socket):
        again = hook(call(transcript, session_id="s2"), *options).stdout
        assert "updatedToolOutput" in said(again)


def test_a_local_server_that_ends_at_once_is_told_long_before_the_limit(
    tmp_path: Path, transcript: str
) -> None:
    socket = tmp_path / "s"
    options = ["--socket", str(socket), "--limit", "3600", "--serve", '["--no-such-option"]']
    words = reason(hook(call(transcript), *options).stdout)
    assert "ChildProcessError: the local server ended with code 2; `lamr agents serve` says why" in words


def test_a_folder_that_cant_be_written_is_told(tmp_path: Path, transcript: str) -> None:
    (tmp_path / "file").write_text("")
    words = reason(hook(call(transcript), "--socket", str(tmp_path / "file" / "s"), "--limit", "3600").stdout)
    assert "Error" in words
