"""What a process must do that another one has started to work for it.

This module knows processes; it knows no work.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch


def prepare_worker(parent: int, folder: Path) -> None:
    """Leave Ctrl-C to the parent process to answer, end when the parent has died, and stand where it stands.

    Args:
        parent: the parent's process id.
        folder: its current folder. Workers begin elsewhere, so that Python doesn't import from there.
    """
    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread within the context; the last digit of a sum depends on the number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
