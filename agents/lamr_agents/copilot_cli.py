"""Copilot CLI: what its `postToolUse` hook says of a call, and the answer that replaces a tool's result.

The hook names no transcript: the session's log is looked for by its name, in the host's folder. `view` shows files
without numbers, and refuses whole files from some size on; agents then ask for ranges."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lamr_base.expressions import expression

from lamr_agents.calls import Call, HookHost, HostCall, HostOutput, SampleRead, call_of
from lamr_agents.host import UserFolder
from lamr_agents.sessions.formats import COPILOT_CLI
from lamr_agents.sessions.shown import framed
from lamr_agents.skimmed import Skim
from lamr_agents.thin import FOLDER
from lamr_agents.transcript import Voice, last_heard

EVENT = "postToolUse"
TOOLS = ("view", "bash")  # the tools whose results are code: bash where it prints files
HOME = UserFolder(".copilot", "COPILOT_HOME")
LOGS = "session-state"
"""The folder of sessions there; each has one of its own, with its events in `events.jsonl`."""
BESIDE = '{"additionalContext": %s}'
_TEXT = "textResultForLlm"
_NAME = expression(r"[\w-]{1,100}")
_FAILED = expression(r"<shellId: \w+ completed with exit code (?!0>)")
_VOICE = Voice(COPILOT_CLI, lambda line: b'"user.message"' in line)


def read_call(payload: Mapping[str, Any]) -> Call | None:
    tool, given, result = (payload.get(key) for key in ("toolName", "toolArgs", "toolResult"))
    if tool not in TOOLS or not isinstance(given, Mapping) or not isinstance(result, Mapping):
        return None
    text = result.get(_TEXT)
    if not isinstance(text, str):
        return None
    session = str(payload.get("sessionId") or "")
    return call_of(
        HostCall(session, tool, given, result, Path(str(payload.get("cwd") or ""))),
        HostOutput(text, lambda after: result.get("resultType") != "success" or _FAILED.search(after)),
        hear=lambda: last_heard(_log(session, payload.get(FOLDER)), _VOICE),
    )


def answer(call: Call, shown: Skim) -> Mapping[str, Any] | None:
    if shown.cut:
        before, _, after = framed(call.response[_TEXT])
        return {"modifiedResult": {**call.response, _TEXT: f"{before}{shown.text}{after}"}}
    return {"additionalContext": shown.aside} if shown.aside else None


def _log(session: str, folder: Any) -> Path:
    """The log of a session, in the folder that the hook's own environment names, or else in the user's."""
    if not _NAME.fullmatch(session):
        return Path()
    home = Path(folder) if isinstance(folder, str) and folder else HOME.path()
    return home / LOGS / session / "events.jsonl"


def sample(read: SampleRead) -> Mapping[str, Any]:
    result = {"resultType": "success", _TEXT: read.text}
    return {"sessionId": read.session, "toolName": TOOLS[0], "toolArgs": read.asked, "toolResult": result}


HOOK = HookHost(COPILOT_CLI.name, read_call, answer, sample, BESIDE, variable=HOME.variable)
