"""Errors of starting and running a server or a front. Everything else is an error of the client.

ModelRepositoryError (a ModelMismatchError)   a file of the repository is missing, broken or of another model
ServerStartError (a ServerError)              the server did not come up, or this machine can't run it
FrontError (a LamrError)
├── TenantsFileError                          the file can't be used; it names the line
├── FrontStartError                           HAProxy is missing, or refuses to start
└── FrontNotRunningError                      no front of this file runs here"""

from os import PathLike, fspath

from lamr_base.errors import SERVER_TROUBLE, LamrError, ModelMismatchError, ServerError


class ModelRepositoryError(ModelMismatchError):
    """A model repository can't be served. The message names the file and the remedy."""


class ServerStartError(ServerError):
    """Triton did not start. The message carries the lines of its log that say why."""


class FrontError(LamrError):
    """Base of the front's errors."""


class TenantsFileError(FrontError):
    """The file of tenants can't be used as it is."""

    def __init__(self, message: str, *, path: str | PathLike[str], line: int | None = None) -> None:
        super().__init__(f"{fspath(path)}{'' if line is None else f', line {line}'}: {message}")
        self.path, self.line = path, line  # None where it is the file as a whole


class FrontStartError(FrontError):
    """HAProxy isn't there, or refuses what it was given; the message has its words."""

    exit_code = SERVER_TROUBLE


class FrontNotRunningError(FrontError):
    """No front that was started from this file answers."""

    exit_code = SERVER_TROUBLE
