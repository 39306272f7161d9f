"""Codex: what its `PostToolUse` hook says of a command, and the answer that replaces the output.

The host takes the reason of a hook that stops the result for the result itself, and the turn goes on. Of an output it
gives a hook some 40,000 characters, and of a reason it shows 10,000 bytes.

Most models of the host work in code mode: they write scripts that run commands. A hook is called for these as well, but
the script gets the output whatever a hook answers, and the model what the script prints."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lamr_agents.calls import Call, HookHost, HostCall, HostOutput, SampleRead, call_of
from lamr_agents.host import UserFolder
from lamr_agents.policy import FOR_A_SCRIPT, ShownLimits, utf8_bytes
from lamr_agents.sessions.formats import BY_A_SCRIPT, CODEX
from lamr_agents.sessions.shown import framed
from lamr_agents.skimmed import Skim
from lamr_agents.thin import EVENT
from lamr_agents.transcript import Voice, last_heard

TOOLS = ("Bash",)  # the tool whose results are code: the shell, by the name that hooks know
HOME = UserFolder(".codex", "CODEX_HOME")
_ABOVE = (
    "Chunk ID: 000000\nWall time: 0.0000 seconds\nProcess exited with code 0\n"
    "Original token count: 0000\nOutput:\n"
)
LIMITS = {"Bash": ShownLimits(characters=10_000, size=utf8_bytes, above=_ABOVE)}
_VOICE = Voice(CODEX, lambda line: b'"user"' in line)


def read_call(payload: Mapping[str, Any]) -> Call | None:
    tool, given, text = (payload.get(key) for key in ("tool_name", "tool_input", "tool_response"))
    if tool not in TOOLS or not isinstance(given, Mapping) or not isinstance(text, str):
        return None
    by_a_script = BY_A_SCRIPT.match(str(payload.get("tool_use_id")))
    folder = Path(str(payload.get("cwd") or ""))
    return call_of(
        HostCall(str(payload.get("session_id") or ""), tool, given, {"output": text}, folder),
        HostOutput(
            text,
            failed=lambda _: False,  # the hook isn't told
            uncut=FOR_A_SCRIPT if by_a_script else "",
            limits=ShownLimits(shown=lambda _: "")
            if by_a_script
            else LIMITS[tool],  # what it prints isn't known
        ),
        hear=lambda: last_heard(Path(str(payload.get("transcript_path") or "")), _VOICE),
    )


def answer(call: Call, shown: Skim) -> Mapping[str, Any] | None:
    if shown.cut:
        before, _, after = framed(call.response["output"])
        return {"continue": False, "stopReason": f"{before}{shown.text}{after}"}
    if shown.aside:
        return {"hookSpecificOutput": {"hookEventName": EVENT, "additionalContext": shown.aside}}
    return None


def sample(read: SampleRead) -> Mapping[str, Any]:
    called = {"tool_input": read.printing, "tool_response": read.text}
    return {"session_id": read.session, "tool_name": TOOLS[0], **called}


HOOK = HookHost(CODEX.name, read_call, answer, sample)
