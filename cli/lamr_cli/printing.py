"""Puts code on standard output as it is."""

from __future__ import annotations

import sys


def print_exactly(text: str) -> None:
    """Write a text as UTF-8, with its newlines as they are, which a text stream would translate.

    A character that UTF-8 can't express, which a file's name may hold, becomes a question mark.
    """
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
