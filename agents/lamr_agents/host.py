"""A row of the table of hosts: where a host keeps its settings and logs, how lamr's entry looks, and what was tried."""

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from lamr_base.records import dataclass
from lamr_client import InvalidInputError

from lamr_agents.calls import HookHost
from lamr_agents.sessions import LogFormat

LIMIT_SECONDS = 8  # how long a hook may hold the agent up


class HostSettingsError(InvalidInputError):
    """A host's settings can't be changed as they are."""


class Way(str, Enum):
    """How lamr is integrated into a host."""

    HOOK = "hook"
    PLUGIN = "plugin"
    EXTENSION = "extension"
    MCP = "MCP"
    CLASS = "Python class"
    PROXY = "proxy"


@dataclass(frozen=True)
class UserFolder:
    """A host's folder for the user's settings and logs."""

    below_home: str  # the folder, below the user's home
    variable: str = ""  # the environment variable by which users move it; empty where there is none
    below_variable: str = ""  # what lies between the folder that the variable names and the host's own

    def path(self, home: Path | None = None) -> Path:
        named = os.environ.get(self.variable, "") if self.variable and home is None else ""
        if named:
            return Path(named).expanduser().absolute() / self.below_variable
        try:
            return (home or Path.home()) / self.below_home
        except RuntimeError as error:
            raise HostSettingsError(f"{error}; set HOME to your own folder") from error


@dataclass(frozen=True)
class Command:
    """A command that a host starts."""

    words: Sequence[str]  # the program and its arguments
    guard: str = ""  # a shell's command around the line of words, which `%s` stands for; empty for none
    limit: int = LIMIT_SECONDS  # seconds that it may hold the agent up; the host ends it two seconds later

    @property
    def line(self) -> str:
        line = shlex.join(self.words)
        return self.guard.replace("%s", line) if self.guard else line


@dataclass(frozen=True)
class ListEntry:
    """An entry that is an element of a list in a JSON file, such as a hook of an event."""

    keys: tuple[str, ...]  # lead to the list, from the file's object
    make: Callable[[Command], Mapping[str, Any]]  # the entry for a command


@dataclass(frozen=True)
class MemberEntry:
    """An entry that is a member of an object in a JSON file, such as a server of MCP."""

    keys: tuple[str, ...]  # lead to the entry, its own name last
    make: Callable[[Command], Mapping[str, Any]]  # the entry for a command


@dataclass(frozen=True)
class TableEntry:
    """An entry that is an element of a list of tables in a TOML file; it goes to the file's end."""

    name: str  # the list's
    make: Callable[[Command], Mapping[str, str | float]]  # the entry for a command


@dataclass(frozen=True)
class FileEntry:
    """An entry that is a file of lamr's own in a folder that the host looks through."""

    make: Callable[[Command], str]  # the file's text for a command


@dataclass(frozen=True)
class HostSettings:
    """Settings files in which a host finds hooks, plugins or servers, and lamr's entry in them."""

    entry: ListEntry | MemberEntry | TableEntry | FileEntry  # lamr's
    user: str  # the user's file, below the host's folder
    project: str = ""  # one's own file in a project, below it; empty where the host has none
    shared: str = ""  # the file that a team checks in, below the project; empty where there is none


@dataclass(frozen=True)
class Host:
    """A host."""

    name: str  # what `lamr install` and calls name it
    title: str  # its makers' name for it
    way: Way  # how lamr gets in
    version: str  # what it was tried with; empty for a host that can't run here
    on: str  # the day on which it was tried, or its documentation was read
    folder: UserFolder | None = None  # where it keeps what is the user's
    programs: tuple[str, ...] = ()  # the names of its program
    settings: HostSettings | None = None  # where lamr's entry goes; None where nothing is installed
    hook: HookHost | None = None  # how its calls are read and answered; None where it makes none
    form: LogFormat | None = None  # the format of its transcripts; None where none is known
    logs: str = ""  # its transcripts, below its folder, with wildcards; empty where they have no folder
    limit: int = LIMIT_SECONDS  # see `Command`
    remark: str = ""  # what users should know, such as why a host has no other way in


_GRACE_SECONDS = 2  # between the hook's own limit and the host's
MCP = "lamr"  # the name of lamr's server of MCP in the settings of its clients


def hook_of(event: str, tools: Sequence[str], *, second: int = 1, **more: Any) -> ListEntry:
    """An entry of a host whose hooks stand by event, each with a matcher of tools and a list of commands."""

    def make(command: Command) -> Mapping[str, Any]:
        hook = {
            "type": "command",
            "command": command.line,
            "timeout": second * (command.limit + _GRACE_SECONDS),
            **more,
        }
        return {"matcher": "|".join(tools), "hooks": [hook]}

    return ListEntry(("hooks", event), make)


def vibe_hook(match: str) -> TableEntry:
    """A hook of Mistral Vibe's, called after tools of some names."""

    def make(command: Command) -> Mapping[str, str | float]:
        seconds = float(command.limit + _GRACE_SECONDS)
        hook = {"name": "lamr", "type": "post_tool", "match": match, "command": command.line}
        return {**hook, "timeout": seconds}

    return TableEntry("hooks", make)


def copilot_hook(event: str, tools: Sequence[str]) -> FileEntry:
    """A file of hooks as Copilot CLI reads them, with one hook in it."""

    def make(command: Command) -> str:
        seconds = command.limit + _GRACE_SECONDS
        hook = {"type": "command", "matcher": "|".join(tools), "bash": command.line, "timeoutSec": seconds}
        return json.dumps({"version": 1, "hooks": {event: [hook]}}, indent=2) + "\n"

    return FileEntry(make)


def server_of(key: str) -> MemberEntry:
    """An entry of a client of MCP whose servers are members of an object, each with a command and its arguments."""

    def make(command: Command) -> Mapping[str, Any]:
        return {"command": command.words[0], "args": list(command.words[1:])}

    return MemberEntry((key, MCP), make)
