"""What Codex and OpenCode alone have: code mode, a limit to what is shown, a sub-agent of a plugin."""

import re
from pathlib import Path

from lamr_agents.local.store import Store
from lamr_agents.policy import FOR_A_SCRIPT
from lamr_agents.sessions import read_events
from lamr_agents.sessions.formats import CODEX as CODEX_LOG
from lamr_agents.sessions.reads import big_reads
from lamr_postprocess import approximate_tokens

from tests.agents.hosts import models
from tests.agents.hosts.anthropic_endpoint import tool_results as anthropic_results
from tests.agents.hosts.cuts import hidden_line, is_cut
from tests.agents.hosts.players import play_codex, play_opencode
from tests.agents.hosts.responses_endpoint import SCRIPT, tool_results
from tests.agents.hosts.scripted import Step
from tests.agents.samples import CODE, LINES, SAID, line_of


def test_what_a_script_runs_in_code_mode_is_left_alone_and_not_counted(tmp_path: Path) -> None:
    script = "const r = await tools.exec_command({cmd: 'cat a.py'}); text(r.output);"
    model, said = play_codex(
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

    model, said = play_codex(tmp_path, [read, Step("Done.")], ["--profile", "careful"])
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


def test_a_sub_agent_of_opencode_reads_for_its_own_words(tmp_path: Path) -> None:
    path = str(tmp_path / "project" / "a.py")
    prompt = "Find out what is written for the seventeenth field."
    given = {"description": "Look", "prompt": prompt, "subagent_type": "general"}
    parent = [
        Step("I'll look at handler_30 first.", "read", {"filePath": path}),
        Step("Now another one looks at it.", "task", given),
        Step("Done."),
    ]
    child = [Step("I'll look at handler_17.", "read", {"filePath": path}), Step("It is value_17.")]
    model, said = play_opencode(tmp_path, parent, [], {prompt: child})
    assert "Done." in said
    own, answer = anthropic_results(model.requests[-1])
    assert "value_17" in answer
    (other,) = anthropic_results(model.others_requests[-1])
    for shown, needed in ((own, 30), (other, 17)):
        number = line_of(f"value_{needed} =")
        assert f"{number}: {LINES[number - 1]}" in shown
        assert is_cut(shown)
        assert hidden_line(shown) not in shown
    assert own != other
