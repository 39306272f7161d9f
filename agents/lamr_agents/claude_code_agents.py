"""Whose words a call of Claude Code's follows: the session's own, or those of the sub-agent that made it.

The hook of a sub-agent's call names the session's transcript and the sub-agent. That agent's steps lie in a file of its
own beside it, or (before 2.1.233) in the same file. Where neither has them yet, the prompt counts that the sub-agent
was given. What the session's own agent says is about something else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from lamr_sessions import Event, Heard
from lamr_sessions.formats import CLAUDE_CODE

from lamr_agents.regular_files import opened
from lamr_agents.transcript import Voice, last_events, last_heard

_STARTERS = frozenset({"agent", "task"})
_NAME = re.compile(r"[\w@.-]{1,128}")
_MOST_META = 1 << 16  # bytes


def hear(transcript: Path, agent: str = "", kind: str = "") -> Heard:
    """What was said last by the agent that calls; nothing where no file tells.

    Args:
        transcript: the session's.
        agent: the sub-agent's name; empty for the session's own agent.
        kind: the sub-agent's type.
    """
    if not agent:
        return last_heard(transcript, Voice(CLAUDE_CODE, _may_be_users))
    if not _NAME.fullmatch(agent) or not transcript.name:
        return Heard()
    logs = list(_own_logs(transcript, agent))
    voices = [(log, Voice(CLAUDE_CODE, _may_be_users, None)) for log in logs]
    for log, voice in (*voices, (transcript, Voice(CLAUDE_CODE, _may_be_users, agent))):
        heard = last_heard(log, voice)
        if heard.said or heard.task:
            return heard
    heard = Heard()
    heard.hear(Event("user", _prompt(transcript, agent, kind, logs)))
    return heard


def _may_be_users(line: bytes) -> bool:
    """Whether a line can hold words of the user; results of tools, which are the user's by their role, can't."""
    return b'"user"' in line and b'"tool_result"' not in line


def _own_logs(transcript: Path, agent: str) -> Iterator[Path]:
    """Where a sub-agent's own file may lie; those of a workflow have a folder for each run."""
    name = f"agent-{agent}.jsonl"
    if transcript.name == name:
        yield transcript
    folder = transcript.with_suffix("") / "subagents"
    yield folder / name
    with suppress(OSError, ValueError):
        if not (folder / name).exists():
            yield from folder.glob(f"*/*/{name}")


def _prompt(transcript: Path, agent: str, kind: str, logs: Sequence[Path]) -> str:
    """What a sub-agent was asked to do; empty where it can't be told from what others were asked."""
    events = last_events(transcript, Voice(CLAUDE_CODE, _may_be_users))
    calls = [event for event in events if event.kind == "call" and event.tool.lower() in _STARTERS]
    answered = {event.call: event.text for event in events if event.kind == "result"}
    named = {call for log in logs if (call := _started_by(log.with_suffix(".meta.json")))}
    for sure in (
        [call for call in calls if call.call in named],
        [call for call in calls if agent in answered.get(call.call, "")],
        [call for call in calls if call.call not in answered and call.arguments.get("subagent_type") == kind],
        [call for call in calls if call.call not in answered],
    ):
        if len(sure) == 1:
            prompt = sure[0].arguments.get("prompt")
            return prompt if isinstance(prompt, str) else ""
    return ""


def _started_by(meta: Path) -> str:
    """The call that started a sub-agent, by the file beside its own; empty where none says."""
    try:
        with opened(meta) as stream:
            said: Any = json.loads(stream.read(_MOST_META))
    except (OSError, ValueError, RecursionError):
        return ""
    call = said.get("toolUseId") if isinstance(said, dict) else None
    return call if isinstance(call, str) else ""
