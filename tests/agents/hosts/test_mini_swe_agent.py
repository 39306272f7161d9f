"""mini-swe-agent itself with its scripted model: with lamr's agent, with its own, and with a server that is away."""

import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.agents.hosts.cuts import IN_FULL, IN_HASTE, hidden_line, is_cut, largest_cut, nothing_is_lost
from tests.agents.samples import CODE, SAID, TASK, set_by_the_user

sys.path.append(str(Path(os.environ["LAMR_HOSTS"]) / "python"))  # behind everything that is installed here
os.environ["MSWEA_SILENT_STARTUP"] = "1"

LAMR = "lamr_agents.mini_swe_agent.PruningAgent"


def play(
    folder: Path,
    agent: str,
    commands: Sequence[str],
    before: Mapping[str, Callable[[], None]] | None = None,
    template: str | None = None,
) -> list[dict[str, Any]]:
    """The messages of a session that runs commands.

    Args:
        folder: where they run.
        agent: the class of the session's agent.
        commands: what the model runs, one after the other.
        before: what is done before some commands run.
        template: of observations; None for that of the scripted model."""
    from minisweagent.agents import get_agent
    from minisweagent.environments import get_environment
    from minisweagent.models.test_models import DeterministicModel, make_output

    (folder / "a.py").write_text(CODE, encoding="utf-8")
    last = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
    outputs = [make_output(SAID, [{"command": command}]) for command in [*commands, last]]
    environment: Any = get_environment({"cwd": str(folder)}, default_type="local")
    run = environment.execute

    def execute(action: Any, *arguments: Any, **more: Any) -> Any:
        (before or {}).get(action["command"], lambda: None)()
        return run(action, *arguments, **more)

    environment.execute = execute
    settings = {
        "agent_class": agent,
        "system_template": "s",
        "instance_template": "{{task}}",
        "cost_limit": 9.0,
    }
    own = {} if template is None else {"observation_template": template}
    made: Any = get_agent(DeterministicModel(outputs=outputs, **own), environment, settings)
    made.run(TASK)
    messages: list[dict[str, Any]] = made.messages
    assert messages[-1]["role"] == "exit"
    return messages


def observations(messages: list[dict[str, Any]]) -> list[str]:
    return [m["content"] for m in messages if m["role"] == "user" and "<returncode>" in m["content"]]


def test_a_session_with_pruned_reads_and_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    set_by_the_user(tmp_path, IN_FULL)  # else a busy machine shows other lines the second time
    (shown,) = observations(play(tmp_path, LAMR, ["cat a.py"]))
    first, last = largest_cut(shown)
    commands = ["cat a.py", f"sed -n '{first},{last}p' a.py", "cat a.py"]
    with_lamr = observations(play(tmp_path, LAMR, commands))
    without = observations(play(tmp_path, "default", commands))
    whole, ranged, again = with_lamr
    assert whole == shown
    assert "def handler_30(" in whole
    assert " pruned: handler_" in whole  # the cuts are named
    assert hidden_line(whole) not in whole
    assert hidden_line(whole) in ranged  # the cut can be undone in one step
    assert nothing_is_lost(again, whole, ranged)
    sizes = [sum(map(len, texts)) for texts in (without, with_lamr)]
    print(f"characters of observations: {sizes[0]:,} without lamr, {sizes[1]:,} with it")
    assert sizes[1] < sizes[0]


def test_the_users_profile_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    set_by_the_user(tmp_path, 'profile = "lossless"\n')
    (whole,) = observations(play(tmp_path, LAMR, ["cat a.py"]))
    assert CODE in whole
    assert not is_cut(whole)


def test_a_server_that_is_away_is_told_and_the_session_goes_on(
    tmp_path: Path, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAMR_SERVER", f"127.0.0.1:{free_port}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    set_by_the_user(tmp_path, IN_FULL)
    (whole,) = observations(play(tmp_path, LAMR, ["cat a.py"]))
    assert is_cut(whole)
    assert IN_HASTE in whole


def test_what_a_command_prints_of_several_files_can_be_shown_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "b.py").write_text(CODE.replace("handler_", "other_"), encoding="utf-8")
    (both,) = observations(play(tmp_path, LAMR, ["cat a.py b.py"]))
    assert "def handler_30(" in both
    assert is_cut(both)
    (command,) = re.findall(r"`(lamr show \w+:\d+-\d+)`", both)
    first, last = map(int, command.partition(":")[2].split("-"))
    (shown,) = observations(play(tmp_path, LAMR, [command]))
    lines = (CODE + CODE.replace("handler_", "other_")).splitlines()[first - 1 : last]
    assert lines[0] in shown
    assert lines[-1] in shown
    (gone,) = observations(play(tmp_path, LAMR, ["lamr show 000000000000:1-2"]))
    assert "nothing is kept under 000000000000" in gone


@pytest.mark.parametrize("name", ["mini", "default", "mini_textbased", "benchmarks/swebench"])
def test_what_is_left_fits_what_the_hosts_own_configurations_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    from lamr_agents.mini_swe_agent import limits_of
    from minisweagent.config import get_config_from_spec

    template = get_config_from_spec(f"{name}.yaml")["model"]["observation_template"]
    limits = limits_of(template)
    assert (limits.characters, limits.uncut) == (9_999, 9_999)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    set_by_the_user(tmp_path, IN_FULL)
    large = CODE + "".join(f"\n\ndef other_{n}(request):\n    return request['{n}']\n" for n in range(900))
    (tmp_path / "b.py").write_text(large, encoding="utf-8")
    messages = play(tmp_path, LAMR, ["cat b.py"], template=template)
    (shown,) = [m["content"] for m in messages if " pruned" in str(m.get("content"))]
    assert "elided" not in shown
    text = json.loads(shown)["output"] if shown.startswith("{") else shown
    note = re.search(r"\[lamr: (\d+) of the lines 1-(\d+) are shown", text)
    assert note
    assert int(note[2]) == large.count("\n")
    rows = [line for line in text.split("\n") if line in set(large.split("\n")) and line.strip()]
    assert int(note[1]) >= len(rows) > 20
    assert "    value_30 = request.read_header('X-Field-30', default=None)" in rows


def test_a_template_that_shows_all_or_asks_for_more_limits_nothing() -> None:
    from lamr_agents.mini_swe_agent import limits_of

    for template in ("{{ output.output }}", "{{ output.output }} {{ something.else }}", "{% if"):
        assert limits_of(template).fit("x" * 100_000)
