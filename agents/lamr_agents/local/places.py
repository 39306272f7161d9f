"""Where a file lies in its project, the same for all work trees of one repository.

git's `.git` file of a work tree is read and nothing started: it names the repository's own folder.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_MOST_BYTES = 4096  # of a file that holds one path
_LEADS = "gitdir:"
_OF_WORK_TREES = ("worktrees", ".git")  # the folders above one that git keeps of a work tree


def place_of(path: str) -> str:
    """The path of a file, with its work tree's folder replaced by that of the repository; itself where it is in none.

    Args:
        path: absolute; the file needn't be on this machine.
    """
    file = Path(path)
    for top in file.parents:
        led = _led_to(top / ".git")
        if led is None:
            continue
        if led.parts[-2:-4:-1] == _OF_WORK_TREES:
            return str(led.parents[2] / file.relative_to(top))
        break
    return path


def _led_to(dot: Path) -> Path | None:
    """What a `.git` leads to: itself for a folder; None where there is none, or none of git's."""
    try:
        status = dot.lstat()
        if stat.S_ISDIR(status.st_mode):
            return dot
        if not stat.S_ISREG(status.st_mode):
            return None
        with os.fdopen(os.open(dot, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as stream:
            said = os.fsdecode(stream.read(_MOST_BYTES)).strip()
    except (OSError, ValueError):
        return None
    return (dot.parent / said.removeprefix(_LEADS).strip()) if said.startswith(_LEADS) else None
