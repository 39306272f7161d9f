"""What can be wrong with a repository or a file of jobs; each message names the cause and the remedy."""

from os import PathLike

from lamr_base.errors import InvalidInputError, ServerError


class RepositoryError(InvalidInputError):
    """A repository, or a list of its files, can't be used as it is.

    Attributes:
        path: the folder or file at fault, if it is one."""

    def __init__(self, message: str, *, path: str | PathLike[str] | None = None) -> None:
        super().__init__(message)
        self.path = path


class GitError(RepositoryError):
    """git refused or failed."""

    def __init__(self, message: str, *, path: str | PathLike[str] | None = None, said: str = "") -> None:
        super().__init__(message, path=path)
        self.said = said


class SlowGitError(RepositoryError):
    """git gave no answer in time and was ended."""


class ClusterError(ServerError):
    """A cluster that was to run jobs can't be used, or gave up."""
