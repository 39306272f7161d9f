"""Claude Code: what its `PostToolUse` hook says of a call, and the answer that replaces a tool's output.

`updatedToolOutput` must have the very shape of the tool's own output, or the host ignores it: for Read a file with its
content, for Bash the standard output. Read's content is numbered anew by the host, so the note says whose numbers the
markers carry.

The hook of a sub-agent's call names the session's transcript and the sub-agent. That agent's steps lie in a file of its
own beside it, or (before 2.1.233) in the same file. Where neither has them yet, the prompt counts that the sub-agent
was given. What the session's own agent says is about something else."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from lamr_base.expressions import expression

from lamr_agents.calls import Call, HookHost, HostCall, HostOutput, SampleRead, call_of
from lamr_agents.policy import PUT_ASIDE, ShownLimits, utf16_units
from lamr_agents.sessions import Event, Heard
from lamr_agents.sessions.formats import CLAUDE_CODE
from lamr_agents.sessions.tools import command_of, folder_of
from lamr_agents.skimmed import HOSTS_NUMBERS, Skim
from lamr_agents.thin import EVENT
from lamr_agents.transcript import Voice, last_events, last_heard, opened

_STARTERS = frozenset({"agent", "task"})
_NAME = expression(r"[\w@.-]{1,128}")
_MOST_META = 1 << 16  # bytes


def hear(transcript: Path, agent: str = "", kind: str = "", call: str = "") -> Heard:
    """What was said last by the agent that calls; nothing where no file tells."""
    if not agent:
        return last_heard(transcript, Voice(CLAUDE_CODE, _may_be_users, call=call))
    if not _NAME.fullmatch(agent) or not transcript.name:
        return Heard()
    logs = list(_own_logs(transcript, agent))
    voices = [(log, Voice(CLAUDE_CODE, _may_be_users, None, call)) for log in logs]
    for log, voice in (*voices, (transcript, Voice(CLAUDE_CODE, _may_be_users, agent, call))):
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


READER, SHELL = "Read", "Bash"
TOOLS = (READER, SHELL)
"""The tools whose results are code: Bash where it prints files (`cat`, `sed -n`, `head`, `git show REVISION:PATH`)."""
LIMITS = {SHELL: ShownLimits(characters=30_000, size=utf16_units)}
"""Of an answer for Bash; a longer one is put into a file, as an output is."""
_NO_TEXT = {"notebook": "a notebook", "image": "an image", "pdf": "a PDF", "parts": "pages of a PDF"}
"""The outputs of Read that aren't text, and why they pass."""


def read_call(payload: Mapping[str, Any]) -> Call | None:
    """A hook's call; None where it is none of a tool that reads a file."""
    tool, given, response = (payload.get(key) for key in ("tool_name", "tool_input", "tool_response"))
    if not isinstance(tool, str) or not isinstance(given, Mapping) or not isinstance(response, Mapping):
        return None
    output = _output(tool, response)
    if tool not in TOOLS or output is None:
        return None
    (text, uncut), agent = output, str(payload.get("agent_id") or "")
    kind = str(payload.get("agent_type") or "")
    transcript = Path(str(payload.get("transcript_path") or ""))
    went = folder_of(command_of(tool, given) or "")
    session = str(payload.get("session_id") or "") + (f"/{agent}" if agent else "")
    return call_of(
        HostCall(session, tool, given, response, Path(str(payload.get("cwd") or ""))),
        HostOutput(
            text,
            failed=lambda _: response.get("stderr") or response.get("interrupted"),
            bare=True,
            uncut=uncut,
            limits=LIMITS.get(tool) or _numbering(response),
        ),
        hear=lambda: hear(transcript, agent, kind, str(payload.get("tool_use_id") or "")),
        placed=lambda cwd, path: _placed(cwd, went, path),
    )


def _numbering(response: Mapping[str, Any]) -> ShownLimits:
    """What the host shows of an output of Read: lines with their numbers, from that of the first line on."""
    file = response.get("file")
    first = file.get("startLine") if isinstance(file, Mapping) else 1
    first = first if isinstance(first, int) else 1

    def shown(text: str) -> str:
        return "\n".join(f"{number}\t{line}" for number, line in enumerate(text.split("\n"), first))

    return ShownLimits(shown=shown, below=HOSTS_NUMBERS)


def _placed(cwd: Path, folder: str, path: str) -> Path:
    """The place of a file that a tool has read."""
    went = bool(folder) and (".." in folder or cwd.parts[-len(Path(folder).parts) :] == Path(folder).parts)
    return cwd / (path[len(folder) :].lstrip("/") if went and not Path(path).is_absolute() else path)


def answer(call: Call, shown: Skim) -> Mapping[str, Any] | None:
    """What the hook prints; None where the result stays as it is without a word.

    A result that the pruner failed on stays as it is, and the agent is told."""
    said: dict[str, Any] = {"hookEventName": EVENT}
    if shown.cut:
        said["updatedToolOutput"] = _with_text(call.tool, call.response, shown.text)
    elif shown.aside:
        said["additionalContext"] = shown.aside
    else:
        return None
    return {"hookSpecificOutput": said}


def _output(tool: str, response: Mapping[str, Any]) -> tuple[str, str] | None:
    """What a tool showed, and why it passes where it is no text; None for an output of another shape.

    Of an output that the host puts into a file, the hook is given the first 30,000 characters, and the agent 2,000."""
    file, kind = response.get("file"), response.get("type")
    if tool == SHELL:
        text = response.get("stdout")
        uncut = _NO_TEXT["image"] if response.get("isImage") else ""
        uncut = uncut or (PUT_ASIDE if response.get("persistedOutputPath") else "")
    elif kind in _NO_TEXT:
        text, uncut = "", _NO_TEXT[str(kind)]
    else:
        text = file.get("content") if kind == "text" and isinstance(file, Mapping) else None
        uncut = ""
    return (text, uncut) if isinstance(text, str) else None


def _with_text(tool: str, response: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The tool's output with another text, in the same shape."""
    if tool == SHELL:
        return {**response, "stdout": text}
    file = response["file"]
    # Of a page of a long file, the host says by this number how far it goes and what to read next.
    lines = file["numLines"] if file.get("truncatedByTokenCap") else text.count("\n") + 1
    return {**response, "file": {**file, "content": text, "numLines": lines}}


def sample(read: SampleRead) -> Mapping[str, Any]:
    lines = read.text.count("\n") + 1
    file = {
        "filePath": read.path,
        "content": read.text,
        "numLines": lines,
        "startLine": 1,
        "totalLines": lines,
    }
    called = {"tool_input": read.asked, "tool_response": {"type": "text", "file": file}}
    return {"session_id": read.session, "tool_name": READER, **called}


HOOK = HookHost(CLAUDE_CODE.name, read_call, answer, sample, tells_context=True)
