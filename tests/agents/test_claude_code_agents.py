"""Sub-agents, forked and compacted sessions, other folders: whose words a read follows, and what was shown before.

Payloads and lines of transcripts are those that Claude Code 2.1.330 writes, without the fields that nobody reads
here."""

import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from lamr_agents.calls import Call
from lamr_agents.claude_code import read_call
from lamr_agents.local.server import LocalServer
from lamr_agents.local.store import Store
from lamr_agents.policy import Policy
from lamr_agents.sessions import big_reads, read_events
from lamr_agents.sessions.formats import CLAUDE_CODE

from tests.agents.samples import CODE, NUMBERED, SAID, TASK, answers, pruner, says
from tests.agents.test_claude_code import BASH, READ, payload

PROMPT = "Find out what handler_40 does, please, and tell nobody else about it before you are sure of it."
WORDS = "I'll look at handler_40 first."
AGENT = "a98bf9b753a6a0440"
STARTED = "toolu_0001"


def line(role: str, *parts: Any, agent: str = "", **more: Any) -> str:
    content = parts[0] if len(parts) == 1 and isinstance(parts[0], str) else list(parts)
    aside = {"isSidechain": True, "agentId": agent} if agent else {"isSidechain": False}
    record = {"type": role, "sessionId": "s", **aside, "message": {"role": role, "content": content}, **more}
    return json.dumps(record, separators=(",", ":")) + "\n"


def calls(call: str, tool: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": tool, "input": given}


def starts(call: str, prompt: str, kind: str = "Explore", tool: str = "Agent") -> str:
    return line("assistant", calls(call, tool, description="check", prompt=prompt, subagent_type=kind))


PARENT = line("user", TASK) + line("assistant", says(SAID)) + starts(STARTED, PROMPT)
OWN = (
    line("user", PROMPT, agent=AGENT)
    + line("assistant", says(WORDS), agent=AGENT)
    + line("assistant", calls("toolu_0002", "Read", file_path="/w/a.py"), agent=AGENT)
)


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "project" / "s.jsonl"
    path.parent.mkdir()
    path.write_text(PARENT, encoding="utf-8")
    return path


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LocalServer]:
    with closing(Store(tmp_path / "shown.sqlite3")) as store:
        yield LocalServer(tmp_path / "hook.sock", store, pruner, policy=Policy())


def own_log(transcript: Path, *folders: str) -> Path:
    path = transcript.with_suffix("").joinpath("subagents", *folders, f"agent-{AGENT}.jsonl")
    path.parent.mkdir(parents=True)
    return path


def call_of(transcript: Path, agent: str = AGENT, **more: Any) -> Call:
    whose = {"agent_id": agent, "agent_type": "Explore"} if agent else {}
    call = read_call(
        payload("Read", {"file_path": "/w/a.py"}, READ, transcript_path=str(transcript), **whose, **more)
    )
    assert call is not None
    return call


def words_of(call: Call) -> tuple[str, str]:
    return call.intent.query, call.intent.task


@pytest.mark.parametrize("folders", [(), ("workflows", "run-1")])
def test_a_sub_agents_own_words_are_the_query(transcript: Path, folders: tuple[str, ...]) -> None:
    own_log(transcript, *folders).write_text(OWN, encoding="utf-8")
    assert words_of(call_of(transcript)) == (WORDS, PROMPT)
    assert words_of(call_of(transcript, "")) == (SAID, TASK)


def test_a_transcript_that_is_the_sub_agents_is_read_as_it_is(transcript: Path) -> None:
    own = own_log(transcript)
    own.write_text(OWN, encoding="utf-8")
    assert words_of(call_of(own)) == (WORDS, PROMPT)


def test_the_lines_of_sub_agents_in_the_sessions_own_file_are_theirs(transcript: Path) -> None:
    """Until 2.1.233, and mixed with those of other agents."""
    other = line("assistant", says("I am about something else."), agent="other")
    transcript.write_text(PARENT + OWN + other, encoding="utf-8")
    assert words_of(call_of(transcript)) == (WORDS, PROMPT)
    assert words_of(call_of(transcript, "")) == (SAID, TASK)


OTHERS_PROMPT = "Count the functions of every file and write the numbers into a table for the release."
LAUNCHED = f"Async agent launched successfully.\nagentId: {AGENT} (internal ID)"


@pytest.mark.parametrize(
    ("lines", "prompt"),
    [
        (starts("t2", OTHERS_PROMPT, "Plan"), PROMPT),
        (starts("t2", OTHERS_PROMPT, "Plan", "Task"), PROMPT),
        (starts("t2", OTHERS_PROMPT) + line("user", answers("t2", "done")), PROMPT),
        (starts("t2", OTHERS_PROMPT) + line("user", answers(STARTED, LAUNCHED)), PROMPT),
        (starts("t2", OTHERS_PROMPT), ""),  # either could be meant
    ],
)
def test_without_a_file_of_its_own_the_prompt_counts_that_it_was_given(
    transcript: Path, lines: str, prompt: str
) -> None:
    transcript.write_text(PARENT + lines, encoding="utf-8")
    assert words_of(call_of(transcript)) == (prompt, "")


def test_the_file_beside_its_own_says_which_call_started_it(transcript: Path) -> None:
    transcript.write_text(PARENT + starts("t2", OTHERS_PROMPT), encoding="utf-8")
    own = own_log(transcript)
    own.with_suffix(".meta.json").write_text(json.dumps({"agentType": "Explore", "toolUseId": STARTED}))
    assert words_of(call_of(transcript)) == (PROMPT, "")
    own.write_text("", encoding="utf-8")  # begun, and nothing in it yet
    assert words_of(call_of(transcript)) == (PROMPT, "")


