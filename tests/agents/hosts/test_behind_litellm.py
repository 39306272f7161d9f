"""Agents that know nothing of lamr, behind LiteLLM's proxy: a cut range comes back whole, and a killed server is told.

mini-swe-agent speaks OpenAI's chats, Claude Code Anthropic's messages and streams; the model is Anthropic's for
both."""

import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from tests.agents.hosts.anthropic_endpoint import endpoint, tool_results
from tests.agents.hosts.cuts import IN_HASTE, hidden_line, is_cut, largest_cut, nothing_is_lost
from tests.agents.hosts.hooked import ran
from tests.agents.hosts.players import CLAUDE_CODE, play_claude_code
from tests.agents.hosts.scripted import Endpoint, Script, Step
from tests.agents.hosts.test_killed_server import Restartable, triton
from tests.agents.hosts.test_litellm import HOSTS, KEY, proxy
from tests.agents.samples import CODE, LINES, SAID, TASK

__all__ = ["triton"]
DONE = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def play_mini(folder: Path, script: Script, port: int, **environment: str) -> Endpoint:
    """A session of mini-swe-agent's own command by its own configuration, behind the proxy."""
    with endpoint(script) as model, proxy(folder, port, model.url, "anthropic", **environment) as address:
        ran(
            *(folder, sys.executable, "-m", "minisweagent.run.mini", "-t", TASK, "-m", "openai/scripted"),
            *("-y", "--exit-immediately", "-o", folder / "session.traj.json"),
            HOME=str(folder),
            PYTHONPATH=str(HOSTS),
            OPENAI_BASE_URL=f"{address}/v1",
            OPENAI_API_KEY=KEY,
            MSWEA_CONFIGURED="true",
            MSWEA_GLOBAL_CONFIG_DIR=str(folder),
            MSWEA_COST_TRACKING="ignore_errors",
            LITELLM_LOCAL_MODEL_COST_MAP="True",
        )
    assert json.loads((folder / "session.traj.json").read_text())["info"]["exit_status"] == "Submitted"
    return model


def outputs(model: Endpoint) -> list[str]:
    """What the model saw of each command's output, in its last request."""
    return [json.loads(result)["output"] for result in tool_results(model.requests[-1])]


def never_changes(model: Endpoint) -> None:
    """What was sent once is sent again in each later request, or the provider's cache would be lost."""
    for before, after in zip(model.requests, model.requests[1:], strict=False):
        assert tool_results(after)[: len(tool_results(before))] == tool_results(before)


def test_mini_swe_agent_gets_a_cut_range_back(tmp_path: Path, free_port: int) -> None:
    (tmp_path / "a.py").write_text(CODE, encoding="utf-8")

    def some_of_the_cut(results: list[str]) -> Step:
        first, last = largest_cut(results[0])
        return Step("Now what was cut.", "bash", {"command": f"sed -n '{first},{last}p' a.py"})

    steps = [
        Step(SAID, "bash", {"command": "cat a.py"}),
        some_of_the_cut,
        Step("The whole again.", "bash", {"command": "cat a.py"}),
        Step("Done.", "bash", {"command": DONE}),
    ]
    model = play_mini(tmp_path, steps, free_port)
    whole, ranged, again = outputs(model)
    first, last = largest_cut(whole)
    assert hidden_line(whole) not in whole
    assert "read a range of lines to see what a marker stands for" in whole
    assert ranged.splitlines() == LINES[first - 1 : last]
    assert nothing_is_lost(again, whole, ranged)
    never_changes(model)


def through(folder: Path, port: int) -> Callable[[str], AbstractContextManager[str]]:
    return lambda url: proxy(folder, port, url, "anthropic")


def test_claude_code_gets_a_cut_range_back(tmp_path: Path, free_port: int) -> None:
    path = tmp_path / "project" / "a.py"
    steps = CLAUDE_CODE.script(path.parent)
    model, said = play_claude_code(tmp_path, steps, None, through=through(tmp_path, free_port))
    assert said.strip() == "Done."
    assert all(body["stream"] for body in model.requests)
    whole, ranged, again = tool_results(model.requests[-1])
    first, last = largest_cut(whole)
    assert hidden_line(whole) not in whole
    assert "read a range of lines to see what a marker stands for" in whole
    shown = [line.partition("\t")[2] for line in ranged.splitlines()]
    assert shown[: last - first + 1] == LINES[first - 1 : last]
    assert "[lamr" not in ranged
    assert nothing_is_lost(again, whole, ranged)
    never_changes(model)


def test_a_server_that_is_killed_in_the_middle_of_a_session(
    tmp_path: Path, triton: Restartable, unused_port: int
) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text(CODE, encoding="utf-8")

    def cat(name: str, before: Callable[[], None]) -> Callable[[list[str]], Step]:
        def step(_: list[str]) -> Step:
            before()
            return Step(SAID, "bash", {"command": f"cat {name}"})

        return step

    steps = [
        Step(SAID, "bash", {"command": "cat a.py"}),
        cat("b.py", triton.kill),
        cat("c.py", triton.start),
        Step("Done.", "bash", {"command": DONE}),
    ]
    model = play_mini(tmp_path, steps, unused_port, LAMR_SERVER=triton.address)
    first, second, third = outputs(model)
    assert is_cut(first)
    assert is_cut(second)
    assert IN_HASTE in second
    assert is_cut(third), third[-400:]
    never_changes(model)
