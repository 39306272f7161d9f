"""What Claude Code alone has, against a scripted model: edits, sub-agents, files for outputs, shared settings, MCP."""

import json
import os
import sys
from pathlib import Path

import pytest
from lamr_agents.hosts import HOSTS
from lamr_agents.installing import installed, shared_command
from lamr_agents.local.store import Store
from lamr_agents.policy import PUT_ASIDE

from tests.agents.hosts.anthropic_endpoint import tool_results
from tests.agents.hosts.cuts import hidden_line, is_cut, largest_cut
from tests.agents.hosts.players import CLAUDE_CODE, play_claude_code
from tests.agents.hosts.scripted import Script, Step
from tests.agents.samples import CODE, LINES, SAID, line_of

HOST = HOSTS["claude-code"]


def test_a_cut_read_counts_as_one_for_an_edit_and_for_a_new_file_in_its_place(tmp_path: Path) -> None:
    """The host asks for a read before both; a line that was hidden can be edited as well."""
    path = str(tmp_path / "project" / "a.py")
    edited = "    value_7 = None  # edited"

    def edit(results: list[str]) -> Step:
        old = hidden_line(results[0])
        return Step("Now the edit.", "Edit", {"file_path": path, "old_string": old, "new_string": edited})

    steps: Script = [
        Step(SAID, "Read", {"file_path": path}),
        edit,
        Step("Again.", "Write", {"file_path": path, "content": "x = 1\n"}),
        Step("Done."),
    ]
    model, said = play_claude_code(tmp_path, steps, [], tools="Read,Edit,Write")
    assert said.strip() == "Done."
    read, done, written = tool_results(model.requests[-1])
    assert is_cut(read)
    assert "has been updated" in done
    assert "has been updated" in written
    assert Path(path).read_text() == "x = 1\n"


PROMPT = "Find out what handler_40 does, please, and tell nobody else about it before you are sure of it."


def test_a_sub_agents_read_is_cut_for_what_it_says_itself(tmp_path: Path) -> None:
    path = str(tmp_path / "project" / "a.py")
    given = {"description": "look", "prompt": PROMPT, "subagent_type": "Explore", "run_in_background": False}
    own: Script = [Step("I'll look at handler_40 first.", "Read", {"file_path": path}), Step("It writes.")]
    steps: Script = [
        Step(SAID, "Read", {"file_path": path}),
        Step("Another looks at the fortieth.", "Agent", given),
        Step("Done."),
    ]
    model, said = play_claude_code(tmp_path, steps, [], tools="Read,Agent", others={PROMPT: own})
    assert said.strip() == "Done."
    (seen,) = tool_results(model.others_requests[-1])
    read = tool_results(model.requests[-1])[0]
    assert "def handler_40(" in seen
    assert "value_30 =" not in seen
    assert "value_30 =" in read
    assert "value_40 =" not in read
    rows = Store(tmp_path / "shown.sqlite3").decisions()
    assert [row.reason for row in rows] == ["pruned"] * 2


def test_an_output_that_the_host_puts_into_a_file_passes(tmp_path: Path) -> None:
    """The agent is shown the first 2,000 characters and the file's name."""
    command = {"command": "cat a.py a.py a.py a.py", "description": "Show a.py"}
    model, said = play_claude_code(tmp_path, [Step(SAID, "Bash", command), Step("Done.")], [])
    assert said.strip() == "Done."
    (shown,) = tool_results(model.requests[-1])
    assert shown.startswith("<persisted-output>")
    assert not is_cut(shown)
    (row,) = Store(tmp_path / "shown.sqlite3").decisions()
    assert row.reason == PUT_ASIDE


def test_what_a_team_checks_in_is_silent_where_there_is_no_lamr(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = os.environ["PATH"].split(os.pathsep)
    without = [place for place in places if not (Path(place) / "lamr-hook").exists()]
    monkeypatch.setenv("PATH", os.pathsep.join(without))
    assert HOST.hook
    installed(HOST, tmp_path / "project" / ".claude" / "settings.json", shared_command(HOST.hook)).write()
    path = tmp_path / "project" / "a.py"
    model, said = play_claude_code(tmp_path, [CLAUDE_CODE.read(path), Step("Done.")], None)
    assert said.strip() == "Done."
    (whole,) = tool_results(model.requests[-1])
    assert CODE.rstrip("\n").split("\n")[-1] in whole
    assert "[lamr" not in json.dumps(model.requests[-1]["messages"])
    assert "hook error" not in json.dumps(model.requests[-1]["messages"]).lower()


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
    model, said = play_claude_code(tmp_path / "s", steps, None, *options, tools=tools)
    assert said.strip() == "Done."
    shown, cut = tool_results(model.requests[-1])[-2:]
    number = line_of("value_30 =")
    assert f"\n{number}\t{LINES[number - 1]}\n" in shown
    assert hidden_line(shown) not in shown
    assert hidden_line(shown) in cut
