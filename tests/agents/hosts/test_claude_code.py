"""Claude Code itself, against a scripted model: with the hook, without it, and with a pruner that can't be reached."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from lamr_agents.claude_code import HOOK
from lamr_agents.entries import LIMIT_SECONDS
from lamr_agents.installing import hook_command, installed
from lamr_agents.local.server import lock_of
from lamr_agents.local.store import Store

from tests.agents.hosts.anthropic_endpoint import Endpoint, Script, Step, endpoint, tool_results
from tests.agents.hosts.cuts import hidden_line, largest_cut
from tests.agents.samples import CODE, LINES, SAID, TASK, line_of

CLAUDE = Path(os.environ["LAMR_HOSTS"]) / "node_modules" / ".bin" / "claude"
SECONDS = 240
PATIENCE = 100
"""Seconds that the hook waits here: a busy machine takes longer to load the model than an agent's user would wait."""


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
    sockets = folder / "s"
    if serve is not None:
        options = [
            "--store",
            str(folder / "shown.sqlite3"),
            "--idle",
            "60",
            "--timeout",
            str(PATIENCE),
            *serve,
        ]
        command = hook_command(HOOK, options, sockets).replace(
            f"--limit {LIMIT_SECONDS}", f"--limit {PATIENCE}"
        )
        settings = project / ".claude" / "settings.json"
        installed(HOOK, settings, command).write()
        written = json.loads(settings.read_text())
        written["hooks"]["PostToolUse"][0]["hooks"][0]["timeout"] = PATIENCE + 2
        settings.write_text(json.dumps(written))
    with endpoint(script) as model, ending(sockets), through(model.url) as url:
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


@contextmanager
def ending(socket: Path) -> Iterator[None]:
    """End the server that a hook has started, if one has."""
    try:
        yield
    finally:
        if lock_of(socket).exists():
            os.kill(int(lock_of(socket).read_text()), signal.SIGTERM)


def script(project: Path, cut: tuple[int, int] | None = None) -> Script:
    """Reads a file, some of what was cut, and the file again; `cut` is for a session that cuts nothing."""
    path = str(project / "a.py")

    def some_of_the_cut(results: list[str]) -> Step:
        first, last = cut or largest_cut(results[0])
        given = {"file_path": path, "offset": first, "limit": last - first + 1}
        return Step("Now what was cut.", "Read", given)

    return [
        Step(SAID, "Read", {"file_path": path}),
        some_of_the_cut,
        Step("The same by the shell.", "Bash", {"command": "cat a.py", "description": "Show a.py"}),
        Step("Done."),
    ]


def sent(model: Endpoint) -> int:
    """Characters of all requests."""
    return sum(len(json.dumps(body["messages"])) for body in model.requests)


def test_a_session_with_the_hook_and_without(tmp_path: Path) -> None:
    with_hook, said = play(tmp_path / "with", script(tmp_path / "with" / "project"), [])
    whole, ranged, again = tool_results(with_hook.requests[-1])
    same = script(tmp_path / "without" / "project", largest_cut(whole))
    without, _ = play(tmp_path / "without", same, None)
    assert said.strip() == "Done."
    assert "def handler_30(request, response):" in whole
    assert "): handler_" in whole  # the cuts are named
    hidden = hidden_line(whole)
    assert hidden not in whole
    assert "of the lines 1-" in whole
    assert hidden in ranged  # the cut can be undone in one step
    assert "[lamr" not in ranged
    assert hidden in again  # a file that was shown before isn't cut again
    assert tool_results(without.requests[-1])[0].count("handler_") > 50
    print(f"characters sent to the model: {sent(without):,} without lamr, {sent(with_hook):,} with it")
    assert sent(with_hook) < sent(without)
    reasons = {tally.reason for tally in Store(tmp_path / "with" / "shown.sqlite3").tallies()}
    assert reasons == {"pruned", "shown before"}, reasons


def test_a_pruner_that_cant_be_reached_is_told_and_the_session_goes_on(
    tmp_path: Path, free_port: int
) -> None:
    serve = ["--server", f"127.0.0.1:{free_port}", "--timeout", "2"]
    model, said = play(tmp_path, [*script(tmp_path / "project")[:1], Step("Done.")], serve)
    assert said.strip() == "Done."
    (whole,) = tool_results(model.requests[-1])
    assert CODE.rstrip("\n").split("\n")[-1] in whole
    assert "lines pruned" not in whole
    assert "[lamr: not pruned: ServerUnavailableError" in json.dumps(model.requests[-1]["messages"])


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
