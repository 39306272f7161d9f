"""The errors that lamr raises on purpose, and how names and texts from elsewhere are made fit to be shown.

LamrError
├── InvalidInputError (also ValueError)   the query, the code or an option; retrying can't help
├── ModelMismatchError                    client files and server, or a repository, don't fit together
├── ClosedError                           the pruner or its transport was closed
├── BrokenOffError                        memory or the stack ran out, or a library's own code panicked
├── MissingPackageError                   a package or provider that the call needs isn't installed
└── ServerError                           the server's side
    ├── ServerUnavailableError            nothing answers, or it went away
    ├── AccessDeniedError                 a front refuses the key, or what was asked for with it
    ├── OverloadedError                   it answers that its queue is full; retry later
    │   └── QuotaExceededError            the caller has used up what a front allows it; `retry_after` says when
    └── DeadlineExceededError             no answer within the timeout

Each package adds the errors of its own work. This module imports only the standard library, so all can use it.
Facts are attributes as well as words of the message. `lamr` ends with the exit code of the error that reaches
it."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import ClassVar

from lamr_base.expressions import expression

BAD_INPUT, SERVER_TROUBLE = 2, 3


class LamrError(Exception):
    """Base of everything that lamr raises on purpose; the message names the cause and the remedy."""

    exit_code: ClassVar[int] = BAD_INPUT  # the command line's exit code for errors of the class

    def __str__(self) -> str:
        """The message, in which nothing that a stranger named can hide, nor its path begin a line."""
        path = os.fsdecode(getattr(self, "path", None) or "")
        return visible(super().__str__().replace(path, visible(path)), lines=True)


class InvalidInputError(LamrError, ValueError):
    """The query, the code or an option can't be used as it is; asking again can't help.

    Attributes:
        argument: the name of the argument that is wrong; None where several are, or none has a name.
        offset: 0-based place in the argument that is wrong, in characters of a text or bytes of bytes; None where it
            is not a single place."""

    def __init__(self, message: str, *, argument: str | None = None, offset: int | None = None) -> None:
        super().__init__(message)
        self.argument, self.offset = argument, offset


class ModelMismatchError(LamrError):
    """A model repository, its files and a server don't belong together, or a file of it is broken.

    Attributes:
        path: the file or folder at fault; None where it is the server.
        server: the address of the server at fault; None where it is a file."""

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
# of direction and of lines, what Unicode says to ignore where it can't be shown, blanks that count as letters or signs,
# and half characters. Joiners and the mark for colours shape a picture, or a letter of Arabic or India, before them.
_JOINED = "\u0600-\u08ff\u0900-\u0dff\u2190-\u2bff\U0001f000-\U0001faff"
_BEYOND_ASCII = (
    r"[\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    r"\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    rf"\U000e0000-\U000e0fff\ud800-\udfff]|(?<![{_JOINED}])\ufe0f(?!\u20e3)|(?<![{_JOINED}\ufe0f])[\u200c\u200d]"
)
_UNSEEN = expression(rf"[\x00-\x1f]|{_BEYOND_ASCII}")
_UNSEEN_IN_LINES = expression(rf"(?!\t|\r?\n)(?:{_UNSEEN.pattern})")
_UNSEEN_IN_CODE = expression(_BEYOND_ASCII)
_LINES = expression(r"\r\n?|\n")
_DELETE, _PICTURES = 0x7F, 0x2400


def visible(text: str, *, lines: bool = False) -> str:
    """Return a text of somebody else's so that it can be shown: what can't be seen is replaced by pictures or
    numbers. `text`: names, messages or code, of a repository, a server or whomever. `lines`: whether tabs and the
    ends of lines stay as they are."""
    return (_UNSEEN_IN_LINES if lines else _UNSEEN).sub(_picture, text)


def unseen_lines(text: str) -> int:
    """Return how many lines of a text have invisible characters, ASCII's and a byte order mark apart."""
    if text.isascii():
        return 0
    return sum(1 for line in _LINES.split(text.removeprefix("\ufeff")) if _UNSEEN_IN_CODE.search(line))


def _picture(found: re.Match[str]) -> str:
    point = ord(found[0])
    if point == _DELETE:
        return "\u2421"
    return chr(_PICTURES + point) if point < 32 else f"<{point:04x}>"


class ClosedError(LamrError):
    """The pruner, transport or model was closed by its owner; a new one has to be made."""


class BrokenOffError(LamrError):
    """The work on a text ended before it was done: memory or the stack ran out, or a library's own code panicked."""


_PANIC = "PanicException"  # of each library in Rust its own, and no Exception


@contextmanager
def own_errors() -> Iterator[None]:
    """Raise an error of lamr's in place of those that a text can bring about in whatever reads it. Raises
    `BrokenOffError`: there was a MemoryError, a RecursionError, or a panic of a library in Rust."""
    try:
        yield
    except BaseException as error:
        kind = type(error).__name__
        if not isinstance(error, MemoryError | RecursionError) and kind != _PANIC:
            raise
        said = f"the text was too much for what reads it ({kind}); ask about a part of it, or give it more memory"
        raise BrokenOffError(said) from error


class MissingPackageError(LamrError):
    """A package, or a part of one, isn't installed.

    Attributes:
        package: the name of the package or of its missing part."""

    def __init__(self, message: str, *, package: str | None = None) -> None:
        super().__init__(message)
        self.package = package


class ServerError(LamrError):
    """The server, or the way to it, failed.

    Attributes:
        server: its address; None for a model in this process."""

    exit_code = SERVER_TROUBLE

    def __init__(self, message: str, *, server: str | None = None) -> None:
        super().__init__(message)
        self.server = server


class ServerUnavailableError(ServerError):
    """Nothing answers at the address, or the connection was lost."""


class AccessDeniedError(ServerError):
    """The server wants a key that it knows, or the key doesn't open what was asked for. Asking again can't help."""


class OverloadedError(ServerError):
    """The server refused the request because its queue is full or the wait in it grew too long."""


class QuotaExceededError(OverloadedError):
    """The caller asks more than it may: too many requests or bytes in a period, or too many requests at once.

    Attributes:
        retry_after: seconds until asking again makes sense."""

    def __init__(self, message: str, *, server: str | None = None, retry_after: float) -> None:
        super().__init__(message, server=server)
        self.retry_after = retry_after


class DeadlineExceededError(ServerError):
    """No answer came within the timeout.

    Attributes:
        timeout: the seconds that the caller would wait; None if the server didn't say."""

    def __init__(self, message: str, *, server: str | None = None, timeout: float | None = None) -> None:
        super().__init__(message, server=server)
        self.timeout = timeout
