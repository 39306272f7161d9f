"""Where the logs of agents lie."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from lamr_sessions import is_conversation

from lamr_agents.errors import LogError
from lamr_agents.hosts import HOSTS

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
    known = [(host.folder.path(home), host.logs) for host in HOSTS.values() if host.folder and host.logs]
    # Reading a pipe that lies there would never end; one that is named is meant.
    places = paths or [
        place for folder, form in known for place in folder.glob(form) if place.is_file() or place.is_dir()
    ]
    found = list(_under(places))
    if not found:
        where = ", ".join(_short(path, home) for path in paths or (folder / form for folder, form in known))
        raise LogError(f"no logs of sessions in {where}; name files or folders")
    return sorted(set(found))


def _short(path: Path, home: Path | None) -> str:
    """A path as people write it who are at home."""
    try:
        return f"~/{path.relative_to(home or Path.home())}"
    except (ValueError, RuntimeError):
        return str(path)


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
