"""Changes hosts' settings for `lamr install` and `lamr uninstall`, and finds the hosts on this machine."""

import contextlib
import json
import shutil
import socket as sockets
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from enum import Enum
from pathlib import Path

from lamr_base.expressions import expression
from lamr_base.records import dataclass
from lamr_client import LamrError

from lamr_agents import thin
from lamr_agents.calls import HookHost
from lamr_agents.host import (
    LIMIT_SECONDS,
    Command,
    FileEntry,
    Host,
    HostSettings,
    HostSettingsError,
    ListEntry,
    MemberEntry,
    TableEntry,
)
from lamr_agents.installing.change import UNCHANGED, SettingsChange, WrittenPiece, read_settings, recall
from lamr_agents.installing.json_entries import MARKS, JsoncError, data_of, has, put, take
from lamr_agents.installing.toml_entries import append, without
from lamr_agents.local.store import LastCall, check_socket, default_socket

SHARED_HOOK = "lamr-hook"  # the hook's command on the `PATH` of every machine where lamr is installed
_GUARD = f"if command -v {SHARED_HOOK} >/dev/null 2>&1; then %s; else cat >/dev/null; fi"
"""Nothing is said where there is no lamr, and what the host writes is read."""
VERSION_SECONDS = 10.0  # limit for a host's `--version`
_VERSION = expression(r"\d+(?:\.\d+)+(?:[-+]\w+(?:\.\w+)*)?")


class SettingsScope(str, Enum):
    """The user's settings, the user's own in a project, or those that a project's team checks in."""

    USER = "user"
    PROJECT = "project"
    SHARED = "shared"


def hook_command(
    host: HookHost, serve: Sequence[str] = (), socket: Path | None = None, limit: int = LIMIT_SECONDS
) -> Command:
    if not hasattr(sockets, "AF_UNIX"):
        raise HostSettingsError(
            "the hook speaks to its server over a Unix socket, which Python on Windows doesn't have; install lamr and "
            "the agent in WSL (docs/install.md says what runs where)"
        )
    place = check_socket(socket or default_socket())
    words = [sys.executable, "-I", "-S", thin.__file__, "--socket", str(place), "--limit", str(limit)]
    return Command([*words, *_options(host, serve)], limit=limit)


def shared_command(host: HookHost, serve: Sequence[str] = (), limit: int = LIMIT_SECONDS) -> Command:
    """The command of a hook that says the same on every machine, and does nothing where lamr is missing."""
    return Command([SHARED_HOOK, "--limit", str(limit), *_options(host, serve)], _GUARD, limit)


def server_command(serve: Sequence[str] = (), shared: bool = False) -> Command:
    program = "lamr" if shared else shutil.which("lamr") or str(Path(sys.executable).with_name("lamr"))
    return Command([program, "mcp", *serve])


def _options(host: HookHost, serve: Sequence[str]) -> list[str]:
    """Options of the hook's process: its host, and its server's options; defaults are left out."""
    options = {
        "--beside": "" if host.beside == thin.BESIDE else host.beside,
        "--variable": host.variable,
        "--passed": host.passed,
        "--serve": json.dumps(list(serve)) if serve else "",
    }
    given = (word for option, value in options.items() if value for word in (option, value))
    return ["--host", host.name, *given]


def settings_path(host: Host, scope: SettingsScope = SettingsScope.USER) -> Path:
    settings = _settings(host)
    if scope is SettingsScope.USER:
        if host.folder is None:
            raise HostSettingsError(f"{host.title} keeps no settings of the user's")
        return host.folder.path() / settings.user
    below = settings.project if scope is SettingsScope.PROJECT else settings.shared
    if not below:
        other = SettingsScope.SHARED if scope is SettingsScope.PROJECT else SettingsScope.PROJECT
        has = settings.shared if scope is SettingsScope.PROJECT else settings.project
        remedy = f"use --{other.value}, or leave the option out" if has else "leave the option out"
        kind = "of one's own " if scope is SettingsScope.PROJECT else "to check in "
        raise HostSettingsError(f"{host.title} has no settings {kind}in a project; {remedy}")
    folder = Path.cwd()
    path = folder / below
    if folder.resolve() not in path.resolve().parents:
        raise HostSettingsError(f"{path} leads out of the project, to {path.resolve()}; {UNCHANGED}")
    return path


def installed(host: Host, path: Path, command: Command) -> SettingsChange:
    """The change that puts lamr's entry in, in the place of an older one."""
    entry = _settings(host).entry
    before, known = read_settings(path), recall(host.name, path)
    with _named(path, UNCHANGED):
        if isinstance(entry, FileEntry):
            if before is not None and not _has(before, entry):
                raise HostSettingsError("somebody else's file has this name; move it away first")
            clean, written = None, WrittenPiece(entry.make(command), "", 0)
            after = written.text
        elif isinstance(entry, TableEntry):
            clean = _clean(before, entry, known)
            written = append(clean or "", entry, entry.make(command))
            after = written.put_in(clean or "")
        else:
            clean = _clean(before, entry, known)
            written = put(clean or "", entry, entry.make(command))
            after = written.put_in(clean or "")
            if before is not None and data_of(before) == data_of(after):
                after = before
    written = replace(written, new=clean is None, folders=known[0].folders if known else ())
    return SettingsChange(host.name, path, before, after, written)


