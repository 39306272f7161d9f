"""Calls as hosts' hooks send them, and their sessions' logs, without what nobody reads: one `Recorded` a host.

They were written down from what the programs of `make test-hosts` sent, with a file of our own."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.agents.samples import SAID, TASK, session


@dataclass(frozen=True)
class Recorded:
    """What a host sends."""

    name: str  # the host's
    log: Callable[
        [Path], Mapping[str, Any]
    ]  # writes its session's log below a folder; what a call says of it
    read: Callable[[str], dict[str, Any]] | None  # a call for a whole file; None where no tool reads files
    shell: Callable[[str, str], dict[str, Any]]  # a call for a command and what it printed
    text_of: Callable[[Mapping[str, Any]], str | None]  # the text in the result's place; None where none is
    aside: Callable[[Mapping[str, Any]], str | None]  # what the agent is told beside a result

    def call(self, folder: Path, call: dict[str, Any], **more: Any) -> bytes:
        """A call in a session in which the user and the assistant have said something."""
        return json.dumps({**call, **self.log(folder), "lamr_host": self.name, **more}).encode()


def _lines(path: Path, *records: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def _claude_log(folder: Path) -> Mapping[str, Any]:
    path = folder / "transcript.jsonl"
    path.write_text("".join(session().splitlines(keepends=True)[:2]), encoding="utf-8")
    return {"session_id": "s1", "transcript_path": str(path), "cwd": "/w"}


def _codex_log(folder: Path) -> Mapping[str, Any]:
    def message(role: str, kind: str, words: str) -> dict[str, Any]:
        content = [{"type": kind, "text": words}]
        payload = {"type": "message", "role": role, "content": content}
        return {"timestamp": "2026-11-25T22:32:39.734Z", "type": "response_item", "payload": payload}

    path = folder / "rollout.jsonl"
    _lines(path, message("user", "input_text", TASK), message("assistant", "output_text", SAID))
    return {"session_id": "s1", "transcript_path": str(path), "cwd": "/w"}


def _copilot_log(folder: Path) -> Mapping[str, Any]:
    path = folder / "moved" / "session-state" / "s1" / "events.jsonl"
    _lines(
        path,
        {"type": "session.start", "data": {"sessionId": "s1", "copilotVersion": "1.0.102"}},
        {"type": "user.message", "data": {"content": TASK}},
        {"type": "assistant.message", "data": {"content": SAID, "toolRequests": []}},
    )
    return {"sessionId": "s1", "cwd": "/w", "lamr_folder": str(folder / "moved")}


def _gemini_log(folder: Path) -> Mapping[str, Any]:
    path = folder / "tmp" / "project" / "chats" / "session-2026-11-25.jsonl"
    tokens = {"input": 10, "output": 10, "cached": 0, "thoughts": 0}
    said = {"id": "2", "timestamp": "2026-11-25", "type": "gemini", "content": SAID, "tokens": tokens}
    _lines(
        path,
        {"sessionId": "s1", "projectHash": "49", "kind": "main"},
        {"id": "1", "timestamp": "2026-11-25", "type": "user", "content": [{"text": TASK}]},
        {"$set": {"lastUpdated": "2026-11-25"}},
        *(said, {**said, "toolCalls": []}),
    )
    return {"session_id": "s1", "transcript_path": str(path), "cwd": "/w"}


def _claude(tool: str, given: Any, response: Any) -> dict[str, Any]:
    called = {"tool_name": tool, "tool_input": given, "tool_response": response}
    return {"hook_event_name": "PostToolUse", **called}


def _claude_read(text: str) -> dict[str, Any]:
    file = {"filePath": "/w/a.py", "content": text, "numLines": 304, "startLine": 1, "totalLines": 304}
    return _claude("Read", {"file_path": "/w/a.py"}, {"type": "text", "file": file})


def _claude_shell(command: str, output: str) -> dict[str, Any]:
    response = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
    return _claude("Bash", {"command": command}, response)


def _claude_text(answer: Mapping[str, Any]) -> str | None:
    output = answer.get("hookSpecificOutput", {}).get("updatedToolOutput", {})
    text = output.get("stdout") or output.get("file", {}).get("content")
    return text if isinstance(text, str) else None


def _context(answer: Mapping[str, Any]) -> str | None:
    words = answer.get("hookSpecificOutput", {}).get("additionalContext")
    return words if isinstance(words, str) else None


def _copilot(tool: str, given: Any, text: str) -> dict[str, Any]:
    result = {"resultType": "success", "textResultForLlm": text}
    return {"timestamp": 1795645127418, "toolName": tool, "toolArgs": given, "toolResult": result}


def _gemini(tool: str, given: Any, text: str) -> dict[str, Any]:
    response = {"llmContent": text, "returnDisplay": ""}
    called = {"tool_name": tool, "tool_input": given, "tool_response": response}
    return {"hook_event_name": "AfterTool", "timestamp": "2026-11-25T22:20:55.153Z", **called}


def _gemini_text(answer: Mapping[str, Any]) -> str | None:
    request = answer.get("hookSpecificOutput", {}).get("tailToolCallRequest")
    if request is None:
        return None
    assert request["name"] == "read_file"
    return Path(request["args"]["file_path"]).read_text(encoding="utf-8")


def _vibe_log(folder: Path) -> Mapping[str, Any]:
    def message(role: str, words: str) -> dict[str, Any]:
        content = [{"text": words, "type": "text"}]
        entry = {"type": "message", "role": role, "content": content, "source": "turn_start"}
        delta = [{"op": "append_entry", "entry": entry}, {"op": "set_envelope", "state": {}}]
        return {"payload": {"delta": delta}, "recovery_journal_record_version": 1, "type": "transition"}

    path = folder / "session" / "journal" / "0000000000000001.jsonl"
    _lines(path, message("user", TASK), message("assistant", SAID))
    _lines(path.with_name("0000000000000039.jsonl"))
    return {"session_id": "s1", "transcript_path": str(folder / "session"), "cwd": "/w"}


def _vibe(tool: str, given: Any, output: Any) -> dict[str, Any]:
    called = {"tool_name": tool, "tool_call_id": "toolu_0000", "tool_input": given, "tool_output": output}
    return {"hook_event_name": "post_tool", "parent_session_id": None, "tool_status": "success", **called}


def _vibe_read(text: str) -> dict[str, Any]:
    output = {"content": text, "offset": 0, "next_offset": None, "was_truncated": False}
    return _vibe("file_system.read_file", {"file_path": "/w/a.py"}, output)


def _vibe_shell(command: str, printed: str) -> dict[str, Any]:
    output = {"returncode": 0, "stderr": "", "stdout": printed, "timed_out": False, "was_truncated": False}
    return _vibe("file_system.bash", {"command": command}, output)


RECORDED = {
    each.name: each
    for each in (
        Recorded("claude-code", _claude_log, _claude_read, _claude_shell, _claude_text, _context),
        Recorded(
            *("codex", _codex_log, None),
            lambda command, output: _claude("Bash", {"command": command}, output),
            lambda answer: answer["stopReason"] if answer.get("continue") is False else None,
            _context,
        ),
        Recorded(
            *("copilot-cli", _copilot_log),
            lambda text: _copilot("view", {"path": "/w/a.py"}, text),
            lambda command, output: _copilot(
                "bash", {"command": command}, f"{output}\n<shellId: 0 completed with exit code 0>"
            ),
            lambda answer: answer.get("modifiedResult", {}).get("textResultForLlm"),
            lambda answer: answer.get("additionalContext"),
        ),
        Recorded(
            *("gemini-cli", _gemini_log),
            lambda text: _gemini("read_file", {"file_path": "/w/a.py"}, text),
            lambda command, output: _gemini(
                "run_shell_command",
                {"command": command},
                f"<untrusted_context>\nOutput: {output}\nProcess Group PGID: 51\n</untrusted_context>",
            ),
            _gemini_text,
            _context,
        ),
        Recorded(
            *("mistral-vibe", _vibe_log, _vibe_read, _vibe_shell),
            lambda answer: answer["reason"] if answer.get("decision") == "deny" else None,
            lambda answer: answer.get("hook_specific_output", {}).get("additional_context"),
        ),
    )
}
"""By the host's name."""
