"""A real server that is killed in the middle of a session, and comes back: what each host's agent gets meanwhile."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import mcp
import pytest
from lamr_agents.local.server import LocalServer
from lamr_agents.local.store import Store
from lamr_client import Pruner

from tests.agents.hosts import test_openhands as openhands
from tests.agents.hosts.anthropic_endpoint import tool_results
from tests.agents.hosts.cuts import IN_FULL, IN_HASTE, is_cut
from tests.agents.hosts.hooked import Player, check_killed
from tests.agents.hosts.players import PLAYERS
from tests.agents.hosts.restartable import Restartable
from tests.agents.hosts.scripted import Step
from tests.agents.hosts.test_litellm import model, proxy, send
from tests.agents.hosts.test_mini_swe_agent import LAMR, observations, play
from tests.agents.http.test_http import Site
from tests.agents.mcp.test_mcp import text_of
from tests.agents.samples import CODE, SAID, session, set_by_the_user
from tests.agents.test_claude_code import READ, payload, said
from tests.agents.test_messages import openai
from tests.agents.test_messages import text_of as text_of_message

QUESTION = "What does handler_30 write?"
BACK_SECONDS = 60.0
"""How long the others ask again, which a busy machine may need."""


def attempts() -> Iterator[None]:
    """Yield now and then until the server must have been found again."""
    end = time.monotonic() + BACK_SECONDS
    while time.monotonic() < end:
        yield
        time.sleep(0.5)


@pytest.fixture
def triton(free_port: int) -> Iterator[Restartable]:
    server = Restartable(free_port)
    server.start()
    yield server
    server.stop()


def test_mini_swe_agent(tmp_path: Path, triton: Restartable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMR_SERVER", triton.address)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    set_by_the_user(tmp_path, IN_FULL)
    for name in ("b.py", "c.py"):
        (tmp_path / name).write_text(CODE)
    before: dict[str, Callable[[], None]] = {"cat b.py": triton.kill, "cat c.py": triton.start}
    first, second, third = observations(play(tmp_path, LAMR, ["cat a.py", *before], before))
    assert is_cut(first)
    assert is_cut(second)
    assert IN_HASTE in second
    assert is_cut(third), third[-400:]


@openhands.needs_python
def test_openhands(tmp_path: Path, triton: Restartable) -> None:
    openhands.project(tmp_path)
    set_by_the_user(tmp_path, IN_FULL)
    for name in ("b.py", "c.py"):
        (tmp_path / "project" / name).write_text(CODE)

    def cat(name: str, before: Callable[[], None]) -> Callable[[list[str]], Step]:
        def step(_: list[str]) -> Step:
            before()
            return Step(SAID, "terminal", {"command": f"cat {name}"})

        return step

    script = [
        Step(SAID, "terminal", {"command": "cat a.py"}),
        cat("b.py", triton.kill),
        cat("c.py", triton.start),
        Step("Done."),
    ]
    played = openhands.play(tmp_path, script, LAMR_SERVER=triton.address, XDG_CONFIG_HOME=str(tmp_path))
    first, second, third = tool_results(played.requests[-1])
    assert is_cut(first)
    assert is_cut(second)
    assert IN_HASTE in second
    assert is_cut(third), third[-400:]


def test_litellm(tmp_path: Path, triton: Restartable, unused_port: int) -> None:
    with model() as (url, requests), proxy(tmp_path, unused_port, url, LAMR_SERVER=triton.address) as address:
        for name, before in (("a.py", None), ("b.py", triton.kill), ("c.py", triton.start)):
            if before:
                before()
            send(address, openai(CODE, command=f"cat {name}"))
    first, second, third = (text_of_message(request["messages"][-1]) for request in requests)
    assert is_cut(first)
    assert is_cut(second)
    assert IN_HASTE in second
    assert is_cut(third), third[-400:]


@pytest.mark.parametrize("player", PLAYERS.values(), ids=PLAYERS)
def test_hosts_with_a_hook(player: Player, tmp_path: Path, triton: Restartable) -> None:
    check_killed(player, tmp_path, triton)


def test_claude_codes_hook(tmp_path: Path, triton: Restartable) -> None:
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text("".join(session().splitlines(keepends=True)[:2]))
    store = Store(tmp_path / "shown.sqlite3")
    server = LocalServer(tmp_path / "s", store, lambda: Pruner(triton.address, retries=0), seconds=20.0)

    def read(number: int) -> str:
        given = {"file_path": f"/w/{number}.py"}
        return json.dumps(
            said(
                server.answer(
                    json.dumps(payload("Read", given, READ, transcript_path=str(transcript))).encode()
                )
            )
        )

    assert "updatedToolOutput" in read(1)
    triton.kill()
    assert IN_HASTE in read(2)
    triton.start(settle=0)
    assert any("updatedToolOutput" in read(number) for number, _ in enumerate(attempts(), 3))
    store.close()


@contextmanager
def http(server: str, port: int) -> Iterator[Site]:
    command = [sys.executable, "-m", "lamr_cli.main", "http", "--port", str(port), "--server", server]
    process = subprocess.Popen(command)
    site = Site(port, None, None)  # type: ignore[arg-type]  # transport and server are the process's own
    try:
        while True:
            assert process.poll() is None
            try:
                assert json.loads(site.get("/health"))["status"] == "healthy"
                break
            except OSError:
                time.sleep(0.2)
        yield site
    finally:
        process.terminate()
        process.wait()


def test_http(triton: Restartable, unused_port: int) -> None:
    body = {"query": QUESTION, "code": CODE, "path": "a.py", "task": SAID, "effort": "full"}
    with http(triton.address, unused_port) as site:
        assert is_cut(site.post("/v1/prune", body)[1]["text"])
        triton.kill()
        status, answer, _ = site.post("/v1/prune", body)
        assert (status, answer["status"]) == (200, "pruned")
        assert "server unavailable" in answer["effort"]
        body["degrade"] = False
        status, answer, _ = site.post("/v1/prune", {**body, "on_error": "passthrough"})
        assert (status, answer["text"], answer["status"]) == (200, CODE, "passthrough")
        assert answer["reason"].startswith("ServerUnavailableError")
        status, _, headers = site.post("/v1/prune", body)
        assert status == 503
        assert "retry-after" in {name.lower() for name in headers}
        triton.start(settle=0)
        again = {**body, "on_error": "passthrough"}
        assert any(is_cut(site.post("/v1/prune", again)[1]["text"]) for _ in attempts())


async def test_mcp(tmp_path: Path, triton: Restartable) -> None:
    (tmp_path / "a.py").write_text(CODE)
    command = ["-m", "lamr_cli.main", "mcp", "--root", str(tmp_path)]
    command += ["--server", triton.address, "--effort", "full"]
    server = mcp.StdioServerParameters(command=sys.executable, args=command)
    async with mcp.Client(server) as client:
        assert is_cut(await text_of(client, "read_file", path="a.py", question=QUESTION))
        triton.kill()
        hasty = await text_of(client, "read_file", path="a.py", question=QUESTION)
        assert IN_HASTE in hasty
        assert is_cut(hasty)
        triton.start(settle=0)
        for _ in attempts():
            if is_cut(again := await text_of(client, "read_file", path="a.py", question=QUESTION)):
                break
        assert is_cut(again), again[-400:]
