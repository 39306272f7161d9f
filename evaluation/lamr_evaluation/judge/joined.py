"""A repository's files as one text, for questions about the whole of it and for sets whose items bring one."""

from __future__ import annotations

from pathlib import Path

from lamr_contract.errors import InvalidInputError
from lamr_postprocess import detect_language
from lamr_repositories.folders import Folder
from lamr_repositories.kinds import is_code
from lamr_repositories.walk import WalkCount, WalkOptions, walk

MOST_CHARACTERS = 64 << 20
HEADING = "# file: "


def whole_repository(root: Path) -> str:
    """Return the code of a folder's source files in the order of their paths, each below a comment with its path.

    Files that `lamr pack` leaves out (generated, vendored, with secrets) are left out, and so are prose and data.

    Raises:
        InvalidInputError: there is no source file, or too much of it.
    """
    parts: list[str] = []
    size = 0
    for listed, _, text in walk(Folder(root), WalkOptions(), WalkCount()):
        if is_code(detect_language("", listed.path).name):
            parts.append(f"{HEADING}{listed.path}\n{text.rstrip()}\n")
            size += len(text)
        if size > MOST_CHARACTERS:
            raise InvalidInputError(f"{root} has more than {MOST_CHARACTERS >> 20} MiB of source; name files")
    if not parts:
        raise InvalidInputError(f"{root} has no source file; name another folder")
    return "\n".join(parts)
