"""How a command ends: the exit code and the message of an error, of an extra that isn't installed, and of SIGTERM.

lamr's own errors carry their exit code (`lamr_base.errors`), so this module knows no other package."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

import typer
from lamr_base.errors import BAD_INPUT, SERVER_TROUBLE, LamrError, how_to_install, visible

from lamr_cli.printing import say, writing

if TYPE_CHECKING:
    from lamr_evaluation import Problem

__all__ = ["BAD_INPUT", "INCOMPLETE", "SERVER_TROUBLE", "exit_code", "explain"]

_UNIX_MODULES = ("fcntl", "grp", "pwd", "resource", "termios")
INCOMPLETE = 4  # The work was done, but a part of the input was left out, or nothing of it was kept


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
        text = "the current folder no longer exists; change to another one"
    if _needs_unix(error):
        text = "this command needs Linux or macOS; on Windows, run it in WSL (docs/install.md says what runs where)"
    words = f"lamr: {visible(text, lines=True)}"
    with writing(err=True):
        print(f"{red}{words}{reset}", file=sys.stderr)  # noqa: T201


def _needs_unix(error: BaseException) -> bool:
    """Whether a command wanted what Windows' Python lacks; what prunes in process wants none of it."""
    return isinstance(error, ModuleNotFoundError) and error.name in _UNIX_MODULES


def end_well_on_sigterm(*, at_once: bool = False) -> None:
    """Have SIGTERM end this process with exit code 0. Call it from the main thread, before the server begins.

    Servers that handle the signal themselves do so; this is for the time before and after. uvicorn, for one, ends its
    requests and then raises the signal again."""

    def end(_number: int, _frame: FrameType | None) -> NoReturn:
        if at_once:
            os._exit(0)
        sys.exit(0)

    signal.signal(signal.SIGTERM, end)


@contextlib.contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Turn the missing import of somebody else's package into a message and exit code 2; other errors pass."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "lamr_").startswith("lamr_") or _needs_unix(error):
            raise
        say(f"lamr: {error.name} isn't installed: {how_to_install(extra)}", err=True)
        raise typer.Exit(BAD_INPUT) from error


def end_with(name: str, left_out: Sequence[Problem]) -> None:
    """Name the items that were left out, and end with the exit code for that if there are any."""
    for problem in left_out:
        say(f"{name}:{problem.line}: {problem.reason}", err=True)
    if left_out:
        raise typer.Exit(INCOMPLETE)
