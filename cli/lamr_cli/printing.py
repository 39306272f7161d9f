"""The one place where commands write: words with what can't be seen made visible, and code as it is.

Names of files, messages of servers and code are others' texts, and a terminal does what escape sequences in them say.
What goes to a file or a program is code byte for byte.
"""

from __future__ import annotations

import sys

from lamr_errors import visible

ERASED = "\r\x1b[K"


def say(text: object, *, err: bool = False, end: str = "\n") -> None:
    """Write a message, a table or JSON on standard output, or on standard error; escape sequences become visible."""
    stream = sys.stderr if err else sys.stdout
    encoding = stream.encoding or "utf-8"
    stream.write(
        f"{visible(str(text), lines=True)}{end}".encode(encoding, "backslashreplace").decode(encoding)
    )
    stream.flush()


def say_meanwhile(text: str) -> None:
    """Put a line of progress in the place of the last one on standard error; an empty text erases it."""
    sys.stderr.write(ERASED + visible(text))
    sys.stderr.flush()


def print_exactly(text: str, *, colored: bool = False) -> None:
    """Write a text as UTF-8, with its newlines as they are, which a text stream would translate.

    On a terminal, escape sequences in it become visible. A character that UTF-8 can't express, which a file's name may
    hold, becomes a question mark.

    Args:
        text: the text.
        colored: whether it holds escape sequences of lamr's own, and none of others.
    """
    if sys.stdout.isatty() and not colored:
        text = visible(text, lines=True)
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
