"""The process between us and Triton, which outlives neither: started as a program of its own, standard library only.

It starts `tritonserver` in a session of its own, and when its standard input says "stop" or closes, when the
process that started it is gone, or when it gets SIGTERM, stops the server: SIGTERM first, SIGKILL to the whole
session when the time is up. Triton goes on answering errors for ever when one of its stubs has died, so the server is
then ended, too. A server that dies without having been told to is started again if the orders say so and it was ready
before; one that keeps dying before it is ready is given up. Whatever way it ends, its stubs are killed and reaped, and
its folder and shared memory removed. If the supervisor itself is killed, the kernel sends the server SIGTERM, and a
forked guard kills the stubs once the server is gone.

    stdin   lines: "ready" (the server answers), "drain" (its models' processes may end), "stop" (graceful), "kill" (at
            once)
    stdout  lines: "pid N" at each start, "died N" before another, last "exit N" (negative: the signal that ended
        it)"""

import contextlib
import ctypes
import errno
import json
import os
import resource
import select
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
SECCOMP = 317  # the system call's number on x86-64
SECCOMP_SET_MODE_FILTER = 1
SECCOMP_FILTER_FLAG_SPEC_ALLOW = 4  # else kernels before 5.16 slow the process down against speculation
SHARED_MEMORY = Path("/dev/shm")
GRACE = 3.0  # seconds in which a loading server whose stub is gone may end by itself, or start another
MOST_FAILURES = 5  # starts in a row after which the server never got ready
FAILURE_PAUSE = 0.5  # seconds between these
MOST_DESCRIPTORS = 1 << 16


@dataclass(frozen=True)
class Orders:
    """The supervisor's orders: what to run and how to end it; JSON in the first argument."""

    command: list[str]
    root: str  # the server's folder, removed at the end; its name prefixes the shared memory
    lock: int  # descriptor that the server and everything under it inherit
    log: str  # file that takes the server's output
    parent: int  # process id of who started us
    stop_timeout: float  # seconds between SIGTERM and SIGKILL
    restart: bool = False  # whether a server that was ready and died is started again
    log_bytes: int = 64 << 20  # size at which the log is moved to a file of its name plus ".1"
    sockets: Sequence[str] = ()  # files that a server which has died leaves behind, and the next one makes
    filter: bool = True  # whether the server's shared memory is kept closed by `PRIVATE_MEMORY`


class Supervision:
    """One server under supervision, from its start to the removal of everything it left."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._deadline: float | None = None
        self._was_ready = False  # any of the servers so far
        self._draining = False
        self._failures = 0
        self._sources = [0]
        self._wake, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        os.umask(0o077)  # shared memory and logs hold what clients send, and are nobody else's to read
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.prctl(PR_SET_CHILD_SUBREAPER, 1)  # stubs of a killed server become ours to reap
        self._start()

    def run(self) -> int:
        """Watch until the last server has ended; returns its status as `subprocess` counts it."""
        while True:
            self._watch()
            status = self._clear()
            if not self._may_restart():
                shutil.rmtree(self._orders.root, ignore_errors=True)
                return status
            say(f"died {status}")
            if self._failures:
                time.sleep(FAILURE_PAUSE)
            self._start()

    def _start(self) -> None:
        self._ready = self._doomed = False
        self._stubs: list[int] = []  # descriptors that become readable when a stub ends
        self._most_stubs, self._lacking_since = 0, 0.0
        supervisor = os.getpid()
        for name in self._orders.sockets:
            Path(name).unlink(missing_ok=True)

        def prepare() -> None:
            self._libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != supervisor:
                os._exit(1)
            if self._orders.filter:
                install_filter(self._libc)
            _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, MOST_DESCRIPTORS), most))

        with Path(self._orders.log).open("ab") as log:
            self._server = subprocess.Popen(
                self._orders.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(self._orders.lock,),
                preexec_fn=prepare,  # noqa: PLW1509  # there are no other threads here
            )
        self._guard = fork_guard(self._server.pid)
        say(f"pid {self._server.pid}")

    def _watch(self) -> None:
        """Return when the server has ended, after whatever that took."""
        while not self._ended():
            if self._deadline is None:
                wait = 1.0
            elif (wait := self._deadline - time.monotonic()) <= 0:
                self._kill()
                wait = 1.0
            stubs = [] if self._ending() else self._stubs
            readable, _, _ = select.select([*self._sources, self._wake, *stubs], [], [], wait)
            if self._wake in readable and signal.SIGTERM in os.read(self._wake, 64):
                self._stop()
            if 0 in readable:
                self._obey(os.read(0, 4096))
            if os.getppid() != self._orders.parent:
                self._stop()
            if not self._ending() and (self._lacks_a_stub() or not set(self._stubs).isdisjoint(readable)):
                if not self._doomed:
                    self._log(
                        "a model process has died (killed for memory?), and Triton can't serve without it"
                    )
                self._doomed = True
                self._kill()
            self._limit_log()

    def _obey(self, orders: bytes) -> None:
        """Do what standard input says; its end means stop."""
        if not orders:
            self._sources.remove(0)
        words = orders.split() or [b"stop"]
        if b"kill" in words:
            self._stop()
            self._kill()
        elif b"stop" in words:
            self._stop()
        elif b"drain" in words:
            self._draining = True
        elif b"ready" in words:
            self._ready = self._was_ready = True
            self._failures = 0
            self._close_shared_memory()
            with contextlib.suppress(OSError, AttributeError):  # an old kernel: `_lacks_a_stub` sees it later
                self._stubs = [os.pidfd_open(pid) for pid in living_children(self._server.pid)]

    def _may_restart(self) -> bool:
        if not self._orders.restart or not self._was_ready or self._ending():
            return False
        self._failures += not self._ready
        return self._failures < MOST_FAILURES and os.getppid() == self._orders.parent

    def _lacks_a_stub(self) -> bool:
        """Whether fewer stubs than there once were have been alive for the whole grace period."""
        count = len(living_children(self._server.pid))
        self._most_stubs = max(self._most_stubs, count)
        if count == self._most_stubs:
            self._lacking_since = 0.0
            return False
        self._lacking_since = self._lacking_since or time.monotonic()
        return time.monotonic() - self._lacking_since > GRACE

    def _log(self, message: str) -> None:
        now = time.time()
        stamp = time.strftime("%m%d %H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1e6):06d}"
        with Path(self._orders.log).open("a", encoding="utf-8") as log:
            log.write(f"E{stamp} {os.getpid()} supervisor.py] {message}\n")

    def _ending(self) -> bool:
        return self._draining or self._deadline is not None

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

    def _clear(self) -> int:
        """Kill and reap what is left of the server and remove its shared memory; returns its status."""
        self._kill()
        os.kill(self._guard, signal.SIGKILL)
        status = self._server.wait()
        for descriptor in self._stubs:
            os.close(descriptor)
        until = time.monotonic() + 5
        with contextlib.suppress(ChildProcessError):
            while time.monotonic() < until:
                if os.waitpid(-1, os.WNOHANG) == (0, 0):
                    time.sleep(0.01)
        remove_shared_memory(Path(self._orders.root).name)
        return status

    def _close_shared_memory(self) -> None:
        """Close to others what the filter should have kept closed; a system without filters is told of in the log."""
        for region in regions(Path(self._orders.root).name):
            if region.stat().st_mode & 0o077:
                region.chmod(0o600)
                self._log(
                    f"{region} was open to other users while the server started: this system has no seccomp"
                )

    def _limit_log(self) -> None:
        """Move a log that has grown too large aside. The server's own descriptor appends, so it can be cut."""
        log = Path(self._orders.log)
        with contextlib.suppress(OSError):
            if log.is_file() and log.stat().st_size > self._orders.log_bytes:
                shutil.copyfile(log, log.with_name(f"{log.name}.1"))
                os.truncate(log, 0)


