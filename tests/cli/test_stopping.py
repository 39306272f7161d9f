"""Servers that SIGTERM stops end with exit code 0; `lamr serve` and `lamr front run` have tests of their own."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


def lamr(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "lamr_cli.main", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def test_http(started: list[subprocess.Popen[str]]) -> None:
    pytest.importorskip("uvicorn")
    started.append(server := lamr("http", "--port", "0"))
    assert server.stderr is not None
    assert any("running on" in line for line in server.stderr)
    server.terminate()
    assert server.wait(30) == 0


def test_mcp_over_standard_input(started: list[subprocess.Popen[str]], tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    started.append(server := lamr("mcp", "--root", str(tmp_path)))
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps(HELLO) + "\n")
    server.stdin.flush()
    assert json.loads(server.stdout.readline())["id"] == 1
    server.terminate()
    assert server.wait(30) == 0
