"""What a command has from whoever started it: an encoding, and three streams, opened where they are closed.

A closed one would be given to the next file that is opened, and what a library prints would be written into it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator

from lamr_base.errors import InvalidInputError, LamrError

_IN_PLACE_OF_CLOSED = {0: os.O_WRONLY, 1: os.O_RDONLY, 2: os.O_WRONLY}
"""How the null device is opened there: so that reading and printing fail, and messages are lost."""


_ASCII = ("ascii", "us-ascii", "ansi_x3.4-1968")


class OutputError(LamrError):
    """What was to be printed can't be."""


def speak_utf_8() -> None:
    """Start this process anew where its environment leaves Python with ASCII (PYTHONUTF8=0 without a locale).

    There, what isn't ASCII of names and questions is half characters.
    """
    if sys.getfilesystemencoding().lower() in _ASCII:
        os.environ["PYTHONUTF8"] = "1"  # for the children
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def open_streams() -> None:
    """Put something in the place of the standard streams that are closed."""
    for number, flags in _IN_PLACE_OF_CLOSED.items():
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # takes the lowest number that is free
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def read_input(most: int = -1) -> bytes:
    """Return what standard input holds.

    Args:
        most: bytes that are read at the most; -1 reads all.

    Raises:
        InvalidInputError: it is closed.
    """
    try:
        return sys.stdin.buffer.read(most)
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        raise InvalidInputError("standard input is closed, so - can't read it") from error


@contextlib.contextmanager
def writing(*, err: bool = False) -> Iterator[None]:
    """Turn what goes wrong with standard output into an error of lamr's; a message that can't be shown is none.

    Raises:
        OutputError: standard output is closed, or its disk is full.
        BrokenPipeError: nobody reads it any more.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if not err:
            why = "it is closed" if error.errno == errno.EBADF else error.strerror
            raise OutputError(f"standard output can't be written: {why}") from error


def flush_output() -> None:
    """Write what others have printed, such as a library that prints help.

    Raises:
        OutputError, BrokenPipeError: see `writing`.
    """
    with writing():
        sys.stdout.flush()


def let_go_of_output() -> None:
    """Drop what standard output hasn't taken; Python would try again at its end, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
