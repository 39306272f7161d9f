"""The command line of the MCP inspector against `lamr mcp`, over standard input and output and over HTTP."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.agents.hosts.cuts import hidden_line, largest_cut
from tests.agents.samples import CODE, LINES, line_of

BINARIES = Path(os.environ["LAMR_HOSTS"]) / "node_modules" / ".bin"
LAMR = [sys.executable, "-m", "lamr_cli.main", "mcp", "--root", "."]
SECONDS = 240
QUESTION = "What does handler_30 write?"


def inspect(folder: Path, target: list[str], method: str, *options: str) -> dict[str, Any]:
    """What the inspector prints for one method."""
    command = [str(BINARIES / "node"), str(BINARIES / "mcp-inspector"), "--cli", *target, "--method", method]
    done = subprocess.run(
        [*command, *options],
        cwd=folder,
        env={**os.environ, "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def call(folder: Path, target: list[str], tool: str, **arguments: object) -> str:
    pairs = [f"{name}={value}" for name, value in arguments.items()]
    said = inspect(folder, target, "tools/call", "--tool-name", tool, "--tool-arg", *pairs)
    assert not said.get("isError"), said
    return "".join(part["text"] for part in said["content"])


def read_and_expand(folder: Path, target: list[str]) -> None:
    shown = call(folder, target, "read_file", path="a.py", question=QUESTION)
    number = line_of("value_30 =")
    assert f"{number}\t{LINES[number - 1]}" in shown
    assert hidden_line(shown) not in shown
    packed = call(folder, target, "pack", question=QUESTION, max_tokens=2000)
    assert f"{number}\t{LINES[number - 1]}" in packed
    first, last = largest_cut(shown)
    assert hidden_line(shown) in call(folder, target, "expand", path="a.py", first=first, last=last)


@contextmanager
def over_http(folder: Path, port: int) -> Iterator[list[str]]:
    """`lamr mcp` behind a port: the inspector's words for it."""
    address = f"http://127.0.0.1:{port}/mcp"
    process = subprocess.Popen([*LAMR, "--transport", "http", "--port", str(port)], cwd=folder)
    try:
        while not _answers(address):
            assert process.poll() is None
            time.sleep(0.2)
        yield [address, "--transport", "http"]
    finally:
        process.terminate()
        process.wait()


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=10):
            return True
    except urllib.error.HTTPError:  # it wants another method
        return True
    except OSError:
        return False


def test_over_standard_input_and_output(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CODE, encoding="utf-8")
    tools = {tool["name"] for tool in inspect(tmp_path, LAMR, "tools/list")["tools"]}
    assert tools == {"read_file", "pack", "expand", "outline", "search", "prune_text"}
    read_and_expand(tmp_path, LAMR)
    outline = call(tmp_path, LAMR, "outline", path="a.py")
    assert "def handler_59(" in outline
    assert "value_" not in outline


def test_over_http(tmp_path: Path, free_port: int) -> None:
    (tmp_path / "a.py").write_text(CODE, encoding="utf-8")
    with over_http(tmp_path, free_port) as target:
        read_and_expand(tmp_path, target)
