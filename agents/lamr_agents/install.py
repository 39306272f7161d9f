"""Puts lamr's hook into Claude Code's settings and takes it out again; everything else in them stays.

This module knows a settings file and the hook's command; it knows nothing of what the hook does.
"""

from __future__ import annotations

import difflib
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lamr_agents import thin
from lamr_agents.claude_code import TOOLS
from lamr_agents.errors import SettingsError
from lamr_agents.local.store import check_socket, default_socket

EVENT = "PostToolUse"
LIMIT_SECONDS = 8
"""How long the hook may hold the agent up; the host ends it two seconds later."""


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
        target = self.path.resolve()  # settings may be a link into a folder of dotfiles
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=target.name)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(self.after)
        Path(name).chmod(mode)
        Path(name).replace(target)


def settings_path(project: bool) -> Path:
    """The settings of the user, or of the project in the current folder."""
    return (Path.cwd() if project else Path.home()) / ".claude" / "settings.json"


def hook_command(serve: Sequence[str] = (), socket: Path | None = None) -> str:
    """The command line of the hook.

    Args:
        serve: options of the local server, which the hook starts when none listens.
        socket: where it listens.

    Raises:
        InvalidInputError: the socket's path is too long.
    """
    place = check_socket(socket or default_socket())
    words = [sys.executable, "-I", "-S", thin.__file__, "--socket", str(place)]
    words += ["--limit", str(LIMIT_SECONDS)]
    return shlex.join(words + (["--serve", json.dumps(list(serve))] if serve else []))


def installed(path: Path, command: str) -> Change:
    """The change that puts the hook in, in the place of an older one of lamr's.

    Raises:
        SettingsError: the file isn't a JSON object, or its hooks aren't of the host's form.
    """
    before, settings = _read(path)
    entries = _without_ours(settings, path)
    hook = {"type": "command", "command": command, "timeout": LIMIT_SECONDS + 2}
    entries.append({"matcher": "|".join(TOOLS), "hooks": [hook]})
    settings.setdefault("hooks", {})[EVENT] = entries
    return Change(path, before, _written(settings))


def removed(path: Path) -> Change:
    """The change that takes the hook out, and what would be empty then.

    Raises:
        SettingsError: as `installed`.
    """
    before, settings = _read(path)
    entries = _without_ours(settings, path)
    if not before or entries == settings.get("hooks", {}).get(EVENT, []):
        return Change(path, before, before)
    hooks = {**settings["hooks"], EVENT: entries}
    settings["hooks"] = {event: kept for event, kept in hooks.items() if kept or event != EVENT}
    if not settings["hooks"]:
        del settings["hooks"]
    return Change(path, before, _written(settings))


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return "", {}
    try:
        settings = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise SettingsError(f"{path}: not JSON ({error}); mend it first, nothing was changed") from error
    if not isinstance(settings, dict):
        raise SettingsError(f"{path}: expected a JSON object; nothing was changed")
    return text, settings


def _without_ours(settings: dict[str, Any], path: Path) -> list[Any]:
    """The entries of the event, without lamr's hook."""
    hooks = settings.get("hooks", {})
    entries = hooks.get(EVENT, []) if isinstance(hooks, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SettingsError(f"{path}: hooks aren't of Claude Code's form; nothing was changed")
    kept = []
    for entry in entries:
        others = [hook for hook in entry.get("hooks", []) if not _is_ours(hook)]
        if others or not entry.get("hooks"):
            kept.append({**entry, "hooks": others} if "hooks" in entry else entry)
    return kept


def _is_ours(hook: Any) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    mark = str(Path("lamr_agents") / "thin.py")
    return isinstance(command, str) and mark in command


def _written(settings: dict[str, Any]) -> str:
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
