"""Gemini CLI: what its `AfterTool` hook says of a call, and the answer that replaces a tool's result.

A hook may refuse a result with words of its own, but the agent then gets them as an error. It may also have another
tool called, whose result takes the place of the first: so what is shown is written into the folder that the host keeps
for the project, which `read_file` may read, and `read_file` shows it. The agent gets a result like any other. The hook
is called for that one as well, and lets it pass.

The host shortens what a command printed only after the hook, and `read_file` shows as many lines as of any file. So an
answer has no more characters than the host would show of the output, and no more lines than `read_file`
shows."""

import contextlib
import re
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lamr_base.expressions import expression
from lamr_base.private_files import private_folder, write_whole

from lamr_agents.calls import Call, HookHost, HostCall, HostOutput, SampleRead, call_of
from lamr_agents.host import UserFolder
from lamr_agents.policy import ShownLimits, utf16_units
from lamr_agents.sessions.formats import GEMINI_CLI_LINES
from lamr_agents.sessions.shown import framed
from lamr_agents.skim import unjudged
from lamr_agents.skimmed import Skim
from lamr_agents.transcript import Voice, last_heard

EVENT = "AfterTool"
READER = "read_file"
SHELL = "run_shell_command"
TOOLS = (READER, SHELL)  # the tools whose results are code: the shell where it prints files
HOME = UserFolder(".gemini", "GEMINI_CLI_HOME", ".gemini")
BESIDE = '{"hookSpecificOutput": {"hookEventName": "' + EVENT + '", "additionalContext": %s}}'
PASSED = '"original_request_name":'  # what stands in the call for a result that took another's place
_HEAD, _TAIL = 8_000, 32_000  # characters of the two ends of a longer output that the host shows


def _shortened(output: str) -> str:
    """The output as the host shortens it, without the name of the file that holds all of it."""
    left_out = len(output) - _HEAD - _TAIL
    if left_out <= 0:
        return output
    return (
        f"Output too large. Showing first {_HEAD:,} and last {_TAIL:,} characters. For full output see: \n"
        f"{output[:_HEAD]}\n\n... [{left_out:,} characters omitted] ...\n\n{output[-_TAIL:]}"
    )


READ = ShownLimits(lines=1_999, width=2_000, size=utf16_units)
LIMITS = {READER: READ, SHELL: replace(READ, characters=_HEAD + _TAIL, uncut=_HEAD + _TAIL, shown=_shortened)}
"""By tool. `read_file` counts the place after the last end of a line as one."""
_TEXT = "llmContent"
_FAILED = expression(r"^(?:Exit Code|Error|Signal): ", re.MULTILINE)
_FOLDER = "lamr"
_SECONDS = 3600.0  # after which what was shown is removed: `read_file` has long shown it
_VOICE = Voice(GEMINI_CLI_LINES, lambda line: b'"user"' in line and b'"functionResponse"' not in line)


def read_call(payload: Mapping[str, Any]) -> Call | None:
    tool, given, result = (payload.get(key) for key in ("tool_name", "tool_input", "tool_response"))
    if tool not in TOOLS or not isinstance(given, Mapping) or not isinstance(result, Mapping):
        return None
    text = result.get(_TEXT)
    if not isinstance(text, str) or payload.get("original_request_name"):
        return None
    log = Path(str(payload.get("transcript_path") or ""))
    return call_of(
        HostCall(
            *(str(payload.get("session_id") or ""), tool, given, {**result, _FOLDER: _folder_of(log)}),
            Path(str(payload.get("cwd") or "")),
        ),
        HostOutput(text, lambda after: result.get("error") or _FAILED.search(after), limits=LIMITS[tool]),
        hear=lambda: last_heard(log, _VOICE),
    )


def answer(call: Call, shown: Skim) -> Mapping[str, Any] | None:
    said: dict[str, Any] = {"hookEventName": EVENT}
    if shown.cut and not call.response[_FOLDER]:
        shown = unjudged(call.asked, "the host keeps no folder for the project")
    elif shown.cut:
        before, _, after = framed(call.response[_TEXT])
        try:
            path = _written(Path(call.response[_FOLDER]), call.asked.path, f"{before}{shown.text}{after}")
        except OSError as error:
            shown = unjudged(call.asked, error)
        else:
            said["tailToolCallRequest"] = {"name": READER, "args": {"file_path": str(path)}}
    if shown.aside:
        said["additionalContext"] = shown.aside
    return {"hookSpecificOutput": said} if len(said) > 1 else None


def _folder_of(log: Path) -> str:
    """Our folder inside the host's folder for the project; empty if the host has none."""
    known = log.is_absolute() and log.parent.name == "chats" and log.parent.is_dir()
    return str(log.parent.parent / _FOLDER) if known else ""


def _written(folder: Path, path: str, text: str) -> Path:
    private_folder(folder)
    for old in folder.iterdir():
        with contextlib.suppress(OSError):
            if time.time() - old.stat().st_mtime > _SECONDS:
                old.unlink()
    file = folder / f"{uuid.uuid4().hex[:8]}-{Path(path).name[-100:] or 'output'}.txt"
    write_whole(file, text)
    return file


def sample(read: SampleRead) -> Mapping[str, Any]:
    chats = Path(read.folder) / "chats"
    chats.mkdir(exist_ok=True)
    called = {"tool_input": read.asked, "tool_response": {_TEXT: read.text}}
    log = str(chats / "session.jsonl")
    return {"session_id": read.session, "transcript_path": log, "tool_name": READER, **called}


HOOK = HookHost("gemini-cli", read_call, answer, sample, BESIDE, passed=PASSED)