def removed(host: Host, path: Path) -> SettingsChange:
    """The change that takes lamr's entry out, and what was made for it."""
    entry = _settings(host).entry
    before, known = read_settings(path), recall(host.name, path)
    with _named(path, UNCHANGED):
        if isinstance(entry, FileEntry):
            after = None if before is not None and _has(before, entry) else before
        else:
            after = _clean(before, entry, known)
    return SettingsChange(host.name, path, before, after, folders=known[0].folders if known else ())


def is_installed(host: Host, path: Path) -> bool:
    entry, text = _settings(host).entry, read_settings(path)
    with _named(path):
        return text is not None and _has(text, entry)


@contextlib.contextmanager
def _named(path: Path, *ends: str) -> Iterator[None]:
    """Have errors about a file name it."""
    try:
        yield
    except HostSettingsError as error:
        raise HostSettingsError("; ".join((f"{path}: {error}", *ends))) from error


def _settings(host: Host) -> HostSettings:
    if host.settings is None:
        raise HostSettingsError(
            f"{host.title} has no settings to change; docs/agents.md says how lamr gets in"
        )
    return host.settings


def _clean(
    text: str | None, entry: ListEntry | MemberEntry | TableEntry, known: Sequence[WrittenPiece]
) -> str | None:
    """A file's text without lamr's entry; None where lamr made the file, and nothing else is in it.

    What was put in comes out to the letter, wherever it stands by now; where somebody has changed it, the entry goes
    alone."""
    if text is None or not _has(text, entry):
        return text
    if isinstance(entry, TableEntry):
        found = (written.taken_out(text) for written in known)
        left = next((each for each in found if each is not None), without(text, entry))
        return None if known and known[0].new and not left.strip() else left
    left = take(text, entry, known[0].made if known else None)
    for written in known:
        exact = written.taken_out(text)
        if exact is not None and _say_the_same(exact, left):
            left = exact
            break
    return None if known and known[0].new and not data_of(left) else left


def _say_the_same(exact: str, left: str) -> bool:
    try:
        return bool(data_of(exact) == data_of(left))
    except JsoncError:  # somebody has put something between the piece and what it was put beside
        return False


def _has(text: str, entry: ListEntry | MemberEntry | TableEntry | FileEntry) -> bool:
    if isinstance(entry, ListEntry | MemberEntry):
        return has(text, entry)
    return any(mark in text for mark in MARKS)


@dataclass(frozen=True)
class Presence:
    """A host on this machine."""

    host: Host  # the row of the table
    program: str  # where its program lies; empty where none is found
    version: str  # as the program says; empty where it doesn't
    installed: tuple[Path, ...]  # the settings of the user and of the current folder that have lamr's entry
    trouble: str = ""  # why some settings can't be read; empty where all can
    last: LastCall | None = None  # its last call and the last that failed; None without one

    @property
    def here(self) -> bool:
        """Whether there is anything of it on this machine."""
        return bool(self.program or self.installed or self.trouble or self.last)


def presences(hosts: Mapping[str, Host], calls: Mapping[str, LastCall]) -> list[Presence]:
    with ThreadPoolExecutor(max(1, len(hosts))) as pool:
        programs = list(pool.map(_program, hosts.values()))
    known = []
    for host, program in zip(hosts.values(), programs, strict=True):
        places, trouble = installed_in(host)
        known.append(Presence(host, *program, tuple(places.values()), trouble, calls.get(host.name)))
    return known


def _program(host: Host) -> tuple[str, str]:
    path = next(filter(None, map(shutil.which, host.programs)), None)
    if path is None:
        return "", ""
    nothing, asked = subprocess.DEVNULL, [path, "--version"]
    try:
        done = subprocess.run(
            asked, check=False, stdin=nothing, stdout=subprocess.PIPE, stderr=nothing, timeout=VERSION_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return path, ""
    found = _VERSION.search(done.stdout.decode("utf-8", "replace"))
    return path, found[0] if found else ""


def installed_in(host: Host) -> tuple[dict[SettingsScope, Path], str]:
    """The files in which lamr's entry stands, and why others can't be read; an empty text where all can."""
    if host.settings is None:
        return {}, ""
    found: dict[SettingsScope, Path] = {}
    trouble = ""
    for scope, exists in zip(SettingsScope, (True, host.settings.project, host.settings.shared), strict=True):
        if not exists:
            continue
        try:
            path = settings_path(host, scope)
            if is_installed(host, path):
                found[scope] = path
        except (LamrError, OSError) as error:
            trouble = trouble or str(error)
    return found, trouble
