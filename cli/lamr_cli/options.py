"""Options that several commands share, and how their text becomes values."""

from __future__ import annotations

import enum
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

LineRange = tuple[int, int]

Query = Annotated[
    str, typer.Option("--query", "-q", help="What you are looking for, as a question or words.")
]
Server = Annotated[
    str | None,
    typer.Option(
        help="HOST:PORT of a server's gRPC port (see `lamr serve`); without it, runs in process.",
        envvar="LAMR_SERVER",
    ),
]
Language = Annotated[
    str | None,
    typer.Option("--language", "-l", help="The code's language; default: by name, then content."),
]
Model = Annotated[
    Path | None,
    typer.Option(help="A model repository written by `lamr export`; default: the bundled lamr-mini."),
]
Timeout = Annotated[float, typer.Option(help="Seconds to wait for the whole answer.", min=0.001)]

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


class OnError(str, enum.Enum):
    """What a failing server means: an error, or the code as it came."""

    RAISE = "raise"
    PASSTHROUGH = "passthrough"


def read_code(file: str) -> str:
    """The text of a file, or of standard input for `-`, with its newlines as they are.

    Raises:
        lamr_client.InvalidInputError: it isn't UTF-8.
        OSError: it can't be read.
    """
    from lamr_client.inputs import decode_code

    return decode_code(sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes())


def parse_keep(texts: list[str]) -> tuple[LineRange | str, ...]:
    """`10-20` and `7` become 1-based line ranges, `/regex/` a pattern.

    Raises:
        typer.BadParameter: neither, an empty range, or not a regular expression.
    """
    return tuple(_parse_one(text) for text in texts)


def _parse_one(text: str) -> LineRange | str:
    if len(text) > 2 and text.startswith("/") and text.endswith("/"):
        try:
            re.compile(text[1:-1])
        except re.error as error:
            raise typer.BadParameter(f"--keep {text}: not a regular expression: {error}") from error
        return text[1:-1]
    found = _RANGE.fullmatch(text)
    if found is None:
        raise typer.BadParameter(f"--keep {text}: give a line (7), a range (10-20) or /a regular expression/")
    first, last = int(found[1]), int(found[2] or found[1])
    if not 1 <= first <= last:
        raise typer.BadParameter(f"--keep {text}: lines count from 1 and a range goes upwards")
    return first, last
