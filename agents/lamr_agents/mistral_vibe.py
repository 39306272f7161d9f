"""Mistral Vibe: what its `post_tool` hook says of a call, and the answer that replaces a tool's result.

The host takes the reason of a hook that denies a result for the result itself. Its transcript is a folder, where the
session's journal lies. A program that the model writes for `run_typescript` calls tools, too: it expects an object,
which no text may replace."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lamr_agents.calls import Call, HookHost, HostCall, HostOutput, SampleRead, call_of
from lamr_agents.host import UserFolder
from lamr_agents.policy import FOR_A_SCRIPT
from lamr_agents.sessions import Heard
from lamr_agents.sessions.events import LogFormat, Rule
from lamr_agents.skimmed import Skim
from lamr_agents.transcript import Voice, last_heard

TOOLS = {"file_system.read_file": "content", "file_system.bash": "stdout"}
"""The tools whose results are code, and the key of the text in their result."""
MATCH = "re:read_file|bash"
HOME = UserFolder(".vibe", "VIBE_HOME")
BESIDE = '{"hook_specific_output": {"additional_context": %s}}'
BY_A_PROGRAM = "typescript:"  # how the names of calls begin that a program of the model's makes
_MESSAGE = {"op": "append_entry", "entry.type": "message"}
_VOICE = Voice(
    LogFormat(
        "mistral-vibe",
        None,
        {"recovery_journal_record_version": None, "payload": None},
        (
            Rule("user", "payload.delta[]", part={**_MESSAGE, "entry.role": "user"}, text="entry.content"),
            Rule(
                "assistant",
                "payload.delta[]",
                part={**_MESSAGE, "entry.role": "assistant"},
                text="entry.content",
            ),
        ),
    ),
    lambda line: b'"turn_start"' in line,
)


def read_call(payload: Mapping[str, Any]) -> Call | None:
    tool, given, output = (payload.get(key) for key in ("tool_name", "tool_input", "tool_output"))
    if tool not in TOOLS or not isinstance(given, Mapping) or not isinstance(output, Mapping):
        return None
    text = output.get(TOOLS[tool])
    if not isinstance(text, str):
        return None
    if isinstance(given.get("offset"), int):
        given = {**given, "offset": given["offset"] + 1}  # the host counts lines from 0
    by_a_program = str(payload.get("tool_call_id")).startswith(BY_A_PROGRAM)
    session = Path(str(payload.get("transcript_path") or ""))
    return call_of(
        HostCall(
            *(str(payload.get("session_id") or ""), tool.rpartition(".")[2], given, output),
            Path(str(payload.get("cwd") or "")),
        ),
        HostOutput(
            text,
            lambda _: output.get("returncode") or output.get("stderr") or output.get("timed_out"),
            bare=True,
            uncut=FOR_A_SCRIPT if by_a_program else "",
        ),
        hear=lambda: _hear(session / "journal"),
    )


def _hear(journal: Path) -> Heard:
    """What was said last, by the latest of a journal's files that says anything."""
    heard = Heard()
    for log in sorted(journal.glob("*.jsonl"), reverse=True):
        heard = last_heard(log, _VOICE)
        if heard.said or heard.task:
            break
    return heard


def answer(call: Call, shown: Skim) -> Mapping[str, Any] | None:
    if shown.cut:
        after = call.response.get("next_offset")
        more = f"\nThe file goes on: next_offset is {after}\n" if after is not None else ""
        return {"decision": "deny", "reason": f"{shown.text}{more}"}
    return {"hook_specific_output": {"additional_context": shown.aside}} if shown.aside else None


def sample(read: SampleRead) -> Mapping[str, Any]:
    called = {"tool_input": read.asked, "tool_output": {"content": read.text}}
    return {"session_id": read.session, "tool_name": "file_system.read_file", **called}


HOOK = HookHost("mistral-vibe", read_call, answer, sample, BESIDE)
