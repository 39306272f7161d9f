"""OpenHands itself, against a scripted model: with lamr's tools, with its own, and with a server that is away."""

import json
import os
import re
from pathlib import Path

import pytest
from lamr_agents.replay import bundled_prices, find_logs, record_of, replay, shown_by_hooks
from lamr_client import Pruner

from tests.agents.hosts.anthropic_endpoint import endpoint, tool_results
from tests.agents.hosts.cuts import IN_FULL, IN_HASTE, hidden_line, is_cut, largest_cut, nothing_is_lost
from tests.agents.hosts.hooked import ran
from tests.agents.hosts.scripted import Endpoint, Script, Step
from tests.agents.samples import CODE, LINES, SAID, TASK, line_of, set_by_the_user

PYTHON = Path(os.environ["LAMR_HOSTS"]) / "openhands" / "bin" / "python"
SESSION = Path(__file__).parent / "openhands_session.py"

needs_python = pytest.mark.skipif(
    not PYTHON.exists(),
    reason="OpenHands needs Python 3.12 or later, and `make test-hosts` found none; name one: OPENHANDS_PYTHON=…",
)
pytestmark = needs_python


def play(folder: Path, script: Script, whose: str = "lamr", **environment: str) -> Endpoint:
    """Run a session in a folder that holds `project`."""
    with endpoint(script) as model:
        ran(
            *(folder, PYTHON, SESSION, folder, model.url, TASK, whose),
            HOME=str(folder),
            XDG_CACHE_HOME=str(folder / "cache"),
            LITELLM_LOCAL_MODEL_COST_MAP="True",
            **environment,
        )
    return model


def project(folder: Path, code: str = CODE) -> str:
    """Make the project, whose file `a.py` the session reads: the file's path."""
    (folder / "project").mkdir(parents=True)
    path = folder / "project" / "a.py"
    path.write_text(code, encoding="utf-8")
    return str(path)


def script(path: str, cut: tuple[int, int] | None = None) -> Script:
    """Reads a file, some of what was cut, and the file again; `cut` is for a session that cuts nothing."""

    def some_of_the_cut(results: list[str]) -> Step:
        view = {"command": "view", "path": path, "view_range": list(cut or largest_cut(results[0]))}
        return Step("Now what was cut.", "file_editor", view)

    return [
        Step(SAID, "file_editor", {"command": "view", "path": path}),
        some_of_the_cut,
        Step("handler_30 by the shell.", "terminal", {"command": "cat a.py"}),
        Step("And both files at once, for handler_30.", "terminal", {"command": "cat a.py a.py"}),
        Step("Done."),
    ]


def sent(model: Endpoint) -> int:
    """Characters of all requests."""
    return sum(len(json.dumps(body["messages"])) for body in model.requests)


def test_a_session_with_pruned_reads_and_without(tmp_path: Path) -> None:
    with_lamr = play(tmp_path / "with", script(project(tmp_path / "with")))
    whole, ranged, again, both = tool_results(with_lamr.requests[-1])
    without = play(tmp_path / "own", script(project(tmp_path / "own"), largest_cut(whole)), "own")
    number = line_of("def handler_30(")
    assert f"{number:6}\t{LINES[number - 1]}" in whole
    assert " pruned: handler_" in whole  # the cuts are named
    assert hidden_line(whole) not in whole
    assert hidden_line(whole) in ranged  # the cut can be undone in one step
    assert "[lamr" not in ranged
    assert nothing_is_lost(again, whole, ranged)  # a file that was shown before isn't cut again
    assert is_cut(both)
    assert re.search(r"`lamr show \w+:\d+-\d+`", both)
    for before, after in zip(with_lamr.requests, with_lamr.requests[1:], strict=False):
        assert tool_results(after)[: len(tool_results(before))] == tool_results(before)
    print(f"characters sent to the model: {sent(without):,} without lamr, {sent(with_lamr):,} with it")
    assert sent(with_lamr) < sent(without)
    replay_finds(tmp_path / "own")


def replay_finds(folder: Path) -> None:
    """The log that the host itself left behind can be replayed, with its accounts."""
    (log,) = find_logs([folder / "conversation"])
    with Pruner() as pruner:
        session = record_of(log, bundled_prices())
        replayed = replay(session, shown_by_hooks(session, pruner))
    assert replayed.accounted
    assert replayed.model == "anthropic/claude-sonnet-4-5"
    assert replayed.totals.requests == 5
    first, second = (read.outcome.reason for read in replayed.reads)
    assert (first, second in {"shown before", "shortened"}) == ("pruned", True)


def test_a_server_that_is_away_is_told_and_the_session_goes_on(tmp_path: Path, free_port: int) -> None:
    set_by_the_user(tmp_path, IN_FULL)
    steps = [script(project(tmp_path))[0], Step("Done.")]
    model = play(tmp_path, steps, LAMR_SERVER=f"127.0.0.1:{free_port}", XDG_CONFIG_HOME=str(tmp_path))
    (whole,) = tool_results(model.requests[-1])
    assert is_cut(whole)
    assert IN_HASTE in whole


def test_a_file_that_the_editor_clips_is_pruned_whole_and_by_its_own_numbers(tmp_path: Path) -> None:
    code = CODE + CODE.replace("handler_", "other_").removeprefix("import os\n")
    path = project(tmp_path, code)
    read = {"command": "view", "path": path}
    script = [Step("I look for other_59, the last.", "file_editor", read), Step("Done.")]
    (own,) = tool_results(play(tmp_path, script, "own").requests[-1])
    assert "<response clipped>" in own
    (shown,) = tool_results(play(tmp_path, script).requests[-1])
    assert "<response clipped>" not in shown
    lines = code.split("\n")
    number = next(n for n, line in enumerate(lines, 1) if "def other_59(" in line)
    assert f"{number:6}\t{lines[number - 1]}" in shown
    assert f"of the lines 1-{len(lines) - 1} are shown" in shown


def test_what_a_command_prints_of_several_files_can_be_shown_again(tmp_path: Path) -> None:
    project(tmp_path)
    first = [Step(SAID, "terminal", {"command": "cat a.py a.py"}), Step("Done.")]
    (both,) = tool_results(play(tmp_path, first).requests[-1])
    (command,) = re.findall(r"`(lamr show \w+:\d+-\d+)`", both)
    start, last = map(int, command.partition(":")[2].split("-"))
    again = [Step("What was cut?", "terminal", {"command": command}), Step("Done.")]
    (shown,) = tool_results(play(tmp_path, again).requests[-1])
    assert "\n".join((CODE + CODE).splitlines()[start - 1 : last]) in shown
