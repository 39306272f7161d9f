"""Copilot CLI itself, against a scripted model: with the hook, without it, and with a pruner that can't be reached."""

from __future__ import annotations

import os
from pathlib import Path

from lamr_agents.hosts import HOSTS

from tests.agents.hosts import models
from tests.agents.hosts.anthropic_endpoint import endpoint, tool_results
from tests.agents.hosts.hooked import (
    Hook,
    Player,
    check_unreachable,
    check_with_and_without,
    hooked,
    laid_out,
    ran,
)
from tests.agents.hosts.scripted import Endpoint, Script
from tests.agents.samples import TASK

COPILOT = Path(os.environ["LAMR_HOSTS"]) / "node_modules" / ".bin" / "copilot"
HOST = HOSTS["copilot-cli"]


def play(folder: Path, script: Script, serve: Hook) -> tuple[Endpoint, str]:
    """Run a session in a folder; `serve` are the options of the hook's server, None is a session without the hook."""
    project, home = laid_out(folder)
    with endpoint(script) as model, hooked(HOST, home / "moved" / "hooks" / "lamr.json", folder, serve):
        said = ran(
            *(project, COPILOT, "-p", TASK, "--allow-all-tools", "--allow-all-paths"),
            HOME=str(home),
            COPILOT_HOME=str(home / "moved"),
            COPILOT_PROVIDER_TYPE="anthropic",
            COPILOT_PROVIDER_BASE_URL=model.url,
            COPILOT_PROVIDER_API_KEY="none",
            COPILOT_MODEL=models.copilot_cli(),
            COPILOT_OFFLINE="true",
            COPILOT_AUTO_UPDATE="false",
        )
    return model, said


COPILOT_CLI = Player(
    play,
    *(tool_results, "messages", "view"),
    lambda path: {"path": path},
    lambda path, first, last: {"path": path, "view_range": [first, last]},
    "bash",
)


def test_a_session_with_the_hook_and_without(tmp_path: Path) -> None:
    check_with_and_without(COPILOT_CLI, tmp_path)


def test_what_fails_is_told_and_the_session_goes_on(tmp_path: Path, free_port: int) -> None:
    check_unreachable(COPILOT_CLI, tmp_path, free_port)
