"""Files that others name, opened only where they are regular: another could hold whoever opens it, or never end."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from lamr_postprocess import decode

MOST_BYTES = 4 << 20
"""Of a file whose text is read."""
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


def opened(path: Path) -> BinaryIO:
    """Open a regular file.

    Raises:
        OSError: it can't be opened, or is something else.
        ValueError: no file can have such a name.
    """
    if not stat.S_ISREG(path.stat().st_mode):  # opening a device may do something by itself
        raise FileNotFoundError(path)
    stream = os.fdopen(os.open(path, os.O_RDONLY | _NO_WAIT), "rb", buffering=0)
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise FileNotFoundError(path)
    return stream


def text_of(path: str) -> str:
    """The text of a file on this machine; empty where there is none, it is too large, or it is binary.

    Whether it is the file that somebody means, who may be on another machine, only its content can tell.
    """
    try:
        with opened(Path(path)) as stream:
            data = stream.read(MOST_BYTES + 1)
    except (OSError, ValueError):
        return ""
    decoded = decode(data) if len(data) <= MOST_BYTES else None
    return decoded.text if decoded else ""
