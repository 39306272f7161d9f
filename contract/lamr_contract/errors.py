"""Every error that a caller of the client can meet.

LamrError
├── InvalidInputError (also ValueError)   the query, the code or an option; retrying can't help
├── ModelMismatchError                    client files and server, or a repository, don't fit together
├── ClosedError                           the pruner or its transport was closed
├── MissingPackageError                   a package or provider that the call needs isn't installed
└── ServerError                           the server's side
    ├── ServerUnavailableError            nothing answers, or it went away
    ├── AccessDeniedError                 a front refuses the key, or what was asked for with it
    ├── OverloadedError                   it answers that its queue is full; retry later
    │   └── QuotaExceededError            the caller has used up what a front allows it; `retry_after` says when
    └── DeadlineExceededError             no answer within the timeout
"""

from __future__ import annotations

from lamr_errors import SERVER_TROUBLE, InvalidInputError, LamrError, ModelMismatchError

__all__ = [
    "AccessDeniedError",
    "ClosedError",
    "DeadlineExceededError",
    "InvalidInputError",
    "LamrError",
    "MissingPackageError",
    "ModelMismatchError",
    "OverloadedError",
    "QuotaExceededError",
    "ServerError",
    "ServerUnavailableError",
]


class ClosedError(LamrError):
    """The pruner, transport or model was closed by its owner; a new one has to be made."""


class MissingPackageError(LamrError):
    """A package, or a part of one, isn't installed.

    Attributes:
        package: the name of the package or of its missing part.
    """

    def __init__(self, message: str, *, package: str | None = None) -> None:
        super().__init__(message)
        self.package = package


class ServerError(LamrError):
    """The server, or the way to it, failed.

    Attributes:
        server: its address; None for a model in this process.
    """

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
        retry_after: seconds until asking again makes sense.
    """

    def __init__(self, message: str, *, server: str | None = None, retry_after: float) -> None:
        super().__init__(message, server=server)
        self.retry_after = retry_after


class DeadlineExceededError(ServerError):
    """No answer came within the timeout.

    Attributes:
        timeout: the seconds that the caller would wait; None if the server didn't say.
    """

    def __init__(self, message: str, *, server: str | None = None, timeout: float | None = None) -> None:
        super().__init__(message, server=server)
        self.timeout = timeout
