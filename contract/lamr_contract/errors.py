"""Every error that a caller of the client can meet.

    LamrError
    ├── InvalidInputError (also ValueError)   the query, the code or an option; retrying can't help
    ├── ModelMismatchError                    client files and server, or a repository, don't fit together
    └── ServerError                           the server's side
        ├── ServerUnavailableError            nothing answers, or it went away
        ├── OverloadedError                   it answers that its queue is full; retry later
        └── DeadlineExceededError             no answer within the timeout

This module knows names and meanings; which gRPC status becomes which error is the transport's business.
"""

from __future__ import annotations


class LamrError(Exception):
    """Base of everything that lamr raises on purpose; the message names the cause and the remedy."""


class InvalidInputError(LamrError, ValueError):
    """The query, the code or an option can't be used as it is."""


class ModelMismatchError(LamrError):
    """A model repository, its files and a server don't belong together, or a file of it is broken."""


class ServerError(LamrError):
    """The server, or the way to it, failed."""


class ServerUnavailableError(ServerError):
    """Nothing answers at the address, or the connection was lost."""


class OverloadedError(ServerError):
    """The server refused the request because its queue is full or the wait in it grew too long."""


class DeadlineExceededError(ServerError):
    """No answer came within the timeout."""
