"""Codex itself, against a scripted model: with the hook, without it, and with a pruner that can't be reached."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from lamr_agents.hosts import HOSTS

from tests.agents.hosts import models
from tests.agents.hosts.hooked import (
    Hook,
    Player,
    check_unreachable,
    check_with_and_without,
    hooked,
    laid_out,
    ran,
)
from tests.agents.hosts.responses_endpoint import endpoint, tool_results
from tests.agents.hosts.scripted import Endpoint, Script
from tests.agents.samples import TASK

PROGRAM = Path(os.environ["LAMR_HOSTS"]) / "node_modules" / ".bin" / "codex"
HOST = HOSTS["codex"]
CONFIGURATION = """
model = "%s"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "%s/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
"""


def play(folder: Path, script: Script, serve: Hook, model_name: str = "") -> tuple[Endpoint, str]:
    """Run a session in a folder; see `Player`."""
    project, home = laid_out(folder)
    moved = home / "moved"
    moved.mkdir()
    with endpoint(script) as model, hooked(HOST, moved / "hooks.json", folder, serve):
        (moved / "config.toml").write_text(CONFIGURATION % (model_name or models.codex(), model.url))
        said = ran(
            *(
                project,
                PROGRAM,
                "exec",
                "--skip-git-repo-check",
                "--dangerously-bypass-approvals-and-sandbox",
            ),
            *("--dangerously-bypass-hook-trust", TASK),
            HOME=str(home),
            CODEX_HOME=str(moved),
            SCRIPTED_KEY="none",
        )
    return model, said


def _cat(path: str) -> dict[str, Any]:
    return {"cmd": f"cat {path}"}


def _lines(path: str, first: int, last: int) -> dict[str, Any]:
    return {"cmd": f"sed -n {first},{last}p {path}"}


CODEX = Player(play, tool_results, "input", "exec_command", _cat, _lines, "exec_command", "cmd")


def test_a_session_with_the_hook_and_without(tmp_path: Path) -> None:
    check_with_and_without(CODEX, tmp_path)


def test_what_fails_is_told_and_the_session_goes_on(tmp_path: Path, free_port: int) -> None:
    check_unreachable(CODEX, tmp_path, free_port)
