"""OpenCode itself, against a scripted model: with the plugin, without it, in a sub-agent, and when something fails."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from lamr_agents.hosts import HOSTS

from tests.agents.hosts import models
from tests.agents.hosts.anthropic_endpoint import endpoint, tool_results
from tests.agents.hosts.cuts import hidden_line, is_cut
from tests.agents.hosts.hooked import (
    Hook,
    Player,
    check_unreachable,
    check_with_and_without,
    hooked,
    laid_out,
    ran,
)
from tests.agents.hosts.scripted import Endpoint, Script, Step
from tests.agents.samples import LINES, TASK, line_of

PROGRAM = Path(os.environ["LAMR_HOSTS"]) / "node_modules" / ".bin" / "opencode"
HOST = HOSTS["opencode"]


def play(
    folder: Path, script: Script, serve: Hook, others: Mapping[str, Script] | None = None
) -> tuple[Endpoint, str]:
    """Run a session in a folder.

    Args:
        folder: holds the project and all that the session leaves behind.
        script: what the model says.
        serve: the options of the hook's server; None is a session without the plugin.
        others: what it says in sessions whose task has these words.
    """
    project, home = laid_out(folder)
    plugin = home / "config" / "opencode" / "plugins" / "lamr.js"
    with endpoint(script) as model, hooked(HOST, plugin, folder, serve):
        model.others = others or {}
        (project / "opencode.json").write_text(json.dumps(_settings(model.url)), encoding="utf-8")
        said = ran(
            *(project, PROGRAM, "run", "--auto", TASK),
            HOME=str(home),
            PWD=str(project),
            XDG_CONFIG_HOME=str(home / "config"),
            XDG_DATA_HOME=str(home / "data"),
            XDG_STATE_HOME=str(home / "state"),
            NPM_CONFIG_OFFLINE="true",
            OPENCODE_DISABLE_MODELS_FETCH="1",
            OPENCODE_DISABLE_AUTOUPDATE="1",
        )
    return model, said


def _settings(url: str) -> dict[str, object]:
    """Anthropic's models, as the host lists them, at another address."""
    model = f"anthropic/{models.opencode()}"
    return {
        "enabled_providers": ["anthropic"],
        "provider": {"anthropic": {"options": {"baseURL": f"{url}/v1", "apiKey": "none"}}},
        "model": model,
        "small_model": model,
        "share": "disabled",
    }


OPENCODE = Player(
    play,
    *(tool_results, "messages", "read"),
    lambda path: {"filePath": path},
    lambda path, first, last: {"filePath": path, "offset": first, "limit": last - first + 1},
    "bash",
)


def test_a_session_with_the_plugin_and_without(tmp_path: Path) -> None:
    check_with_and_without(OPENCODE, tmp_path)


def test_what_fails_is_told_and_the_session_goes_on(tmp_path: Path, free_port: int) -> None:
    check_unreachable(OPENCODE, tmp_path, free_port)


def test_a_sub_agent_reads_for_its_own_words(tmp_path: Path) -> None:
    path = str(tmp_path / "project" / "a.py")
    prompt = "Find out what is written for the seventeenth field."
    given = {"description": "Look", "prompt": prompt, "subagent_type": "general"}
    parent = [
        Step("I'll look at handler_30 first.", "read", {"filePath": path}),
        Step("Now another one looks at it.", "task", given),
        Step("Done."),
    ]
    child = [Step("I'll look at handler_17.", "read", {"filePath": path}), Step("It is value_17.")]
    model, said = play(tmp_path, parent, [], {prompt: child})
    assert "Done." in said
    own, answer = tool_results(model.requests[-1])
    assert "value_17" in answer
    (other,) = tool_results(model.others_requests[-1])
    for shown, needed in ((own, 30), (other, 17)):
        number = line_of(f"value_{needed} =")
        assert f"{number}: {LINES[number - 1]}" in shown
        assert is_cut(shown)
        assert hidden_line(shown) not in shown
    assert own != other
