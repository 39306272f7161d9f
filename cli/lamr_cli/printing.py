"""The one place where commands read and write: standard streams, words, code, pages and progress.

A standard stream that is closed would be given to the next file that is opened, so each is opened anew. Names of files,
messages of servers and code are others' texts, and a terminal does what escape sequences in them say. What goes to a
file or a program is code byte for byte, in the encoding of the file that it is from."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lamr_base.errors import InvalidInputError, LamrError, visible
from lamr_base.private_files import write_whole

if TYPE_CHECKING:
    from lamr_postprocess import Encoding

_IN_PLACE_OF_CLOSED = {0: os.O_WRONLY, 1: os.O_RDONLY, 2: os.O_WRONLY}
"""How the null device is opened there: so that reading and printing fail, and messages are lost."""


_ASCII = ("ascii", "us-ascii", "ansi_x3.4-1968")


class OutputError(LamrError):
    """What was to be printed can't be."""


def speak_utf_8() -> None:
    """Start this process anew where its environment leaves Python with ASCII (PYTHONUTF8=0 without a locale).

    There, what isn't ASCII of names and questions is half characters."""
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
    """Return what standard input holds."""
    try:
        return sys.stdin.buffer.read(most)
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        raise InvalidInputError("standard input is closed, so - can't read it") from error


@contextlib.contextmanager
def writing(*, err: bool = False) -> Iterator[None]:
    """Turn what goes wrong with standard output into an error of lamr's; a message that can't be shown is none."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if not err:
            why = "it is closed" if error.errno == errno.EBADF else error.strerror
            raise OutputError(f"standard output can't be written: {why}") from error


def flush_output() -> None:
    """Write what others have printed, such as a library that prints help."""
    with writing():
        sys.stdout.flush()


def let_go_of_output() -> None:
    """Drop what standard output hasn't taken; Python would try again at its end, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


ERASED = "\r\x1b[K"


def say(text: object, *, err: bool = False, end: str = "\n") -> None:
    """Write a message, a table or JSON on standard output, or on standard error; escape sequences become visible."""
    stream = sys.stderr if err else sys.stdout
    encoding = stream.encoding or "utf-8"
    shown = f"{visible(str(text), lines=True)}{end}".encode(encoding, "backslashreplace").decode(encoding)
    with writing(err=err):
        stream.write(shown)
        stream.flush()


def say_meanwhile(text: str) -> None:
    """Put a line of progress in the place of the last one on standard error; an empty text erases it."""
    with writing(err=True):
        sys.stderr.write(ERASED + visible(text))
        sys.stderr.flush()


def print_exactly(text: str, *, encoding: Encoding | None = None, colored: bool = False) -> None:
    """Write a text with its newlines as they are, which a text stream would translate.

    On a terminal, escape sequences in it become visible. A character that UTF-8 can't express, which a file's name may
    hold, becomes a question mark."""
    shows = sys.stdout.isatty()
    if shows and not colored:
        text = visible(text, lines=True)
    data = text.encode("utf-8", "replace") if encoding is None or shows else encoding.encode(text)
    with writing():
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def write_page(path: Path, text: str) -> None:
    """Write a page to the file that the user named, whole or not at all; one that is there keeps its mode."""
    write_whole(path, text.encode("utf-8", "replace"))


@contextlib.contextmanager
def bar(disable: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """Give a function that takes what is being done, how much of it is done and how much there is.

    Each kind of work gets a bar of its own."""
    if disable or not sys.stderr.isatty():
        yield lambda _what, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=Console(stderr=True)) as progress:

        def advance(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(visible(what), total=total)
            progress.update(tasks[what], completed=done)

        yield advance
