"""OpenHands: its terminal and its file editor, with what they show of files pruned for what the model said before.

Importing this module registers two tools beside the host's own. An agent that names `lamr_terminal` and
`lamr_file_editor` in their place gets them; the model sees the names and descriptions that it knows. A result is pruned
before it becomes an event, so the history holds one text of it for good. This module knows that host's tools and
events, from version 1.58 on."""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from lamr_base.records import dataclass
from lamr_client import Pruner
from openhands.sdk import TextContent, Tool
from openhands.sdk.event import ActionEvent, Condensation, MessageEvent
from openhands.sdk.tool import Action, Observation, ToolDefinition, ToolExecutor, register_tool
from openhands.tools.file_editor import FileEditorAction, FileEditorTool
from openhands.tools.file_editor.utils.constants import (
    MAX_RESPONSE_LEN_CHAR,
    TEXT_FILE_CONTENT_TRUNCATED_NOTICE,
)
from openhands.tools.terminal import TerminalAction, TerminalObservation, TerminalTool

from lamr_agents.embedded import Own, Reads
from lamr_agents.intent import Known, known_of
from lamr_agents.sessions import Event, Heard
from lamr_agents.sessions.events import events_of
from lamr_agents.sessions.formats import OPENHANDS_SDK
from lamr_agents.sessions.shown import framed
from lamr_agents.sessions.tools import same_file, shown_by
from lamr_agents.skim import because_of
from lamr_agents.thin import NOTE

if TYPE_CHECKING:
    from openhands.sdk.conversation import LocalConversation

_log = logging.getLogger("lamr.agents")


class PruningExecutor(ToolExecutor):
    """Runs a tool's own executor; what it shows of a file may come pruned, or with the reason why it couldn't be."""

    def __init__(self, tool: str, executor: ToolExecutor, reads: Reads) -> None:
        self._tool = tool
        self._executor = executor
        self._reads = reads

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)

    def __call__(self, action: Action, conversation: LocalConversation | None = None) -> Observation:
        """Execute an action; `lamr show` is answered here, since the shell may be one without lamr."""
        if isinstance(action, TerminalAction) and not action.is_input:
            answer = self._reads.answer_show(action.command)
            if answer is not None:
                return TerminalObservation.from_text(answer[0], command=action.command, exit_code=answer[1])
        observation: Observation = self._executor(action, conversation)
        try:
            return self._shown(action, observation, conversation)
        except Exception as error:  # whatever it is, the agent goes on and is told
            _log.exception("an observation could not be pruned")
            return _with_text(observation, f"{observation.text}\n{NOTE} {because_of(error)}]\n")

    def interrupt(self) -> None:
        self._executor.interrupt()

    def close(self) -> None:
        self._executor.close()

    def _shown(
        self, action: Action, observation: Observation, conversation: LocalConversation | None
    ) -> Observation:
        call = _asked(action, conversation)
        seen = shown_by(self._tool, call.arguments) if call else None
        if call is None or seen is None or getattr(action, "is_input", False):
            return observation
        read, name = seen
        text = self._unclipped(action, observation.text)
        before, code, after = framed(text) if isinstance(action, FileEditorAction) else ("", text, "")
        shown = self._reads.skimmed(
            code,
            read,
            call.known,
            name=name,
            again=any(same_file(name or read.path, other) for other in call.earlier),
            failed=observation.is_error or getattr(observation, "exit_code", 0) != 0,
        )
        whole = before + shown.text + after
        if shown.cut and (text == observation.text or len(whole) <= MAX_RESPONSE_LEN_CHAR):
            return _with_text(observation, whole)
        return _with_text(observation, f"{observation.text}\n{shown.aside}\n") if shown.aside else observation

    def _unclipped(self, action: Action, text: str) -> str:
        """The view of a file as it would be had the editor not left out its middle.

        The editor leaves out the middle of what has more than 16,000 characters and numbers what is left without a gap:
        its numbers, and those of cuts, would point at other lines."""
        clipped = isinstance(action, FileEditorAction) and TEXT_FILE_CONTENT_TRUNCATED_NOTICE in text
        if not clipped or action.command != "view" or action.view_range:
            return text
        lines = self._executor.editor.read_file(Path(action.path)).removesuffix("\n").split("\n")
        numbered = (f"{number:6}\t{line}" for number, line in enumerate(lines, 1))
        return "\n".join([text.partition("\n")[0], *numbered, ""])


