"""Codex itself, against a scripted model: with the hook, without it, and with a pruner that can't be reached."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from lamr_agents.hosts import HOSTS
from lamr_agents.local.store import Store
from lamr_agents.policy import FOR_A_SCRIPT
from lamr_agents.sessions import read_events
from lamr_agents.sessions.formats import CODEX as CODEX_LOG
from lamr_agents.sessions.reads import big_reads
from lamr_postprocess import approximate_tokens

from tests.agents.hosts import models
from tests.agents.hosts.cuts import is_cut
from tests.agents.hosts.hooked import (
    Hook,
    Player,
    check_unreachable,
    check_with_and_without,
    hooked,
    laid_out,
    ran,
)
from tests.agents.hosts.responses_endpoint import SCRIPT, endpoint, tool_results
from tests.agents.hosts.scripted import Endpoint, Script, Step
from tests.agents.samples import CODE, SAID, TASK

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


def test_what_a_script_runs_in_code_mode_is_left_alone_and_not_counted(tmp_path: Path) -> None:
    script = "const r = await tools.exec_command({cmd: 'cat a.py'}); text(r.output);"
    model, said = play(
        tmp_path, [Step(SAID, SCRIPT, {"script": script}), Step("Done.")], [], models.codex(code_mode=True)
    )
    assert "Done." in said
    (shown,) = tool_results(model.requests[-1])
    assert CODE.rstrip("\n") in shown
    (row,) = Store(tmp_path / "shown.sqlite3").decisions()
    assert (row.reason, row.tokens_in, row.tokens_out) == (FOR_A_SCRIPT, 0, 0)
    (log,) = (tmp_path / "home" / "moved" / "sessions").rglob("*.jsonl")
    (read,) = big_reads(read_events(log.read_text(), CODEX_LOG))
    assert (read.read.path, read.intent) == ("a.py", SAID)
    assert "\n".join(read.shown.lines).rstrip("\n") == CODE.rstrip("\n")


def test_more_than_the_host_shows_is_cut_to_fit(tmp_path: Path) -> None:
    large = CODE + "".join(f"\n\ndef handler_30_{n}(request):\n    return request[{n}]\n" for n in range(300))

    def read(_: list[str]) -> Step:
        (tmp_path / "project" / "b.py").write_text(large)
        return Step(SAID, "exec_command", {"cmd": "cat b.py"})

    model, said = play(tmp_path, [read, Step("Done.")], ["--profile", "careful"])
    assert "Done." in said
    (shown,) = tool_results(model.requests[-1])
    assert is_cut(shown)
    assert "truncated" not in shown
    kept = re.search(r"\[lamr: (\d+) of the lines 1-(\d+) are shown", shown)
    assert kept
    own = [line for line in shown.split("\n") if " pruned" not in line and "[lamr: " not in line]
    assert int(kept[1]) == len(own) - 1
    (row,) = Store(tmp_path / "shown.sqlite3").decisions()
    assert row.tokens_out == approximate_tokens(shown)
