"""Reads files of a model repository, which may be anybody's: regular files of a sane size, and nothing else.

A FIFO would keep the reader for ever, and a device can be endless."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

MIB = 1 << 20
MOST_TEXT_BYTES = 4 * MIB
"""A specification, a configuration or a program needs a thousandth of that."""
MOST_TOKENIZER_BYTES = 512 * MIB
"""The largest tokenizers that are published have tens of MiB."""


def read_regular(path: Path, most: int = MOST_TEXT_BYTES) -> bytes:
    """Return the content of a regular file.

    Args:
        path: the file; links are followed.
        most: the most bytes that it may have.

    Raises:
        OSError: the file can't be read, isn't a regular one, or is larger."""
    size = check_regular(path)
    if size > most:
        raise OSError(errno.EFBIG, f"it has {size:,} bytes, more than the {most:,} that are read", str(path))
    return path.read_bytes()


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Give the errors of reading and writing a file its name, which the system gives those of opening it alone."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def check_regular(path: Path) -> int:
    """Return the size of a regular file in bytes. Raises `OSError`: there is no file, or it is a directory, a pipe or a
    device."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        reason = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL
        raise OSError(reason, "it is not a regular file", os.fspath(path))
    return status.st_size
