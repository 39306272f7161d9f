"""A row of the table of hosts: where a host keeps its settings and logs, how lamr's entry looks, and what was tried."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from lamr_agents.calls import HookHost
from lamr_agents.errors import HostSettingsError
from lamr_agents.sessions import LogFormat

LIMIT_SECONDS = 8
"""How long a hook may hold the agent up."""


class Way(str, Enum):
    """How a host lets lamr in."""

    HOOK = "hook"
    PLUGIN = "plugin"
    EXTENSION = "extension"
    MCP = "MCP"
    CLASS = "Python class"
    PROXY = "proxy"


@dataclass(frozen=True)
class UserFolder:
    """Where a host keeps what is the user's.

    Attributes:
        below_home: the folder, below the user's home.
        variable: the environment variable by which users move it; empty where there is none.
        below_variable: what lies between the folder that the variable names and the host's own.
    """

    below_home: str
    variable: str = ""
    below_variable: str = ""

    def path(self, home: Path | None = None) -> Path:
        """The folder; it needn't exist.

        Args:
            home: in place of the user's; the variable doesn't count then.

        Raises:
            SettingsError: the user has no home, and the variable names no folder.
        """
        named = os.environ.get(self.variable, "") if self.variable and home is None else ""
        if named:
            return Path(named).expanduser().absolute() / self.below_variable
        try:
            return (home or Path.home()) / self.below_home
        except RuntimeError as error:
            raise HostSettingsError(f"{error}; set HOME to your own folder") from error


@dataclass(frozen=True)
class Command:
    """What a host is to start.

    Attributes:
        words: the program and its arguments.
        guard: a shell's command around the line of these words, where `%s` stands for it; empty for none.
        limit: seconds that it may hold the agent up; the host ends it two seconds later.
    """

    words: Sequence[str]
    guard: str = ""
    limit: int = LIMIT_SECONDS

    @property
    def line(self) -> str:
        """The command, for a shell."""
        line = shlex.join(self.words)
        return self.guard.replace("%s", line) if self.guard else line


@dataclass(frozen=True)
class ListEntry:
    """An entry that is an element of a list in a JSON file, such as a hook of an event.

    Attributes:
        keys: lead to the list, from the file's object.
        make: the entry for a command.
    """

    keys: tuple[str, ...]
    make: Callable[[Command], Mapping[str, Any]]


@dataclass(frozen=True)
class MemberEntry:
    """An entry that is a member of an object in a JSON file, such as a server of MCP.

    Attributes:
        keys: lead to the entry, its own name last.
        make: the entry for a command.
    """

    keys: tuple[str, ...]
    make: Callable[[Command], Mapping[str, Any]]


@dataclass(frozen=True)
class FileEntry:
    """An entry that is a file of lamr's own in a folder that the host looks through.

    Attributes:
        make: the file's text for a command.
    """

    make: Callable[[Command], str]


@dataclass(frozen=True)
class HostSettings:
    """Where a host reads which hooks, plugins or servers it has, and how lamr's entry stands there.

    Attributes:
        entry: lamr's.
        user: the user's file, below the host's folder.
        project: one's own file in a project, below it; empty where the host has none.
        shared: the file of a project that a team checks in, below the project; empty where the host has none.
    """

    entry: ListEntry | MemberEntry | FileEntry
    user: str
    project: str = ""
    shared: str = ""


@dataclass(frozen=True)
class Host:
    """A host.

    Attributes:
        name: what `lamr install` and calls name it.
        title: its makers' name for it.
        way: how lamr gets in.
        version, on: what it was tried with, and the day; of a host that can't run here, no version and the day on which
            its documentation was read.
        folder: where it keeps what is the user's.
        programs: the names of its program.
        settings: where lamr's entry goes; None where nothing is installed.
        hook: how its calls are read and answered; None where it makes none.
        form: the format of its transcripts; None where none is known.
        logs: its transcripts, below its folder, with wildcards; empty where they have no place of their own.
        remark: what users should know, such as why a host has no other way in.
    """

    name: str
    title: str
    way: Way
    version: str
    on: str
    folder: UserFolder | None = None
    programs: tuple[str, ...] = ()
    settings: HostSettings | None = None
    hook: HookHost | None = None
    form: LogFormat | None = None
    logs: str = ""
    remark: str = ""


_GRACE_SECONDS = 2
"""From a hook's own end to that by the host."""
MCP = "lamr"
"""The name of lamr's server of MCP in the settings of its clients."""


def hook_of(event: str, tools: Sequence[str], *, second: int = 1, **more: Any) -> ListEntry:
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

    return ListEntry(("hooks", event), make)


def copilot_hook(event: str, tools: Sequence[str]) -> FileEntry:
    """A file of hooks as Copilot CLI reads them, with one hook in it."""

    def make(command: Command) -> str:
        seconds = command.limit + _GRACE_SECONDS
        hook = {"type": "command", "matcher": "|".join(tools), "bash": command.line, "timeoutSec": seconds}
        return json.dumps({"version": 1, "hooks": {event: [hook]}}, indent=2) + "\n"

    return FileEntry(make)


def server_of(key: str, **more: Any) -> MemberEntry:
    """An entry of a client of MCP whose servers are members of an object, each with a command and its arguments."""
    return MemberEntry((key, MCP), _server(more))


def _server(more: Mapping[str, Any]) -> Callable[[Command], Mapping[str, Any]]:
    def make(command: Command) -> Mapping[str, Any]:
        program, *arguments = command.words
        return {**more, "command": program, "args": arguments}

    return make
