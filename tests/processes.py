"""What tests ask about other processes, which may end between any two questions about them."""

from __future__ import annotations

from contextlib import suppress

import psutil


def runs(pid: int) -> bool:
    """Whether a process still runs: neither gone nor ended and waiting to be read by its parent."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def below(pid: int) -> list[psutil.Process]:
    """Every process below one, however deep; none where it has ended."""
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).children(recursive=True)
    return []


def commanded(processes: list[psutil.Process], word: str) -> list[psutil.Process]:
    """Those whose command line holds a word. A process that ends meanwhile has no command line."""
    found = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):  # a zombie too
            if word in " ".join(process.cmdline()):
                found.append(process)
    return found
