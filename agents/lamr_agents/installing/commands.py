"""What a host's settings tell it to start: the hook's process, or the server of MCP."""

from __future__ import annotations

import json
import shutil
import socket as sockets
import sys
from collections.abc import Sequence
from enum import Enum
from pathlib import Path

from lamr_agents import thin
from lamr_agents.calls import HookHost
from lamr_agents.errors import HostSettingsError
from lamr_agents.host import LIMIT_SECONDS, Command
from lamr_agents.local.store import check_socket, default_socket

SHARED_HOOK = "lamr-hook"
"""The hook's command on the `PATH` of every machine where lamr is installed."""
_GUARD = f"if command -v {SHARED_HOOK} >/dev/null 2>&1; then %s; else cat >/dev/null; fi"
"""Nothing is said where there is no lamr, and what the host writes is read."""


class SettingsScope(str, Enum):
    """Whose settings are meant: the user's, one's own in a project, or those that a project's team checks in."""

    USER = "user"
    PROJECT = "project"
    SHARED = "shared"


def hook_command(
    host: HookHost, serve: Sequence[str] = (), socket: Path | None = None, limit: int = LIMIT_SECONDS
) -> Command:
    """The command of a hook on this machine.

    Args:
        host: whose hook it is.
        serve: options of the local server, which the hook starts when none listens.
        socket: where it listens.
        limit: seconds that the hook may hold the agent up.

    Raises:
        SettingsError: this system's Python has no Unix sockets.
        InvalidInputError: the socket's path is too long.
    """
    if not hasattr(sockets, "AF_UNIX"):
        raise HostSettingsError(
            "the hook speaks to its server over a Unix socket, which Python on Windows doesn't have; install lamr and "
            "the agent in WSL (docs/install.md says what runs where)"
        )
    place = check_socket(socket or default_socket())
    words = [sys.executable, "-I", "-S", thin.__file__, "--socket", str(place), "--limit", str(limit)]
    return Command([*words, *_options(host, serve)], limit=limit)


def shared_command(host: HookHost, serve: Sequence[str] = ()) -> Command:
    """The command of a hook that says the same on every machine, and does nothing where lamr is missing."""
    return Command([SHARED_HOOK, "--limit", str(LIMIT_SECONDS), *_options(host, serve)], _GUARD)


def server_command(serve: Sequence[str] = (), shared: bool = False) -> Command:
    """The command of the server of MCP.

    Args:
        serve: its options.
        shared: whether it must be the same on every machine.
    """
    program = "lamr" if shared else shutil.which("lamr") or str(Path(sys.executable).with_name("lamr"))
    return Command([program, "mcp", *serve])


def _options(host: HookHost, serve: Sequence[str]) -> list[str]:
    """What the hook's process is told of its host, and of its server's options; what goes without saying isn't said."""
    options = {
        "--beside": "" if host.beside == thin.BESIDE else host.beside,
        "--variable": host.variable,
        "--passed": host.passed,
        "--serve": json.dumps(list(serve)) if serve else "",
    }
    return [
        "--host",
        host.name,
        *(word for option, value in options.items() if value for word in (option, value)),
    ]
