"""A source file that questions are asked about, and which files those are: of some length, and written by hand."""

from __future__ import annotations

import re
from dataclasses import dataclass

_GENERATED = re.compile(r"\bgenerated (?:by|from|using|with|file|code)\b|@generated|^#line \d", re.I | re.M)
_OBJECTIVE_C = re.compile(
    r"^@(?:interface|implementation|protocol|property|import)\b", re.M
)  # in files named `.h`
_LONE_CR = re.compile(r"\r(?!\n)")


@dataclass(frozen=True)
class SourceFile:
    """One source file of a package or repository.

    Attributes:
        project: name of the package or repository, as the manifest has it.
        path: the file's path in the wheel or repository.
        text: its text, with lines ended by `\\n`.
        split: `train`, `validation` or `suite`.
        language: what it is written in, as records show it.
        revision: the package's version, or the beginning of the commit's hash.
    """

    project: str
    path: str
    text: str
    split: str
    language: str = "python"
    revision: str = ""


@dataclass(frozen=True)
class FileLimits:
    """How large a file may be."""

    min_lines: int = 40
    max_lines: int = 4000
    max_characters: int = 200_000


def decoded(data: bytes) -> str | None:
    """The text of a file without a byte order mark, with `\\n` for `\\r\\n`; None where it isn't text."""
    try:
        return None if b"\0" in data else data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None


def is_own_code(path: str, text: str | None, limits: FileLimits) -> bool:
    """Whether a file is neither too short nor too long, was written by hand, and isn't Objective-C in a header."""
    if not text or len(text) > limits.max_characters or _LONE_CR.search(text):
        return False
    count = text.count("\n") + 1
    if not limits.min_lines <= count <= limits.max_lines or len(text) / count > 120:
        return False
    return not _GENERATED.search(text[:4000]) and not (path.endswith(".h") and _OBJECTIVE_C.search(text))
