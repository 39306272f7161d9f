"""The root of lamr's errors: the base of everything that is raised on purpose, and two kinds that every floor knows.

Each package adds the errors of its own work. This one imports nothing, so that it costs no process anything, and every
other package can build on it.

Facts are attributes as well as words of the message. An exit code is the number that the `lamr` command ends with when
the error reaches it.
"""

from __future__ import annotations

from os import PathLike
from typing import ClassVar

__all__ = [
    "BAD_INPUT",
    "SERVER_TROUBLE",
    "InvalidInputError",
    "LamrError",
    "ModelMismatchError",
    "how_to_install",
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
    """The command that installs one of the distribution's extras, for whoever installed it and whoever cloned it."""
    return f"pip install 'lamr-server[{extra}]', or in a clone pip install -e '.[{extra}]'"
