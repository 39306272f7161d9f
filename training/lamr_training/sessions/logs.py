"""The logs of sessions that a commit holds, and the folders that a session worked in."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lamr_evaluation import histories as git
from lamr_evaluation.mirrors import run_git

LEAST_BYTES, MOST_BYTES = 20_000, 60_000_000
"""A smaller log has no big read that was followed by anything; a larger one isn't worth the memory."""
_LOG = re.compile(r"\.(?:jsonl|traj|traj\.json)$|(?:^|/)full\.json$")
_FOLDER = re.compile(r'"cwd"\s*:\s*("(?:[^"\\]|\\.)+")')
_WORK_TREE = re.compile(r"^(?:\.claude/)?\.?worktrees/[^/]+/")


def session_logs(place: Path, commit: str) -> Iterator[tuple[str, str]]:
    """The names and texts of the blobs that can be logs, the largest first: checkpoints repeat a growing session.

    Args:
        place: the git directory.
        commit: whose files are read; what the directory lacks of them is left out.

    Raises:
        DataError: git can't read the commit.
    """
    listed = run_git("ls-tree", "-r", "-z", commit, place=place).stdout.decode("utf-8", "replace")
    rows = (row.split("\t", 1) for row in listed.split("\0") if row)
    names = {head.split()[2] for head, path in rows if _LOG.search(path)}
    sizes = git.sizes(place, names) if names else {}
    for size, name in sorted(((size, name) for name, size in sizes.items()), reverse=True):
        if LEAST_BYTES <= size <= MOST_BYTES:
            for text in git.blobs(place, [name]).values():
                yield name, text.decode("utf-8", "replace")


def working_folders(log: str, project: str) -> tuple[str, ...]:
    """The folders that a session worked in, the longest first.

    Args:
        log: its text.
        project: the repository's name. Where folders have it in their path the others don't count; else the one that
            the log names most often is the project's.
    """
    counts = Counter(_slashed(json.loads(found, strict=False)) for found in _FOLDER.findall(log))
    named = [folder for folder in counts if _named(folder.split("/"), project)]
    return tuple(sorted(named or [folder for folder, _ in counts.most_common(1)], key=len, reverse=True))


def project_path(path: str, folders: tuple[str, ...], project: str) -> str | None:
    """A file's path within the project; None where it lies elsewhere, as far as names tell.

    Args:
        path: as a tool was given it.
        folders: see `working_folders`; without any, the project is looked for by its name in the path.
        project: the repository's name.
    """
    path = _slashed(path).removeprefix("./")
    if path.startswith(("../", "~")):
        return None
    within = next((path[len(folder) + 1 :] for folder in folders if path.startswith(f"{folder}/")), None)
    if within is None and not path.startswith("/") and not re.match(r"\w:", path):
        within = path
    if within is None and not folders:
        *parts, file = path.split("/")
        start = _named(parts, project)
        within = "/".join([*parts[start:], file]) if start else None
    return _WORK_TREE.sub("", within) if within else None


def _slashed(path: str) -> str:
    return path.replace("\\", "/").rstrip("/")


def _named(parts: list[str], project: str) -> int:
    """How many folders lead to the one with the project's name, that one counted; 0 where there is none."""
    places = [place for place, part in enumerate(parts, 1) if part.lower() == project.lower()]
    return places[-1] if places else 0
