"""Ends a process that is silent for too long. This module doesn't know what it was asked."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time

_SAID = 1 << 16  # bytes that are kept of what a program writes to standard error


def end_all(process: subprocess.Popen[bytes], *, gently: bool = False) -> None:
    """Ask a process, or force it, to end, and with it all in its session, which may hold its pipes open."""
    if os.name == "nt":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM if gently else signal.SIGKILL)


class Watch:
    """Ends a process that says nothing for too long, while the block that it is around reads what it prints."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float, *, hear: bool = True) -> None:
        """Watch nothing yet. After so many seconds of silence the process is ended; `hear` reads standard error."""
        self.late, self.said = False, b""
        self._process, self._seconds = process, seconds
        self._heard: float | None = time.monotonic()
        self._done = threading.Event()
        heard = [self._hear] if hear and process.stderr is not None else []
        self._threads = [threading.Thread(target=each, daemon=True) for each in [self._wait, *heard]]

    def beat(self) -> None:
        """Note that the process has said something, or is waited for from now on."""
        self._heard = time.monotonic()

    def rest(self) -> None:
        """Note that it isn't waited for until the next beat."""
        self._heard = None

    def __enter__(self) -> Watch:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            end_all(self._process)
        self._done.set()
        for thread in self._threads:
            thread.join()

    def _wait(self) -> None:
        while (left := self._left()) > 0:
            if self._done.wait(left):
                return
        self.late = True
        end_all(self._process)

    def _left(self) -> float:
        heard = self._heard
        return self._seconds if heard is None else heard + self._seconds - time.monotonic()

    def _hear(self) -> None:
        assert self._process.stderr is not None
        while part := self._process.stderr.read1():  # type: ignore[attr-defined]  # a BufferedReader
            self.said = (self.said + part)[-_SAID:]
