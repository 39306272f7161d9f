"""What tools answer, within what one answer holds: numbered lines of a file, and packs of a client's folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lamr_base.errors import visible
from lamr_client import InvalidInputError
from lamr_postprocess import split_lines
from lamr_repositories import PackResult, Using, WalkOptions, pack
from lamr_repositories.ignoring import literal

from lamr_agents.thin import NOTE
from lamr_agents.words import MORE_LINES
from lamr_agents.workspace import OutsideRootsError, Workspace

MOST_CHARACTERS = 60_000
"""Of one answer: hosts take 25,000 tokens, and a token of code has hardly ever fewer than 2.4 characters."""
LONGEST_PRUNED = MOST_CHARACTERS - 500
"""Characters of a text that was pruned, beside what is said below it."""
MOST_OF_A_LINE = 2_000
"""Characters of a line that is shown as it is in the file."""
MOST_TOKENS = 16_000
"""Of one pack: more is longer than an answer may be."""
MOST_PATHS = 100


def bounded(answer: str) -> str:
    """The beginning of an answer that is longer than hosts take, in whole lines, with a line that says so."""
    if len(answer) <= MOST_CHARACTERS:
        return answer
    end = answer.rfind("\n", 0, MOST_CHARACTERS) + 1 or MOST_CHARACTERS
    break_ = "" if answer[end - 1] == "\n" else "\n"
    return (
        f"{answer[:end]}{break_}{NOTE} these are {end:,} of the answer's {len(answer):,} characters; ask for less: "
        "expand shows a range of lines, search the lines that match]\n"
    )


def ranged(code: str, first: int, last: int, wanted: int | None = None) -> str:
    """Numbered lines, and a line that says so where there are more of those that were wanted (None: of all)."""
    lines = split_lines(code)
    missing = min(len(lines) if wanted is None else wanted, len(lines)) > last
    more = MORE_LINES.format(lines=last - first + 1) if missing else ""
    return numbered("".join(lines[first - 1 : last]), first) + more


def numbered(text: str, first: int) -> str:
    return "".join(f"{number}\t{_shortened(line)}" for number, line in enumerate(split_lines(text), first))


def _shortened(line: str) -> str:
    """A line as it is, or the beginning of a very long one."""
    if len(line) <= MOST_OF_A_LINE:
        return line
    end = "\n" if line.endswith("\n") else ""
    return f"{line[:MOST_OF_A_LINE]} {NOTE} {MOST_OF_A_LINE:,} of the line's {len(line):,} characters]{end}"


def packed(workspace: Workspace, using: Using, question: str, max_tokens: int, paths: Sequence[str]) -> str:
    """The lines of the files below some paths (none: all) that answer a question, and what a caller should know.

    Raises:
        OutsideRootsError: a path leads out of the roots, or the paths lie in several of them.
        LamrError: as `lamr_repositories.pack`.
    """
    if not 1 <= max_tokens <= MOST_TOKENS:
        raise InvalidInputError(f"max_tokens: 1 to {MOST_TOKENS}", argument="max_tokens")
    root, inside = _root_of(workspace, paths)
    walk = WalkOptions(include=tuple(f"/{literal(path)}" for path in inside))
    shape: Using = {"walk": walk, "form": "markdown", "line_numbers": True}
    result = pack(root, question, max_tokens, **(using | shape))
    return result.text + "".join(f"{NOTE} {words}]\n" for words in _remarks(result, root, workspace))


def _root_of(workspace: Workspace, paths: Sequence[str]) -> tuple[Path, list[str]]:
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
