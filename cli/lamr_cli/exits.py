"""Which error ends the command with which exit code, as one table, and how it is told.

A class is named by its module and name rather than imported, so that the table costs no heavy import.
"""

from __future__ import annotations

import sys

BAD_INPUT = 2
SERVER_TROUBLE = 3
INCOMPLETE = 4
"""The work was done, but a part of the input was left out."""

_EXIT_CODES = {
    "lamr_contract.errors.InvalidInputError": BAD_INPUT,
    "lamr_contract.errors.ModelMismatchError": SERVER_TROUBLE,
    "lamr_contract.errors.ServerError": SERVER_TROUBLE,
    "lamr_contract.errors.LamrError": BAD_INPUT,
    "lamr_training.errors.TrainingError": BAD_INPUT,
    "builtins.OSError": BAD_INPUT,  # a file that can't be read or written
}


def exit_code(error: BaseException) -> int | None:
    """The exit code of an expected error, by its nearest class in the table; None if it is a defect."""
    for kind in type(error).__mro__:
        code = _EXIT_CODES.get(f"{kind.__module__}.{kind.__qualname__}")
        if code is not None:
            return code
    return None


def explain(error: BaseException) -> None:
    """One message on stderr, red only on a terminal."""
    red, reset = ("\x1b[31m", "\x1b[0m") if sys.stderr.isatty() else ("", "")
    text = (
        f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
    )
    print(f"{red}lamr: {text}{reset}", file=sys.stderr)  # noqa: T201