_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
PRIVATE_MEMORY = b"".join(
    struct.pack("HBBI", *each)  # the jumps count the instructions that are passed over
    for each in (
        (_LOAD, 0, 0, 4),  # of `struct seccomp_data`: the machine
        (_EQUAL, 0, 5, 0xC000003E),  # x86-64, where the bundled server runs
        (_LOAD, 0, 0, 0),  # the system call
        (_EQUAL, 0, 3, 91),  # fchmod
        (_LOAD, 0, 0, 24),  # its second argument, the mode
        (_ANY_BIT, 0, 1, 0o077),
        (_RETURN, 0, 0, 0x00050000 | errno.EPERM),
        (_RETURN, 0, 0, 0x7FFF0000),  # allow
    )
)
"""The filter of system calls that keeps a server's shared memory its user's own, in classic BPF.

Triton's Python backend makes its regions with `shm_open` and then sets their mode to 0644 with `fchmod`, so that
everybody on the machine could read the code that is being pruned, whatever the umask; it passes over an error. With
this filter `fchmod` fails with EPERM where it would open a file to anybody but its owner, so that the mode stays what
the umask left of it. A later `chmod` would come too late for who has opened the region before."""


def install_filter(libc: ctypes.CDLL) -> None:
    """Filter this process and all that it starts. A system without filters goes on without."""
    instructions = ctypes.create_string_buffer(PRIVATE_MEMORY, len(PRIVATE_MEMORY))
    head = struct.pack("HxxxxxxQ", len(PRIVATE_MEMORY) // 8, ctypes.addressof(instructions))
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    numbers = (SECCOMP, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW)
    libc.syscall(*numbers, ctypes.create_string_buffer(head, 16))


def regions(token: str) -> list[Path]:
    paths = []
    with contextlib.suppress(OSError), os.scandir(SHARED_MEMORY) as entries:
        for entry in entries:
            if entry.name.startswith(token):
                with contextlib.suppress(OSError):  # it goes meanwhile
                    status = entry.stat(follow_symlinks=False)
                    if status.st_uid == os.geteuid() and stat.S_ISREG(status.st_mode):
                        paths.append(Path(entry.path))
    return paths


def remove_shared_memory(token: str) -> None:
    for region in regions(token):
        with contextlib.suppress(OSError):
            region.unlink()


def fork_guard(server: int) -> int:
    """Fork a process that outlives us if it must, and kills what is left of the server's session when the server ends.

    If we are killed the kernel stops the server, but stubs of one that was loading would wait for it for ever."""
    guard = os.fork()
    if guard:
        return guard
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.closerange(0, MOST_DESCRIPTORS)
        with contextlib.suppress(OSError, AttributeError):  # an old kernel has no such descriptors
            select.select([os.pidfd_open(server)], [], [])
            os.killpg(server, signal.SIGKILL)
    finally:
        os._exit(0)


def living_children(pid: int) -> list[int]:
    """The child processes of `pid` that run; none where the kernel doesn't tell."""
    living = []
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread or a child that ended meanwhile
            for child in listed.read_text(encoding="ascii").split():
                with contextlib.suppress(OSError):
                    fields = Path(f"/proc/{child}/stat").read_text(encoding="utf-8", errors="replace")
                    if fields.rpartition(")")[2].split()[0] not in ("Z", "X"):
                        living.append(int(child))
    return living


def say(line: str) -> None:
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
