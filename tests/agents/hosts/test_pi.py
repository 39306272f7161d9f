"""pi itself, against a scripted model: with the extension, without it, and when something fails."""

from __future__ import annotations

import json
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

BINARIES = Path(os.environ["LAMR_HOSTS"]) / "node_modules" / ".bin"
HOST = HOSTS["pi"]


def play(folder: Path, script: Script, serve: Hook) -> tuple[Endpoint, str]:
    """Run a session in a folder; `serve` are the options of the hook's server, None is one without the extension."""
    project, home = laid_out(folder)
    with endpoint(script) as model, hooked(HOST, home / "extensions" / "lamr.js", folder, serve):
        (home / "models.json").write_text(
            json.dumps({"providers": {"anthropic": {"baseUrl": model.url}}}), encoding="utf-8"
        )
        said = ran(
            *(project, BINARIES / "node", (BINARIES / "pi").resolve(), "--print", "--offline"),
            *("--provider", "anthropic", "--model", models.pi(), TASK),
            HOME=str(home),
            PI_CODING_AGENT_DIR=str(home),
            PI_OFFLINE="1",
            ANTHROPIC_API_KEY="none",
        )
    return model, said


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
