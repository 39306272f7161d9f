"""The one place where commands write: words with what cannot be seen made visible, code as it is, pages, progress.

Names of files, messages of servers and code are others' texts, and a terminal does what escape sequences in them say.
What goes to a file or a program is code byte for byte, in the encoding of the file that it is from. Pages show code, so
that a new one is for its owner alone.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lamr_base.errors import visible
from lamr_base.private_files import write_whole

from lamr_cli.streams import writing

if TYPE_CHECKING:
    from lamr_postprocess import Encoding


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
    hold, becomes a question mark.

    Args:
        text: the text.
        encoding: that of the file that it is from, in which it is written; None, and a terminal, get UTF-8.
        colored: whether it holds escape sequences of lamr's own, and none of others.
    """
    shows = sys.stdout.isatty()
    if shows and not colored:
        text = visible(text, lines=True)
    data = text.encode("utf-8", "replace") if encoding is None or shows else encoding.encode(text)
    with writing():
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def write_page(path: Path, text: str) -> None:
    """Write a page to the file that the user named, whole or not at all; one that is there keeps its mode.

    Raises:
        OSError: it can't be written.
    """
    write_whole(path, text.encode("utf-8", "replace"))


@contextlib.contextmanager
def bar(disable: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """Give a function that takes what is being done, how much of it is done and how much there is.

    Each kind of work gets a bar of its own.
    """
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
