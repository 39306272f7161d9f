"""The root of lamr's errors: the base of everything that is raised on purpose, and two kinds that every floor knows.

The words of strangers are made fit to be shown here as well, since most of them are in errors.

Each package adds the errors of its own work. This one imports nothing, so that it costs no process anything, and every
other package can build on it.

Facts are attributes as well as words of the message. An exit code is the number that the `lamr` command ends with when
the error reaches it.
"""

from __future__ import annotations

import re
from os import PathLike
from typing import ClassVar

__all__ = [
    "BAD_INPUT",
    "SERVER_TROUBLE",
    "InvalidInputError",
    "LamrError",
    "ModelMismatchError",
    "how_to_install",
    "visible",
]

BAD_INPUT, SERVER_TROUBLE = 2, 3


class LamrError(Exception):
    """Base of everything that lamr raises on purpose; the message names the cause and the remedy.

    Attributes:
        exit_code: the command line's exit code for errors of the class.
    """

    exit_code: ClassVar[int] = BAD_INPUT


class InvalidInputError(LamrError, ValueError):
    """The query, the code or an option can't be used as it is; asking again can't help.

    Attributes:
        argument: the name of the argument that is wrong; None where several are, or none has a name.
        offset: 0-based place in the argument that is wrong, in characters of a text or bytes of bytes; None where it
            is not a single place.
    """

    def __init__(self, message: str, *, argument: str | None = None, offset: int | None = None) -> None:
        super().__init__(message)
        self.argument, self.offset = argument, offset


class ModelMismatchError(LamrError):
    """A model repository, its files and a server don't belong together, or a file of it is broken.

    Attributes:
        path: the file or folder at fault; None where it is the server.
        server: the address of the server at fault; None where it is a file.
    """

    exit_code = SERVER_TROUBLE

    def __init__(
        self, message: str, *, path: str | PathLike[str] | None = None, server: str | None = None
    ) -> None:
        super().__init__(message)
        self.path, self.server = path, server


def how_to_install(extra: str) -> str:
    """The command that installs one of the distribution's extras: from a clone, as long as none is published."""
    return f"pip install '.[{extra}]' in a clone of lamr"


# What moves a terminal's cursor, reorders or hides text, or ends a line of a log: control characters, Unicode's marks
# of direction and of lines, those without width and for tags, and half characters.
_UNSEEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f\ud800-\udfff]"
)
_UNSEEN_IN_LINES = re.compile(rf"(?!\t|\r?\n){_UNSEEN.pattern}")
_DELETE, _PICTURES = 0x7F, 0x2400


def visible(text: str, *, lines: bool = False) -> str:
    """Return a text of somebody else's so that it can be shown: what can't be seen is replaced by pictures or numbers.

    Args:
        text: names, messages or code, of a repository, a server or whomever.
        lines: whether tabs and the ends of lines stay as they are.
    """
    return (_UNSEEN_IN_LINES if lines else _UNSEEN).sub(_picture, text)


def _picture(found: re.Match[str]) -> str:
    point = ord(found[0])
    if point == _DELETE:
        return "\u2421"
    return chr(_PICTURES + point) if point < 32 else f"<{point:04x}>"
