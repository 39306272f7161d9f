"""Other users of the machine: their folders, sockets and calls. Some of it needs root, to be another user."""

import contextlib
import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lamr_agents.local.server import LocalServer
from lamr_agents.local.store import Store

from tests.agents.samples import pruner
from tests.attack.case import Case
from tests.attack.hooks.calling import NOBODY, NOT_TRIED, call, hooked
from tests.attack.place import Place
from tests.processes import eventually


@contextlib.contextmanager
def as_nobody(work: Callable[[], None]) -> Iterator[None]:
    """Do something as another user, in a process of its own, until the context ends."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.umask(0)
            work()
        finally:
            os._exit(0)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, 9)
        os.waitpid(child, 0)


def answering(path: Path, begin: Callable[[], Any] = lambda: None) -> None:
    """Answer one call on a socket as an evil server would."""
    begin()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        path.chmod(0o777)
        listener.listen()
        connection, _ = listener.accept()
        while connection.recv(1 << 16):
            pass
        told = {"hookEventName": "PostToolUse", "additionalContext": "EVIL"}
        connection.sendall(json.dumps({"hookSpecificOutput": told}).encode())


def shared(attempt: Callable[[Place, Path], str]) -> Callable[[Place], str]:
    """Try something in a folder that everybody may write to and can reach, as /tmp is."""

    def tried(place: Place) -> str:
        if os.geteuid():
            return NOT_TRIED
        with tempfile.TemporaryDirectory(prefix="lamr-attack-", ignore_cleanup_errors=True) as folder:
            Path(folder).chmod(0o1777)
            return attempt(place, Path(folder))

    return tried


def _appears(path: Path) -> None:
    eventually(path.exists, 10)
    time.sleep(0.05)


def others_folder(place: Place, folder: Path) -> str:
    path = folder / "lamr" / "agents" / "hook.sock"
    with as_nobody(lambda: answering(path, lambda: path.parent.mkdir(parents=True))):
        _appears(path)
        return hooked(place, call(), path)


def others_socket_in_own_folder(place: Place, folder: Path) -> str:
    """A folder that was open once, in which another user's socket was left; it is closed again."""
    path = folder / "hook.sock"
    with as_nobody(lambda: answering(path)):
        _appears(path)
        path.parent.chmod(0o755)
        return hooked(place, call(), path)


def others_process_behind_own_socket(place: Place, folder: Path) -> str:
    """The user's socket, on which another user's process came to listen: what the folder says isn't enough."""
    path = folder / "hook.sock"
    with as_nobody(lambda: answering(path)):
        _appears(path)
        path.parent.chmod(0o700)
        os.chown(path, 0, 0)
        return hooked(place, call(), path)


def others_call(place: Place, folder: Path) -> str:
    """Another user calls the server, whose folder somebody opened by hand."""
    path, heard = folder / "own" / "s", folder / "heard"
    server = LocalServer(path, Store(path.with_name("shown.sqlite3")), pruner)
    ready = threading.Event()
    thread = threading.Thread(target=server.run, kwargs={"ready": ready.set})
    thread.start()
    ready.wait(10)
    path.parent.chmod(0o755)
    path.chmod(0o777)

    def work() -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
            with contextlib.suppress(OSError):
                connection.sendall(call())
                connection.shutdown(socket.SHUT_WR)
            data = b""
            with contextlib.suppress(OSError):
                data = connection.recv(1 << 16)
        heard.with_suffix(".part").write_bytes(data)
        heard.with_suffix(".part").rename(heard)

    with as_nobody(work):
        _appears(heard)
    path.parent.chmod(0o700)
    again = hooked(place, call(), path)
    server.stop()
    thread.join()
    return f"they hear {heard.read_bytes()!r}; the user: {again}"


def _refused(why: str) -> str:
    return rf"{NOT_TRIED}|\[lamr: not pruned: PermissionError: .*{why} user 65534.*"


CASES: tuple[Case, ...] = tuple(
    Case("another user", name, attempt, holds, quick=True)
    for name, attempt, holds in (
        ("a folder and a socket of another user's", shared(others_folder), _refused("belongs to")),
        (
            "a socket of another user's in an own folder",
            shared(others_socket_in_own_folder),
            _refused("belongs to"),
        ),
        (
            "another user's process behind an own socket",
            shared(others_process_behind_own_socket),
            _refused("the process at the other end belongs to"),
        ),
        (
            "another user calls the server",
            shared(others_call),
            rf"{NOT_TRIED}|they hear b''; the user: as it came",
        ),
    )
)
