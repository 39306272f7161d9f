"""Puts lamr's hook into a host's settings and takes it out again; everything else in them stays."""

from __future__ import annotations

import difflib
import json
import shlex
import socket as sockets
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lamr_contract.private_files import write_whole

from lamr_agents import thin
from lamr_agents.errors import SettingsError
from lamr_agents.hook_host import HookHost
from lamr_agents.local.store import check_socket, default_socket

LIMIT_SECONDS = 8
"""How long the hook may hold the agent up; the host ends it two seconds later."""
MOST_BYTES = 4 << 20
"""Of settings that are read."""


@dataclass(frozen=True)
class Change:
    """What a settings file says, and what it is to say.

    Attributes:
        path: the file, which needn't exist.
        before, after: its text; equal where there is nothing to do.
    """

    path: Path
    before: str
    after: str

    @property
    def diff(self) -> str:
        """The difference between both, as a unified diff; empty where there is none."""
        before, after = (text.splitlines(keepends=True) for text in (self.before, self.after))
        return "".join(difflib.unified_diff(before, after, str(self.path), str(self.path)))

    def write(self) -> None:
        """Write the file whole or not at all.

        Raises:
            OSError: it can't be written.
        """
        if self.after == self.before:
            return
        self.path.resolve().parent.mkdir(
            parents=True, exist_ok=True
        )  # they may be a link into a folder of dotfiles
        write_whole(self.path, self.after)


def settings_path(host: HookHost, project: bool) -> Path:
    """A host's settings of the user, or of the project in the current folder.

    Raises:
        SettingsError: the project's are a link that leads out of it, or the user has no home.
    """
    try:
        folder = Path.cwd() if project else Path.home()
    except RuntimeError as error:
        raise SettingsError(f"{error}; set HOME to your own folder") from error
    path = folder / host.settings
    if project and folder.resolve() not in path.resolve().parents:
        raise SettingsError(f"{path} leads out of the project, to {path.resolve()}; nothing was changed")
    return path


def hook_command(host: HookHost, serve: Sequence[str] = (), socket: Path | None = None) -> str:
    """The command line of the hook.

    Args:
        host: whose hook it is.
        serve: options of the local server, which the hook starts when none listens.
        socket: where it listens.

    Raises:
        SettingsError: this system's Python has no Unix sockets.
        InvalidInputError: the socket's path is too long.
    """
    if not hasattr(sockets, "AF_UNIX"):
        raise SettingsError(
            "the hook speaks to its server over a Unix socket, which Python on Windows doesn't have; install lamr and "
            "the agent in WSL (docs/install.md says what runs where)"
        )
    place = check_socket(socket or default_socket())
    words = [sys.executable, "-I", "-S", thin.__file__, "--socket", str(place)]
    words += ["--limit", str(LIMIT_SECONDS), "--host", host.name]
    words += ["--beside", host.beside] if host.beside != thin.BESIDE else []
    return shlex.join(words + (["--serve", json.dumps(list(serve))] if serve else []))


def installed(host: HookHost, path: Path, command: str) -> Change:
    """The change that puts the hook in, in the place of an older one of lamr's.

    Raises:
        SettingsError: the file isn't a JSON object, or its hooks aren't of the host's form.
    """
    before, settings = _read(path)
    entries = _without_ours(settings, host, path)
    hook = {"type": "command", "command": command, "timeout": LIMIT_SECONDS + 2}
    entries.append({"matcher": "|".join(host.tools), "hooks": [hook]})
    settings.setdefault("hooks", {})[host.event] = entries
    return Change(path, before, _written(settings))


def removed(host: HookHost, path: Path) -> Change:
    """The change that takes the hook out, and what would be empty then.

    Raises:
        SettingsError: as `installed`.
    """
    before, settings = _read(path)
    entries = _without_ours(settings, host, path)
    if not before or entries == settings.get("hooks", {}).get(host.event, []):
        return Change(path, before, before)
    hooks = {**settings["hooks"], host.event: entries}
    settings["hooks"] = {event: kept for event, kept in hooks.items() if kept or event != host.event}
    if not settings["hooks"]:
        del settings["hooks"]
    return Change(path, before, _written(settings))


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        status = path.stat()
    except FileNotFoundError:
        return "", {}
    if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
        raise SettingsError(f"{path}: no file of at most {MOST_BYTES >> 20} MiB; nothing was changed")
    try:
        text = path.read_text(encoding="utf-8")
        settings = json.loads(text, object_pairs_hook=_distinct) if text.strip() else {}
        _written(settings)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path}: not JSON ({error}); mend it first, nothing was changed") from error
    if not isinstance(settings, dict):
        raise SettingsError(f"{path}: expected a JSON object; nothing was changed")
    return text, settings


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, each of whose keys stands there once: what is read must be what will be written."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key stands there twice")
    return made


def _without_ours(settings: dict[str, Any], host: HookHost, path: Path) -> list[Any]:
    """The entries of the event, without lamr's hook."""
    hooks = settings.get("hooks", {})
    entries = hooks.get(host.event, []) if isinstance(hooks, dict) else None
    if not isinstance(entries, list) or not all(map(_is_entry, entries)):
        raise SettingsError(f"{path}: hooks aren't of the form that {host.name} reads; nothing was changed")
    kept = []
    for entry in entries:
        others = [hook for hook in entry.get("hooks", []) if not _is_ours(hook)]
        if others or not entry.get("hooks"):
            kept.append({**entry, "hooks": others} if "hooks" in entry else entry)
    return kept


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("hooks", []), list)


def _is_ours(hook: Any) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    mark = str(Path("lamr_agents") / "thin.py")
    return isinstance(command, str) and mark in command


def _written(settings: dict[str, Any]) -> str:
    """Settings as a file's text.

    Raises:
        ValueError: there is a number in them that JSON hasn't.
    """
    text = json.dumps(settings, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if text.isascii() or text == text.encode("utf-8", "replace").decode():
        return text
    return json.dumps(settings, indent=2) + "\n"  # half a character, which only an escape can write
