"""Gemini CLI itself, against a scripted model: with the hook, without it, and with a pruner that can't be reached."""

from __future__ import annotations

import json
import os
from pathlib import Path

from lamr_agents.hosts import HOSTS

from tests.agents.hosts import models
from tests.agents.hosts.gemini_endpoint import endpoint, tool_results
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

GEMINI = Path(os.environ["LAMR_HOSTS"]) / "node_modules" / ".bin" / "gemini"
HOST = HOSTS["gemini-cli"]


def play(folder: Path, script: Script, serve: Hook) -> tuple[Endpoint, str]:
    """Run a session in a folder; `serve` are the options of the hook's server, None is a session without the hook."""
    project, home = laid_out(folder)
    settings = home / "moved" / ".gemini" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}))
    with endpoint(script) as model, hooked(HOST, settings, folder, serve):
        said = ran(
            *(project, GEMINI, "-p", TASK, "-m", models.GEMINI_CLI, "--approval-mode", "yolo"),
            HOME=str(home),
            GEMINI_CLI_HOME=str(home / "moved"),
            GOOGLE_GEMINI_BASE_URL=model.url,
            GEMINI_API_KEY="none",
            GEMINI_CLI_TRUST_WORKSPACE="true",
            GEMINI_TELEMETRY_ENABLED="false",
        )
    return model, said


GEMINI_CLI = Player(
    play,
    *(tool_results, "contents", "read_file"),
    lambda path: {"file_path": path},
    lambda path, first, last: {"file_path": path, "start_line": first, "end_line": last},
    "run_shell_command",
)


def test_a_session_with_the_hook_and_without(tmp_path: Path) -> None:
    check_with_and_without(GEMINI_CLI, tmp_path)


def test_what_fails_is_told_and_the_session_goes_on(tmp_path: Path, free_port: int) -> None:
    check_unreachable(GEMINI_CLI, tmp_path, free_port)
