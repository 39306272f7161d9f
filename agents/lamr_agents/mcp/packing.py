"""Packs of a client's folders: the lines of all files that answer a question, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lamr_client import InvalidInputError
from lamr_errors import visible
from lamr_repositories import PackResult, Using, WalkOptions, pack
from lamr_repositories.ignoring import literal

from lamr_agents.thin import NOTE
from lamr_agents.workspace import OutsideRootsError, Workspace

MOST_TOKENS = 16_000
"""Of one pack: more is longer than an answer may be."""
MOST_PATHS = 100


@dataclass(frozen=True)
class Wanted:
    """What a caller asks for.

    Attributes:
        question: what is looked for.
        max_tokens: of the answer.
        paths: files and folders to look in; everything without any.
        task: what the question serves.
    """

    question: str
    max_tokens: int
    paths: Sequence[str]
    task: str


class Packer:
    """Packs with one model; blocking, for threads.

    Args:
        using: which model ranks, and what keeps indexes, as for `lamr_repositories.pack`.
    """

    def __init__(self, using: Using) -> None:
        self._using = using

    def pack(self, workspace: Workspace, wanted: Wanted) -> str:
        """The pack, and what a caller should know of it.

        Raises:
            OutsideRootsError: a path leads out of the roots, or the paths lie in several of them.
            LamrError: as `lamr_repositories.pack`.
        """
        if not 1 <= wanted.max_tokens <= MOST_TOKENS:
            raise InvalidInputError(f"max_tokens: 1 to {MOST_TOKENS}", argument="max_tokens")
        root, inside = _placed(workspace, wanted.paths)
        patterns = tuple(f"/{literal(path)}" for path in inside)
        using: Using = {
            **self._using,
            "task": wanted.task,
            "walk": WalkOptions(include=patterns),
            "form": "markdown",
            "line_numbers": True,
        }
        result = pack(root, wanted.question, wanted.max_tokens, **using)
        return result.text + "".join(f"{NOTE} {words}]\n" for words in _remarks(result, root, workspace))


def _placed(workspace: Workspace, paths: Sequence[str]) -> tuple[Path, list[str]]:
    """The root that the paths lie in, and their names below it; the first root and none where it is meant whole."""
    if len(paths) > MOST_PATHS:
        raise InvalidInputError(f"paths: {MOST_PATHS} at the most; name folders", argument="paths")
    meant = [workspace.resolve(path) for path in paths]
    missing = next((path for path, place in zip(paths, meant, strict=True) if not place.exists()), None)
    if missing is not None:
        raise InvalidInputError(f"{missing:.200}: no such file or folder", argument="paths")
    for root in workspace.roots:
        if all(place == root or root in place.parents for place in meant):
            inside = [place.relative_to(root).as_posix() for place in meant]
            return root, [] if "." in inside else inside
    raise OutsideRootsError("paths: they lie in several roots; ask for one at a time", argument="paths")


def _remarks(result: PackResult, root: Path, workspace: Workspace) -> list[str]:
    left_out = ", ".join(f"{count:,} {reason}" for reason, count in result.counts.left_out.items())
    remarks = list(map(visible, result.notes))
    if left_out and not result.files:
        remarks.append(f"files left out: {left_out}")
    if root != workspace.roots[0]:
        remarks.append(f"paths start from {visible(str(root))}")
    return remarks
