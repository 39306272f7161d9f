"""What can be wrong with the files that evaluation and training read; each message names the cause and the remedy."""

from pathlib import Path

from lamr_base.errors import InvalidInputError


class DataError(InvalidInputError):
    """A file of questions, records or sources can't be used as it is."""


class ReservedError(DataError):
    """A project was asked for that is for evaluation only."""


class RecordError(DataError):
    """A record, or a file of them, can't be used: 1-based line `row` of `path`, None for the file as a whole."""

    def __init__(self, message: str, *, path: Path | None = None, row: int | None = None) -> None:
        super().__init__(message)
        self.path, self.row = path, row