@dataclass(frozen=True)
class _Call:
    """A call as the model made it: its input, what is known of why, and the files that the session saw before."""

    arguments: Mapping[str, Any]
    known: Known
    earlier: Sequence[str]


def _asked(action: Action, conversation: LocalConversation | None) -> _Call | None:
    """The call that an action stands for; None where no event of the conversation has it."""
    branch = [] if conversation is None else conversation.state.active_branch()
    told = (MessageEvent, ActionEvent, Condensation)
    events = [event for event in branch if isinstance(event, told)]
    while events and getattr(events[-1], "action", None) != action:
        events.pop()
    if not events:
        return None
    answer = [getattr(event, "llm_response_id", None) for event in events]
    heard, earlier, call = Heard(), list[str](), Event("call")
    for step in events_of((event.model_dump(mode="json") for event in events), OPENHANDS_SDK):
        heard.hear(step)
        if step.kind == "compacted":
            earlier.clear()
        if step.kind != "call":
            continue
        call, seen = step, shown_by(step.tool, step.arguments)
        if seen is not None and not seen[0].ranged and answer[step.record] != answer[-1]:
            earlier.append(seen[1] or seen[0].path)
    seen = shown_by(call.tool, call.arguments)
    path = seen[0].path if seen else ""
    return _Call(call.arguments, known_of(heard, call.arguments, path), earlier)


def _with_text(observation: Observation, text: str) -> Observation:
    others = [part for part in observation.content if not isinstance(part, TextContent)]
    return observation.model_copy(update={"content": [TextContent(text=text), *others]})


_own = functools.cache(Own.read)


@functools.cache
def _pruner() -> Pruner:
    """One for all conversations of the process: each would load the model anew."""
    return _own().make_pruner()


def _pruning(tools: Sequence[ToolDefinition]) -> list[ToolDefinition]:
    reads = Reads(_pruner, _own().policy, reading=_own().reading)
    return [tool.set_executor(PruningExecutor(tool.name, tool.executor, reads)) for tool in tools]


class PruningTerminalTool(TerminalTool):
    """OpenHands' terminal, with pruned reads; takes the same parameters."""

    name: ClassVar[str] = TerminalTool.name

    @classmethod
    def create(cls, conv_state: Any, *arguments: Any, **options: Any) -> Sequence[TerminalTool]:
        return _pruning(super().create(conv_state, *arguments, **options))


class PruningFileEditorTool(FileEditorTool):
    """OpenHands' file editor, with pruned views."""

    name: ClassVar[str] = FileEditorTool.name

    @classmethod
    def create(cls, conv_state: Any) -> Sequence[FileEditorTool]:
        return _pruning(super().create(conv_state))


TOOLS = {
    TerminalTool.name: ("lamr_terminal", PruningTerminalTool),
    FileEditorTool.name: ("lamr_file_editor", PruningFileEditorTool),
}
"""By the name of the host's own tool: the registered name and the class of the one that prunes."""
for _registered, _tool in TOOLS.values():
    register_tool(_registered, _tool)


def pruned(tools: Sequence[Tool]) -> list[Tool]:
    """The tools of an agent, those that read files replaced by those that prune; parameters stay."""
    return [
        tool.model_copy(update={"name": TOOLS[tool.name][0]}) if tool.name in TOOLS else tool
        for tool in tools
    ]
