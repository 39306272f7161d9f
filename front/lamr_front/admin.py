"""Talking to a running HAProxy through its sockets: one command, one answer."""

from __future__ import annotations

import csv
import io
import socket
from pathlib import Path

from lamr_front.errors import FrontError, FrontNotRunningError

SECONDS = 30.0


def ask(path: Path, command: str, seconds: float = SECONDS) -> str:
    """Send a command and read the whole answer.

    Raises:
        FrontNotRunningError: nobody answers there.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(seconds)
            connection.connect(str(path))
            connection.sendall(f"{command}\n".encode())
            connection.shutdown(socket.SHUT_WR)  # the master waits for another command otherwise
            parts = []
            while part := connection.recv(1 << 16):
                parts.append(part)
    except OSError as error:
        raise FrontNotRunningError(
            f"no front of this file answers ({error.strerror or error}); start it with `lamr front run`"
        ) from error
    return b"".join(parts).decode(errors="replace")


def order(path: Path, command: str) -> None:
    """Send a command that answers nothing when it was obeyed.

    Raises:
        FrontError: HAProxy's words.
    """
    if answer := ask(path, command).strip():
        raise FrontError(f"HAProxy refuses `{command}`: {answer}")


def read_map(path: Path, file: Path) -> dict[str, str]:
    """The entries of a map as the running HAProxy has them."""
    rows = [
        line.split(" ", 2) for line in ask(path, f"show map {file}").splitlines() if line.startswith("0x")
    ]
    return {row[1]: row[2] for row in rows if len(row) == 3}


def read_statistics(path: Path, which: str = "") -> list[dict[str, str]]:
    """A row for each frontend, backend and server, or those that HAProxy's words choose, by its columns' names."""
    text = ask(path, f"show stat {which}").removeprefix("# ").strip()
    return list(csv.DictReader(io.StringIO(text)))
