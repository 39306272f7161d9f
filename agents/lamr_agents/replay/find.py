"""Where the logs of agents lie."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from lamr_sessions import is_conversation

from lamr_agents.errors import LogError

LOGS: Mapping[str, str] = {
    "claude-code": ".claude/projects/**/*.jsonl",
    "codex": ".codex/sessions/**/*.jsonl",
    "pi": ".pi/agent/sessions/**/*.jsonl",
    "gemini-cli": ".gemini/tmp/*/chats/*.json",
    "copilot-cli": ".copilot/session-state/**/*.jsonl",
    "openhands-sdk": ".openhands/conversations/*",
}
"""The logs of each host in a user's home. Others have no place of their own: name their files or folders."""
_ENDINGS = (".jsonl", ".json", ".traj")


def find_logs(paths: Iterable[Path], home: Path | None = None) -> list[Path]:
    """What may be logs: what is named, what named folders hold, and without a name what every host has in the home.

    A conversation of OpenHands is a folder, and one log.

    Raises:
        LogError: a path doesn't exist, or there is no file.
    """
    paths = list(paths)
    for path in paths:
        if not path.exists():
            raise LogError(f"{path}: doesn't exist; name files of sessions or folders that hold some")
    try:
        base = home or Path.home()
    except RuntimeError as error:
        raise LogError(f"{error}; set HOME, or name files or folders") from error
    # Reading a pipe that lies there would never end; one that is named is meant.
    places = paths or [
        place for form in LOGS.values() for place in base.glob(form) if place.is_file() or place.is_dir()
    ]
    found = list(_under(places))
    if not found:
        where = ", ".join(map(str, paths)) or ", ".join(f"~/{form}" for form in LOGS.values())
        raise LogError(f"no logs of sessions in {where}; name files or folders")
    return sorted(set(found))


def _under(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        folders = {
            folder for folder in (path, *path.rglob("*")) if folder.is_dir() and is_conversation(folder)
        }
        yield from folders
        for file in path.rglob("*"):
            if file.suffix in _ENDINGS and file.is_file() and folders.isdisjoint(file.parents):
                yield file
