"""What tests ask about other processes, which may end between any two questions about them."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import psutil
from lamr_serving.launcher.supervisor import SHARED_MEMORY


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


def all_end(processes: Iterable[psutil.Process], timeout: float = 30) -> bool:
    """Whether processes have all ended within these seconds; a signal that was sent is carried out a little later."""
    processes = list(processes)
    # psutil would wait for zombies to be read as well
    return eventually(lambda: not any(runs(process.pid) for process in processes), timeout)


def eventually(holds: Callable[[], object], seconds: float = 30) -> bool:
    """Whether something holds within these seconds."""
    deadline = time.monotonic() + seconds
    while not (done := bool(holds())) and time.monotonic() < deadline:
        time.sleep(0.02)
    return done


def end_servers(folder: Path) -> None:
    """End the local servers that hooks started on sockets below a folder, and wait for them."""
    servers = [each for each in psutil.process_iter() if _serves_below(each, folder)]
    for server in servers:
        with suppress(psutil.NoSuchProcess):
            server.terminate()
    assert all_end(servers)


def _serves_below(process: psutil.Process, folder: Path) -> bool:
    try:
        words = process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
    return "--socket" in words[:-1] and Path(words[words.index("--socket") + 1]).is_relative_to(folder)


def commanded(processes: list[psutil.Process], word: str) -> list[psutil.Process]:
    """Those whose command line holds a word. A process that ends meanwhile has no command line."""
    found = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):  # a zombie too
            if word in " ".join(process.cmdline()):
                found.append(process)
    return found


def shared_memory(processes: list[psutil.Process]) -> set[Path]:
    """The segments of POSIX shared memory that processes have mapped, but for those that have no name any more."""
    paths: set[Path] = set()
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            paths.update(Path(region.path) for region in process.memory_maps())
    return {path for path in paths if path.parent == SHARED_MEMORY and path.exists()}
