"""How an error ends the command: the exit code and the message.

lamr's own errors carry their exit code (`lamr_errors`), so this module knows no other package and costs no import.
"""

from __future__ import annotations

import os
import sys

from lamr_errors import BAD_INPUT, SERVER_TROUBLE, LamrError, visible

from lamr_cli.streams import writing

__all__ = ["BAD_INPUT", "INCOMPLETE", "SERVER_TROUBLE", "exit_code", "explain"]

_UNIX_MODULES = ("fcntl", "grp", "pwd", "resource", "termios")
INCOMPLETE = 4
"""The work was done, but a part of the input was left out, or nothing of it was kept."""


def exit_code(error: BaseException) -> int | None:
    """Return the exit code of an expected error; None if the error is a defect."""
    if isinstance(error, LamrError):
        return error.exit_code
    if _needs_unix(error):
        return BAD_INPUT
    return BAD_INPUT if isinstance(error, OSError) else None  # a file that can't be read or written


def explain(error: BaseException) -> None:
    """Print one message on stderr, red only on a terminal; what others wrote in it can do nothing to a terminal."""
    red, reset = ("\x1b[31m", "\x1b[0m") if sys.stderr.isatty() else ("", "")
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        text = (
            f"{visible(os.fsdecode(error.filename))}: {error.strerror}" if error.filename else error.strerror
        )
    if isinstance(error, FileNotFoundError) and not error.filename:
        text = "the current folder is gone; go to one that is there"
    if _needs_unix(error):
        text = "this command needs Linux or macOS; on Windows, run it in WSL (docs/install.md says what runs where)"
    words = f"lamr: {visible(text, lines=True)}"
    with writing(err=True):
        print(f"{red}{words}{reset}", file=sys.stderr)  # noqa: T201


def _needs_unix(error: BaseException) -> bool:
    """Whether a command wanted what Windows' Python lacks; what prunes in process wants none of it."""
    return isinstance(error, ModuleNotFoundError) and error.name in _UNIX_MODULES
