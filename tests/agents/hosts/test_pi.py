"""pi itself, against a scripted model: with the extension, without it, and when something fails."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from lamr_agents.hosts import HOSTS

from tests.agents.hosts.anthropic_endpoint import endpoint, tool_results
from tests.agents.hosts.hooked import (
    SECONDS,
    Player,
    check_unreachable,
    check_with_and_without,
    ending,
    install,
)
from tests.agents.hosts.scripted import Endpoint, Script
from tests.agents.samples import CODE, TASK

BINARIES = Path(os.environ["LAMR_HOSTS"]) / "node_modules" / ".bin"
HOST = HOSTS["pi"]


def play(folder: Path, script: Script, serve: list[str] | None) -> tuple[Endpoint, str]:
    """Run a session in a folder; `serve` are the options of the hook's server, None is one without the extension."""
    project, home = folder / "project", folder / "home"
    project.mkdir(parents=True)
    home.mkdir()
    (project / "a.py").write_text(CODE, encoding="utf-8")
    if serve is not None:
        install(HOST, home / "extensions" / "lamr.js", folder, serve)
    with endpoint(script) as model, ending(folder):
        (home / "models.json").write_text(json.dumps(_models(model.url)), encoding="utf-8")
        command = [str(BINARIES / "node"), str((BINARIES / "pi").resolve())]
        done = subprocess.run(
            [*command, "--print", "--offline", "--provider", "scripted", "--model", "model", TASK],
            cwd=project,
            env={**os.environ, "HOME": str(home), "PI_CODING_AGENT_DIR": str(home), "PI_OFFLINE": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-4000:]
    return model, done.stdout


def _models(url: str) -> dict[str, object]:
    """A provider whose only model is the scripted one."""
    free = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    model = {"id": "model", "name": "model", "reasoning": False, "input": ["text"], "cost": free}
    limits = {"contextWindow": 200_000, "maxTokens": 8_000}
    provider = {
        "baseUrl": url,
        "api": "anthropic-messages",
        "apiKey": "none",
        "models": [{**model, **limits}],
    }
    return {"providers": {"scripted": provider}}


PI = Player(
    play,
    *(tool_results, "messages", "read"),
    lambda path: {"path": path},
    lambda path, first, last: {"path": path, "offset": first, "limit": last - first + 1},
    "bash",
)


def test_a_session_with_the_extension_and_without(tmp_path: Path) -> None:
    check_with_and_without(PI, tmp_path)


def test_what_fails_is_told_and_the_session_goes_on(tmp_path: Path, free_port: int) -> None:
    check_unreachable(PI, tmp_path, free_port)
