"""A `lamr serve` that cases attack: one of their own, or one that they share."""

import contextlib
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
from lamr_client import LamrError, Pruner
from lamr_serving.launcher import workspace

from tests.attack.place import LAMR, Place
from tests.processes import below
from tests.tiny import IN_FULL

CODE = "def helper(x):\n    return x + 1\n\n\ndef launch_code():\n    password = 'zebra-7391'\n    return password\n"
SAME = "; answers; the same server"
"""How an attempt ends that a server got over."""


class Server:
    """A `lamr serve` of a place: its `process`, and where it listens (`grpc`, `metrics`)."""

    def __init__(
        self, place: Place, *options: str, cwd: Path | None = None, umask: int = 0o022, **more: str
    ) -> None:
        self.process = subprocess.Popen(
            [LAMR, "serve", "--threads", "1", "--json", *options],
            cwd=cwd or place.folder,
            env=place.environment(more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            umask=umask,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"not ready: {self.process.communicate()[1].decode()[-300:]}")
        ready = json.loads(line)
        self.grpc, self.metrics = ready["grpc"], ready["metrics"]

    @property
    def triton(self) -> psutil.Process:
        """The process that serves."""
        return next(each for each in below(self.process.pid) if each.name() == "tritonserver")

    @property
    def token(self) -> str:
        """What its folder and its shared memory are named by."""
        return next(part for part in Path(self.triton.cwd()).parts if part.startswith(workspace.PREFIX))

    def prunes(self, seconds: float = 60) -> str:
        """Whether it answers, within a time in which it may have been started again."""
        until = time.monotonic() + seconds
        while True:
            try:
                with Pruner(self.grpc, timeout=20) as pruner:
                    return (
                        "answers"
                        if pruner.prune("What is the launch code?", CODE, **IN_FULL).text
                        else "empty"
                    )
            except LamrError as error:
                if time.monotonic() > until:
                    return f"no answer: {error}"
                time.sleep(0.2)

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.communicate(timeout=60)

    def after(self, pid: int) -> str:
        """Whether it answers after an attempt, and whether its process is still the one of before."""
        said = self.prunes()
        return f"{said}; {'the same' if self.triton.pid == pid else 'another'} server"


@contextlib.contextmanager
def served(place: Place, *options: str, **more: Any) -> Iterator[Server]:
    server = Server(place, *options, **more)
    try:
        yield server
    finally:
        server.stop()


_shared: list[Server] = []


@contextlib.contextmanager
def setting() -> Iterator[None]:
    """Cases that say `shared()` use one server, which is started by the first of them."""
    try:
        yield
    finally:
        while _shared:
            _shared.pop().stop()


def shared() -> Server:
    """The server of all cases that ask for it."""
    if not _shared:
        root = Path(tempfile.mkdtemp(prefix="lamr-attack-"))
        _shared.append(Server(Place(root)))
        shutil.rmtree(root, ignore_errors=True)
    return _shared[0]
