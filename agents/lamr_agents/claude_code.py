"""Claude Code: what its `PostToolUse` hook says of a call, and the answer that replaces a tool's output.

`updatedToolOutput` must have the very shape of the tool's own output, or the host ignores it: for Read a file with its
content, for Bash the standard output. Read's content is numbered anew by the host, so the note says whose numbers the
markers carry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lamr_sessions import Heard
from lamr_sessions.formats import CLAUDE_CODE
from lamr_sessions.tools import shown_by

from lamr_agents.hook_host import Call, HookHost
from lamr_agents.intent import intent_of, known_of
from lamr_agents.skim import Skim, asked_for
from lamr_agents.thin import EVENT
from lamr_agents.transcript import last_heard

TOOLS = ("Read", "Bash")
"""The tools whose results are code: Bash where it prints files (`cat`, `sed -n`, `head`, `git show REVISION:PATH`)."""
MOST_PATH = 4096
"""Characters of a path, and of the names of several files; what is longer names none."""
_NUMBERS = "[lamr: the host numbers the lines that are left; the markers carry the file's own numbers]\n"


def read_call(payload: Mapping[str, Any]) -> Call | None:
    """A hook's call; None where it is none of a tool that reads a file."""
    tool, given, response = (payload.get(key) for key in ("tool_name", "tool_input", "tool_response"))
    if not isinstance(tool, str) or not isinstance(given, Mapping) or not isinstance(response, Mapping):
        return None
    seen = shown_by(tool, given)
    text = _text(tool, response)
    if tool not in TOOLS or seen is None or text is None:
        return None
    read, name = seen
    if len(read.path) > MOST_PATH or len(name) > MOST_PATH:
        return None
    heard = hear(Path(str(payload.get("transcript_path") or "")))
    intent = intent_of(known_of(heard, given, read.path))
    asked = asked_for(
        text,
        replace(read, path=str(Path(str(payload.get("cwd") or "")) / read.path)),
        intent=intent,
        failed=bool(response.get("stderr")) or bool(response.get("interrupted")),
        name=name,
    )
    return Call(str(payload.get("session_id") or ""), tool, asked, intent, response)


def answer(call: Call, shown: Skim) -> Mapping[str, Any] | None:
    """What the hook prints; None where the result stays as it is without a word.

    A result that the pruner failed on stays as it is, and the agent is told.
    """
    said: dict[str, Any] = {"hookEventName": EVENT}
    if shown.cut:
        said["updatedToolOutput"] = _with_text(call.tool, call.response, shown.text)
    elif shown.aside:
        said["additionalContext"] = shown.aside
    else:
        return None
    return {"hookSpecificOutput": said}


def hear(transcript: Path) -> Heard:
    """What was said last in a transcript; nothing where it can't be read."""
    return last_heard(transcript, CLAUDE_CODE, _may_be_users)


def _may_be_users(line: bytes) -> bool:
    """Whether a line can hold words of the user; results of tools, which are the user's by their role, can't."""
    return b'"user"' in line and b'"tool_result"' not in line


def _text(tool: str, response: Mapping[str, Any]) -> str | None:
    if tool == "Bash":
        text = response.get("stdout")
        return text if isinstance(text, str) and not response.get("isImage") else None
    file = response.get("file")
    text = file.get("content") if response.get("type") == "text" and isinstance(file, Mapping) else None
    return text if isinstance(text, str) else None


def _with_text(tool: str, response: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The tool's output with another text, in the same shape."""
    if tool == "Bash":
        return {**response, "stdout": text}
    text += _NUMBERS
    return {**response, "file": {**response["file"], "content": text, "numLines": text.count("\n") + 1}}


HOOK = HookHost(CLAUDE_CODE.name, read_call, answer)
