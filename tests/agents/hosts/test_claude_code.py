"""Claude Code itself, against a scripted model: with the hook, without it, and with a pruner that can't be reached."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from lamr_agents.hosts import HOSTS

from tests.agents.hosts.anthropic_endpoint import endpoint, tool_results
from tests.agents.hosts.cuts import hidden_line, largest_cut
from tests.agents.hosts.hooked import (
    SECONDS,
    Player,
    check_unreachable,
    check_with_and_without,
    ending,
    install,
)
from tests.agents.hosts.scripted import Endpoint, Script, Step
from tests.agents.samples import CODE, LINES, SAID, TASK, line_of

CLAUDE = Path(os.environ["LAMR_HOSTS"]) / "node_modules" / ".bin" / "claude"
HOST = HOSTS["claude-code"]


def play(
    folder: Path,
    script: Script,
    serve: list[str] | None,
    *more: str,
    tools: str = "Read,Bash",
    through: Callable[[str], AbstractContextManager[str]] = nullcontext,
) -> tuple[Endpoint, str]:
    """Run a session in a folder; `serve` are the options of the hook's server, None is a session without the hook.

    Args:
        folder: holds the project and all that the session leaves behind.
        script: what the model says.
        serve: options of the server.
        more: options of the host's command.
        tools: those that it may call.
        through: gives the address that the host knows, for the model's own.
    """
    project, home = folder / "project", folder / "home"
    project.mkdir(parents=True)
    home.mkdir()
    (project / "a.py").write_text(CODE, encoding="utf-8")
    if serve is not None:
        install(HOST, project / ".claude" / "settings.json", folder, serve)
    with endpoint(script) as model, ending(folder), through(model.url) as url:
        environment = {
            **os.environ,
            "HOME": str(home),
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        command = [str(CLAUDE), "-p", TASK, "--model", "claude-opus-4-5", "--allowedTools", tools]
        done = subprocess.run(
            [*command, *more],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
        )
    return model, done.stdout


CLAUDE_CODE = Player(
    play,
    *(tool_results, "messages", "Read"),
    lambda path: {"file_path": path},
    lambda path, first, last: {"file_path": path, "offset": first, "limit": last - first + 1},
    "Bash",
)


def test_a_session_with_the_hook_and_without(tmp_path: Path) -> None:
    check_with_and_without(CLAUDE_CODE, tmp_path)


def test_what_fails_is_told_and_the_session_goes_on(tmp_path: Path, free_port: int) -> None:
    check_unreachable(CLAUDE_CODE, tmp_path, free_port)


def test_tools_of_the_mcp_server_answer_with_texts_as_they_are(tmp_path: Path) -> None:
    server = {"command": sys.executable, "args": ["-m", "lamr_cli.main", "mcp", "--root", "."]}
    configuration = tmp_path / "mcp.json"
    configuration.write_text(json.dumps({"mcpServers": {"lamr": server}}), encoding="utf-8")

    def expand(results: list[str]) -> Step:
        first, last = largest_cut(results[-1])
        return Step("Now what was cut.", "mcp__lamr__expand", {"path": "a.py", "first": first, "last": last})

    steps: Script = [
        Step("First I wait.", "WaitForMcpServers", {}),
        Step(SAID, "mcp__lamr__read_file", {"path": "a.py", "question": "What does handler_30 write?"}),
        expand,
        Step("Done."),
    ]
    tools = "WaitForMcpServers,mcp__lamr__read_file,mcp__lamr__expand"
    options = ["--mcp-config", str(configuration), "--strict-mcp-config"]
    model, said = play(tmp_path / "s", steps, None, *options, tools=tools)
    assert said.strip() == "Done."
    shown, cut = tool_results(model.requests[-1])[-2:]
    number = line_of("value_30 =")
    assert f"\n{number}\t{LINES[number - 1]}\n" in shown
    assert hidden_line(shown) not in shown
    assert hidden_line(shown) in cut
