"""Stands in for OpenHands' packages, which ask for a later Python: the names that lamr takes from them, and no more.

What they hold are records of a real conversation. `tests/agents/hosts` has the tests with the host itself."""

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.agents.samples import CODE, NUMBERED

RECORDED = Path(__file__).parent / "recorded" / "openhands-1.58.jsonl"
CLIPPED = "<response clipped>"
MOST_CHARACTERS = 16_000


class Model:
    """A record whose fields are attributes, with the methods of pydantic's models that are used."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]  # as pydantic's

    def model_copy(self, update: dict[str, Any]) -> Any:
        return type(self)(**{**self.__dict__, **update})

    def model_dump(self, mode: str = "python") -> dict[str, Any]:
        return {key: _plain(value) for key, value in self.__dict__.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Model):
        return value.model_dump()
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _kind(name: str) -> type[Any]:
    return type(name, (Model,), {})


TextContent, TerminalAction, FileEditorAction = map(
    _kind, ("TextContent", "TerminalAction", "FileEditorAction")
)
FileEditorAction.view_range = None
ActionEvent, MessageEvent, Condensation = map(_kind, ("ActionEvent", "MessageEvent", "Condensation"))


class Observation(Model):
    @property
    def text(self) -> str:
        return "".join(part.text for part in self.content)

    @classmethod
    def from_text(cls, text: str, **fields: Any) -> Any:
        return cls(content=[TextContent(text=text)], is_error=False, **fields)


class TerminalObservation(Observation):
    pass


class ToolExecutor:
    pass


class Tool:
    """What the host makes of a tool: its executor, which can be replaced."""

    name = ""
    executor: Any = None

    @classmethod
    def create(cls, conv_state: Any) -> list[Any]:
        made = cls()
        made.executor = conv_state
        return [made]

    def set_executor(self, executor: Any) -> Any:
        self.executor = executor
        return self


class FileEditorTool(Tool):
    name = "file_editor"


class TerminalTool(Tool):
    name = "terminal"


def _by_name(*kinds: type[Any]) -> dict[str, type[Any]]:
    return {kind.__name__: kind for kind in kinds}


def install(monkeypatch: pytest.MonkeyPatch) -> dict[str, type]:
    """Let the stand-ins be imported until the test ends: the tools that are registered meanwhile."""
    registered: dict[str, type] = {}
    limits = {"MAX_RESPONSE_LEN_CHAR": MOST_CHARACTERS, "TEXT_FILE_CONTENT_TRUNCATED_NOTICE": CLIPPED}
    tool = {"Action": Model, "Observation": Observation, "ToolDefinition": Tool, "ToolExecutor": ToolExecutor}
    names: dict[str, dict[str, Any]] = {
        "openhands": {},
        "openhands.sdk": {"TextContent": TextContent, "Tool": Model},
        "openhands.sdk.event": _by_name(ActionEvent, Condensation, MessageEvent),
        "openhands.sdk.tool": {**tool, "register_tool": registered.__setitem__},
        "openhands.tools": {},
        "openhands.tools.file_editor": _by_name(FileEditorAction, FileEditorTool),
        "openhands.tools.file_editor.utils": {},
        "openhands.tools.file_editor.utils.constants": limits,
        "openhands.tools.terminal": _by_name(TerminalAction, TerminalObservation, TerminalTool),
    }
    for name, held in names.items():
        module = ModuleType(name)
        module.__dict__.update(held)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "lamr_agents.openhands", raising=False)
    return registered


_KINDS = _by_name(ActionEvent, MessageEvent, FileEditorAction, TerminalAction)


def recorded() -> list[Any]:
    """The events of the recorded conversation: a view of a file and `cat` of it, each with its observation."""
    text = RECORDED.read_text(encoding="utf-8")
    return [_filled(json.loads(line)) for line in text.splitlines()]


def _filled(event: dict[str, Any]) -> Any:
    kind = _KINDS.get(event["kind"], Model)
    if kind is ActionEvent:
        event["action"] = _KINDS[event["action"]["kind"]](**event["action"])
    if "observation" in event:
        (content,) = event["observation"]["content"]
        text = content["text"].replace("{NUMBERED}", NUMBERED + "\n").replace("{CODE}", CODE)
        observed = TerminalObservation if "Terminal" in event["observation"]["kind"] else Observation
        event["observation"] = observed(**{**event["observation"], "content": [TextContent(text=text)]})
    return kind(**event)


def conversation(events: list[Any]) -> Any:
    """A conversation whose active branch these events are."""
    return SimpleNamespace(state=SimpleNamespace(active_branch=lambda: list(events)))
