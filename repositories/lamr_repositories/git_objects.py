"""How git prints trees and objects. What they are asked for is the callers' matter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO, NamedTuple

COUNT_TREE = ("ls-tree", "-r", "-z", "--full-tree", "--name-only")
LIST_TREE = ("ls-tree", "-r", "-z", "-l", "--full-tree")
"""The command whose rows `read_tree` reads; the tree follows. `COUNT_TREE` gives a row for each of its rows."""


class Entry(NamedTuple):
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


def read_tree(rows: Iterable[bytes]) -> Iterator[Entry]:
    """Read what `LIST_TREE` printed."""
    for row in rows:
        head, _, path = row.partition(b"\t")
        mode, _kind, name, size = head.decode().split()
        yield Entry(mode, name, int(size) if size.isdigit() else None, path)


def read_object(stream: IO[bytes], most: int | None = None) -> tuple[str, bytes | None] | None:
    """Read the next answer of `git cat-file --batch`; None at the end of the stream, or where it makes no sense.

    A content that is longer than it says would be taken for the answers about the objects after it.

    Args:
        stream: what git prints.
        most: the most bytes of a content that are kept; None for any number.

    Returns:
        the object's name and content; None as the content where the repository lacks it, or it is longer, or no file.
    """
    head = stream.readline().decode("utf-8", "replace").split()
    if not head:
        return None
    if len(head) != 3 or not head[2].isdigit():
        return head[0], None
    name, kind, size = head[0], head[1], int(head[2])
    if kind == "blob" and (most is None or size <= most):
        data = stream.read(size + 1)
        return (name, data[:-1]) if len(data) == size + 1 and data.endswith(b"\n") else None
    left, part = size + 1, b""
    while left and (part := stream.read(min(left, _PART))):
        left -= len(part)
    return None if left or not part.endswith(b"\n") else (name, None)


_PART = 1 << 20
