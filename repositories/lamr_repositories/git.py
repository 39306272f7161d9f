"""Runs git on other people's repositories: nothing of a repository's configuration that starts programs takes effect.

This module knows how git is called, and how it prints trees and objects. What it is asked is its callers' matter.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from lamr_repositories.errors import RepositoryError

SAFE = (
    "-c",
    "core.quotePath=false",
    "-c",
    "core.attributesFile=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
)

LIST_TREE = ("ls-tree", "-r", "-z", "-l")
"""The command whose output `read_tree` reads; the tree follows."""


@dataclass(frozen=True)
class Entry:
    """What a tree holds at a path.

    Attributes:
        mode: git's six digits, such as `100644`.
        name: of the object, in hexadecimal digits.
        size: bytes of a file or link; None for a submodule, and for what the repository lacks.
        path: as git has it, which need not be text.
    """

    mode: str
    name: str
    size: int | None
    path: bytes


def run_git(
    *arguments: str,
    place: Path | None = None,
    folder: Path | None = None,
    send: bytes = b"",
    check: bool = True,
) -> subprocess.CompletedProcess[bytes]:
    """Run git once.

    Args:
        arguments: the command and what it is given.
        place: the git directory; None for commands that need none, or with `folder`.
        folder: a folder of a work tree, in which git finds its directory by itself.
        send: standard input.
        check: whether a failure is an error.

    Raises:
        RepositoryError: git isn't installed, or the command failed and `check` is set.
    """
    try:
        done = subprocess.run(
            [*command(place, folder), *arguments], input=send, capture_output=True, check=False
        )
    except FileNotFoundError as error:
        raise RepositoryError("git isn't installed; repositories are read with it") from error
    if check and done.returncode:
        where = place or folder
        raise RepositoryError(
            f"{where}: git {arguments[0]} failed ({last_line(done)}); see that the repository is whole",
            path=where,
        )
    return done


def command(place: Path | None = None, folder: Path | None = None) -> list[str]:
    """Return git's command line up to its subcommand; see `run_git`."""
    where = [] if place is None else [f"--git-dir={place}"]
    inside = [] if folder is None else ["-C", str(folder)]
    return ["git", *inside, *where, "--no-replace-objects", *SAFE]


def last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the last line of what git said on standard error."""
    return (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"])[-1]


def read_tree(listing: bytes) -> Iterator[Entry]:
    """Read what `LIST_TREE` printed."""
    for row in listing.split(b"\0"):
        if row:
            head, _, path = row.partition(b"\t")
            mode, _kind, name, size = head.decode().split()
            yield Entry(mode, name, int(size) if size.isdigit() else None, path)


def read_object(stream: IO[bytes]) -> tuple[str, bytes | None] | None:
    """Read the next answer of `git cat-file --batch`; None at the end of the stream.

    Returns:
        the object's name and content; None as the content where the repository lacks it.
    """
    head = stream.readline().decode("utf-8", "replace").split()
    if not head:
        return None
    if len(head) != 3:
        return head[0], None
    return head[0], stream.read(int(head[2]) + 1)[:-1]