@pytest.mark.parametrize("agent", ["../../s", "a\0b", "x" * 300, "unknown", "a/b"])
def test_a_sub_agent_that_nothing_is_known_of_gets_the_whole(
    server: LocalServer, transcript: Path, agent: str
) -> None:
    transcript.write_text(PARENT + starts("t2", OTHERS_PROMPT), encoding="utf-8")
    call = payload("Read", {"file_path": "/w/a.py"}, READ, transcript_path=str(transcript), agent_id=agent)
    assert server.answer(json.dumps(call).encode()) == b""


def test_a_sub_agent_without_any_transcript_gets_the_whole(server: LocalServer) -> None:
    call = payload("Read", {"file_path": "/w/a.py"}, READ, transcript_path="", agent_id=AGENT)
    assert server.answer(json.dumps(call).encode()) == b""


def test_what_only_looks_like_a_sub_agents_file_isnt_waited_for(transcript: Path) -> None:
    os.mkfifo(own_log(transcript))
    assert words_of(call_of(transcript)) == (PROMPT, "")


def is_cut(server: LocalServer, transcript: Path, tool: str = "Read", **more: Any) -> bool:
    given: dict[str, Any] = {"file_path": "/w/a.py"} if tool == "Read" else {"command": "cat a.py"}
    response = READ if tool == "Read" else BASH
    call = payload(tool, given, response, transcript_path=str(transcript), **more)
    return b"updatedToolOutput" in server.answer(json.dumps(call).encode())


def test_each_agent_has_its_own_first_look(server: LocalServer, transcript: Path) -> None:
    own_log(transcript).write_text(OWN, encoding="utf-8")
    assert is_cut(server, transcript)
    assert is_cut(server, transcript, agent_id=AGENT)
    assert not is_cut(server, transcript, agent_id=AGENT)
    assert not is_cut(server, transcript)


HISTORY = (
    line("user", TASK)
    + line("assistant", says("I'll look at handler_30 first."), calls("t1", "Read", file_path="/w/a.py"))
    + line("user", answers("t1", NUMBERED))
)


def test_a_forked_session_has_seen_what_its_origin_saw(server: LocalServer, transcript: Path) -> None:
    """The host copies the lines under another session's name."""
    transcript.write_text(HISTORY, encoding="utf-8")
    assert not is_cut(server, transcript, session_id="forked")
    transcript.write_text(HISTORY.replace("/w/a.py", "/w/b.py"), encoding="utf-8")
    assert is_cut(server, transcript, session_id="other")


def test_a_look_at_a_range_or_at_an_error_is_none_at_the_file(server: LocalServer, transcript: Path) -> None:
    ranged = calls("t1", "Read", file_path="/w/a.py", offset=9, limit=200)
    for lines in (
        line("assistant", says("So."), ranged) + line("user", answers("t1", NUMBERED)),
        HISTORY.replace(json.dumps(NUMBERED), json.dumps("File content exceeds maximum allowed size")),
    ):
        transcript.write_text(line("user", TASK) + lines, encoding="utf-8")
        assert is_cut(server, transcript, session_id=f"s{len(lines)}")


def test_what_was_shown_before_a_compaction_is_gone(server: LocalServer, transcript: Path) -> None:
    assert is_cut(server, transcript)
    transcript.write_text(HISTORY, encoding="utf-8")
    assert not is_cut(server, transcript)
    boundary = {"type": "system", "subtype": "compact_boundary", "timestamp": "2999-01-01T00:00:00.000Z"}
    summary = line("user", "This session is being continued from a previous conversation. " * 9)
    said = line("assistant", says("I'll go on with handler_30."))
    transcript.write_text(HISTORY + json.dumps(boundary) + "\n" + summary + said, encoding="utf-8")
    call = call_of(transcript, "")
    assert (call.intent.query, call.intent.task) == ("I'll go on with handler_30.", TASK)
    assert call.since > 3e10
    assert is_cut(server, transcript)


@pytest.mark.parametrize(
    ("command", "cwd", "path"),
    [
        ("cat a.py", "/w", "/w/a.py"),
        ("cd sub && cat a.py", "/w/sub", "/w/sub/a.py"),  # the host names the folder that it is in afterwards
        ("cd sub && cat a.py", "/w", "/w/sub/a.py"),  # or, for a sub-agent, the one that it goes back to
        ("cd .. && cat a.py", "/w", "/w/a.py"),
        ("cd /v/sub && cat a.py", "/v/sub", "/v/sub/a.py"),
        ("cd 'my sub' && cat a.py", "/w/my sub", "/w/my sub/a.py"),
        ("cd sub && cat /v/a.py", "/w/sub", "/v/a.py"),
        ("cd ~/x && cat a.py", "/root/x", "/root/x/a.py"),
        ('cd "$HOME" && cat a.py', "/root", "/root/a.py"),
    ],
)
def test_a_file_is_that_of_the_folder_where_the_command_ran(command: str, cwd: str, path: str) -> None:
    call = read_call(payload("Bash", {"command": command}, BASH, cwd=cwd))
    assert call is not None
    assert call.asked.path == path


def test_a_work_trees_file_is_another_than_the_repositorys(server: LocalServer, transcript: Path) -> None:
    assert is_cut(server, transcript, "Bash", cwd="/w")
    assert is_cut(server, transcript, "Bash", cwd="/w/.claude/worktrees/one")
    assert not is_cut(server, transcript, "Bash", cwd="/w")


def test_a_recorded_read_follows_the_words_of_the_agent_that_made_it() -> None:
    log = PARENT + OWN + line("user", answers("toolu_0002", NUMBERED), agent=AGENT)
    (read,) = big_reads(read_events(log, CLAUDE_CODE))
    assert (read.intent, read.task) == (WORDS, PROMPT)
    assert CODE.startswith(read.shown.lines[0])
