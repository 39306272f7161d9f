"""How lamr's entry looks in the settings of hosts: hooks by event and matcher, and servers of MCP by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lamr_agents.host import Command, Listed, Named, Whole

_GRACE_SECONDS = 2
"""From a hook's own end to that by the host."""
MCP = "lamr"
"""The name of lamr's server of MCP in the settings of its clients."""


def hook_of(event: str, tools: Sequence[str], *, second: int = 1, **more: Any) -> Listed:
    """An entry of a host whose hooks stand by event, each with a matcher of tools and a list of commands.

    Args:
        event: the hook's event.
        tools: the tools whose results are code.
        second: in the host's unit of time.
        more: what else the host wants to know of the hook.
    """

    def make(command: Command) -> Mapping[str, Any]:
        hook = {
            "type": "command",
            "command": command.line,
            "timeout": second * (command.limit + _GRACE_SECONDS),
            **more,
        }
        return {"matcher": "|".join(tools), "hooks": [hook]}

    return Listed(("hooks", event), make)


def copilot_hook(event: str, tools: Sequence[str]) -> Whole:
    """A file of hooks as Copilot CLI reads them, with one hook in it."""

    def make(command: Command) -> str:
        seconds = command.limit + _GRACE_SECONDS
        hook = {"type": "command", "matcher": "|".join(tools), "bash": command.line, "timeoutSec": seconds}
        return json.dumps({"version": 1, "hooks": {event: [hook]}}, indent=2) + "\n"

    return Whole(make)


def server_of(key: str, **more: Any) -> Named:
    """An entry of a client of MCP whose servers are members of an object, each with a command and its arguments."""
    return Named((key, MCP), _server(more))


def _server(more: Mapping[str, Any]) -> Callable[[Command], Mapping[str, Any]]:
    def make(command: Command) -> Mapping[str, Any]:
        program, *arguments = command.words
        return {**more, "command": program, "args": arguments}

    return make
