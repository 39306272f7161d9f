"""The process between us and Triton, which outlives neither: started as a program of its own, standard library only.

It starts `tritonserver` in a session of its own, and when its standard input says "stop" or closes, when the
process that started it is gone, or when it gets SIGTERM, stops the server: SIGTERM first, SIGKILL to the whole
session when the time is up. Triton goes on answering errors for ever when one of its stubs has died, so the server is
then ended, too. Whatever way it ends, its stubs are killed and reaped, and its folder and shared memory removed. If the
supervisor itself is killed, the kernel sends the server SIGTERM.

    stdin   lines: "stop" (graceful), "kill" (at once)
    stdout  lines: "pid N", then "exit N" (negative: the signal that ended it)

Knows processes and signals; knows nothing of Triton but that SIGTERM stops it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
SHARED_MEMORY = Path("/dev/shm")
GRACE = (
    3.0  # seconds in which a server whose stub is gone may end by itself (it couldn't load), or start another
)


@dataclass(frozen=True)
class Orders:
    """What to run and how to end it; passed as JSON in the first argument.

    Attributes:
        command: the server's command line; its environment is inherited.
        root: the server's folder, removed at the end; its name prefixes the shared memory.
        lock: descriptor that the server and everything under it inherit.
        log: file that takes the server's output.
        parent: process id of who started us.
        stop_timeout: seconds between SIGTERM and SIGKILL.
    """

    command: list[str]
    root: str
    lock: int
    log: str
    parent: int
    stop_timeout: float


class Supervision:
    """One server under supervision, from its start to the removal of everything it left."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._deadline: float | None = None
        self._wake, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1)  # stubs of a killed server become ours to reap
        self._most_stubs, self._lacking_since = 0, 0.0
        supervisor = os.getpid()

        def die_with_supervisor() -> None:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != supervisor:
                os._exit(1)

        with Path(orders.log).open("ab") as log:
            self._server = subprocess.Popen(
                orders.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(orders.lock,),
                preexec_fn=die_with_supervisor,  # noqa: PLW1509  # there are no other threads here
            )

    def run(self) -> int:
        """Watch until the server has ended; returns its status as `subprocess` counts it."""
        say(f"pid {self._server.pid}")
        sources = [0, self._wake]
        while not self._ended():
            if self._deadline is None:
                wait = 1.0
            elif (wait := self._deadline - time.monotonic()) <= 0:
                self._kill()
                wait = 1.0
            ready, _, _ = select.select(sources, [], [], wait)
            if self._wake in ready and signal.SIGTERM in os.read(self._wake, 64):
                self._stop()
            if 0 in ready:
                heard = os.read(0, 4096)
                if not heard:
                    sources.remove(0)
                if b"kill" in heard:
                    self._kill()
                else:
                    self._stop()
            if os.getppid() != self._orders.parent:
                self._stop()
            if self._deadline is None and self._lacks_a_stub():
                self._log("a model process has died (killed for memory?), and Triton can't serve without it")
                self._kill()
        return self._finish()

    def _lacks_a_stub(self) -> bool:
        """Whether fewer stubs than there once were have been alive for the whole grace period."""
        count = living_children(self._server.pid)
        self._most_stubs = max(self._most_stubs, count)
        if count == self._most_stubs:
            self._lacking_since = 0.0
            return False
        self._lacking_since = self._lacking_since or time.monotonic()
        return time.monotonic() - self._lacking_since > GRACE

    def _log(self, message: str) -> None:
        """Add an error to the server's log, in its format."""
        now = time.time()
        stamp = time.strftime("%m%d %H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1e6):06d}"
        with Path(self._orders.log).open("a", encoding="utf-8") as log:
            log.write(f"E{stamp} {os.getpid()} supervisor.py] {message}\n")

    def _ended(self) -> bool:
        # Seen but not reaped: as long as it isn't, its process group's number can't belong to anybody else.
        return os.waitid(os.P_PID, self._server.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _stop(self) -> None:
        if self._deadline is None:
            self._deadline = time.monotonic() + self._orders.stop_timeout
            os.kill(self._server.pid, signal.SIGTERM)

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._server.pid, signal.SIGKILL)

    def _finish(self) -> int:
        self._kill()
        status = self._server.wait()
        until = time.monotonic() + 5
        with contextlib.suppress(ChildProcessError):
            while time.monotonic() < until:
                if os.waitpid(-1, os.WNOHANG) == (0, 0):
                    time.sleep(0.01)
        for region in SHARED_MEMORY.glob(f"{Path(self._orders.root).name}*"):
            region.unlink(missing_ok=True)
        shutil.rmtree(self._orders.root, ignore_errors=True)
        return status


def living_children(pid: int) -> int:
    """How many child processes of `pid` run; 0 where the kernel doesn't tell."""
    count = 0
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread or a child that ended meanwhile
            for child in listed.read_text(encoding="ascii").split():
                with contextlib.suppress(OSError):
                    fields = Path(f"/proc/{child}/stat").read_text(encoding="utf-8", errors="replace")
                    count += fields.rpartition(")")[2].split()[0] not in ("Z", "X")
    return count


def say(line: str) -> None:
    """Tell whoever started us, if it still listens."""
    with contextlib.suppress(OSError):
        os.write(1, f"{line}\n".encode())


def main() -> None:
    orders = Orders(**json.loads(sys.argv[1]))
    try:
        status = Supervision(orders).run()
    except OSError as error:
        say(f"error {error}")
        raise SystemExit(1) from error
    say(f"exit {status}")


if __name__ == "__main__":
    main()
