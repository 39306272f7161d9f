"""How lamr's entry looks in the settings of hosts: hooks by event and matcher, and servers of MCP by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lamr_agents.host import Command, Listed, Named

LIMIT_SECONDS = 8
"""How long a hook may hold the agent up; the host ends it two seconds later."""
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
        hook = {"type": "command", "command": command.line, "timeout": second * (LIMIT_SECONDS + 2), **more}
        return {"matcher": "|".join(tools), "hooks": [hook]}

    return Listed(("hooks", event), make)


def server_of(key: str, **more: Any) -> Named:
    """An entry of a client of MCP whose servers are members of an object, each with a command and its arguments."""
    return Named((key, MCP), _server(more))


def _server(more: Mapping[str, Any]) -> Callable[[Command], Mapping[str, Any]]:
    def make(command: Command) -> Mapping[str, Any]:
        program, *arguments = command.words
        return {**more, "command": program, "args": arguments}

    return make
