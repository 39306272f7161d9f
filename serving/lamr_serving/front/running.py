"""A front in the foreground, as `lamr front run` runs it: HAProxy is started, started again when it dies, and stopped.

What HAProxy is told is in `rendering`; changes at run time are in `control`."""

from __future__ import annotations

import collections
import contextlib
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sized
from pathlib import Path
from typing import IO, TextIO

from lamr_base.errors import visible

from lamr_serving.errors import FrontError, FrontNotRunningError, FrontStartError
from lamr_serving.front import die_with_parent, haproxy
from lamr_serving.front.control import POOL, VERSION_PREFIX, RunFolder, make_room, prepare
from lamr_serving.front.fleet import Fleet

# What it says at each start and reload, with a line for each tenant; and of a version's pool, whose servers follow
# those of the pool of all.
_ROUTINE = re.compile(rf"^\[NOTICE\]|Proxy \S+ stopped|Former worker|Server {VERSION_PREFIX}\S+ is (UP|DOWN)")
_PLAIN = (
    (re.compile(rf"Server {POOL}/(\S+) is UP\b.*"), r"replica \1 is ready"),
    (
        re.compile(rf'Server {POOL}/(\S+) is DOWN, reason: [^"]*info: "(.*?)(?: at step \d.*?)?".*'),
        r"replica \1 isn't ready: \2",
    ),
    (re.compile(rf"Server {POOL}/(\S+) is DOWN, reason: (.*?),.*"), r"replica \1 isn't ready: \2"),
    (
        re.compile(rf"backend '{VERSION_PREFIX}(\w+)' has no server available!"),
        r"no replica with the model \1 is ready; calls for it are refused until one is",
    ),
    (
        re.compile(rf"backend '{POOL}' has no server available!"),
        "no replica is ready; every call is refused until one is",
    ),
)
_SEVERITY = re.compile(r"^\[\w+\]\s+\(\d+\) : ")


def in_plain_words(line: str) -> str | None:
    """A line of HAProxy's standard error as people are to read it; None for what happens every day."""
    if _ROUTINE.search(line):
        return None
    text = _SEVERITY.sub("", line)
    for pattern, words in _PLAIN:
        if found := pattern.fullmatch(text):
            return found.expand(words)
    return line


START_SECONDS = 30.0
STEADY_SECONDS = 10.0  # a HAProxy that ran so long had started well
MOST_FAILURES = 5
FAILURE_PAUSE = 0.5
POLL_SECONDS = 0.05
CROWD_SECONDS = 0.5  # between two looks whether idle clients are in the way of others
ROOM_SECONDS = 10.0  # between two times that they are closed, which takes a new worker


class Front:
    """A running HAProxy, as a context manager.

    with Front(Path("tenants.toml")) as front:
        ..."""

    fleet: Fleet

    def __init__(
        self, tenants: Path, log: IO[bytes] | int | None = None, report: TextIO | None = None
    ) -> None:
        """Start nothing yet. `log` takes a line of JSON for each request, `report` what HAProxy says of replicas."""
        self._tenants = tenants
        self._log = log
        self._report = report or sys.stderr
        self._folder = RunFolder(tenants)
        self._stack = contextlib.ExitStack()
        self._process: subprocess.Popen[bytes] | None = None
        self._words: collections.deque[str] = collections.deque(maxlen=50)
        self._reader: threading.Thread | None = None
        self._stopping = False
        self._left = threading.Event()

    def __enter__(self) -> Front:
        self._folder.make()
        self._stack.enter_context(self._folder.held())
        try:
            self.fleet, generation = prepare(self._tenants, self._folder)
            self._folder.put_in_force(generation)
            self._folder.sweep()
            # Whoever starts a front anew finds nothing drained.
            self._folder.current.state_file.write_text("")
            self.start()
        except BaseException:
            self._stack.close()
            raise
        threading.Thread(target=self._keep_room, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._left.set()
        try:
            self.stop(graceful=False)
        finally:
            self._stack.close()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        _raise_descriptor_limit()
        self._words.clear()
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", die_with_parent.__file__, str(os.getpid())),
                str(haproxy.find_haproxy()),
                *("-W", "-S", f"{self._folder.current.master_socket},mode,600"),
                *("-f", str(self._folder.config)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.PIPE,
            start_new_session=True,  # a terminal's Ctrl-C reaches this process alone, which passes it on
        )
        self._reader = threading.Thread(target=self._relay, args=(self._process.stderr,), daemon=True)
        self._reader.start()
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None:
                self._reader.join(1)
                raise FrontStartError(
                    f"HAProxy ended at once:\n{haproxy.complaints(chr(10).join(self._words))}"
                )
            if time.monotonic() > deadline:
                self.stop(graceful=False)
                raise FrontStartError(f"HAProxy didn't answer within {START_SECONDS:g} s")
            time.sleep(POLL_SECONDS)

    def poll(self) -> int | None:
        assert self._process is not None
        return self._process.poll()

    def stop(self, *, graceful: bool) -> None:
        """Stop HAProxy: after the requests under way, or at once. May be called again."""
        if self._process is None or self._process.poll() is not None:
            return
        self._stopping = True
        self._process.send_signal(signal.SIGUSR1 if graceful else signal.SIGTERM)
        if not graceful:
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()

    def _answers(self) -> bool:
        assert self._process is not None
        with contextlib.suppress(FrontNotRunningError):
            if not (info := haproxy.ask(self._folder.current.master_socket, "show proc", 5)):
                return False
            # An admin socket that an earlier HAProxy left behind would refuse the connection.
            return str(self._process.pid) in info and "Pid:" in haproxy.ask(
                self._folder.current.admin_socket, "show info", 5
            )
        return False

    def _keep_room(self) -> None:
        """Have idle clients give way, for as long as the front runs."""
        pause = CROWD_SECONDS
        while not self._left.wait(pause):
            pause = CROWD_SECONDS
            with contextlib.suppress(FrontError):  # another time, then
                if not self._stopping and make_room(self._tenants):
                    pause = ROOM_SECONDS
                    _say(self._report, "many clients are connected: those that ask nothing are closed")

    def _relay(self, stream: IO[bytes]) -> None:
        for line in stream:
            text = line.decode(errors="replace").rstrip()
            self._words.append(text)
            if not self._stopping and (words := in_plain_words(text)) is not None:
                _say(self._report, words)


def run(tenants: Path, report: TextIO | None = None, on_ready: Callable[[Fleet], None] | None = None) -> int:
    """Run a front until SIGINT or SIGTERM, then let requests under way end. A second signal ends it at once.

    Call this from the main thread. HAProxy is started again when it dies."""
    out = report or sys.stderr
    signals: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    handlers = {number: signal.signal(number, lambda n, _: signals.append(n)) for number in numbers}
    try:
        with Front(tenants, report=out) as front:
            settings = front.fleet.settings
            scheme = "https" if settings.certificate else "http"
            _say(
                out,
                f"{_count(front.fleet.tenants, 'tenant')} at {scheme}://{settings.listen}, "
                f"{_count(front.fleet.replicas, 'replica')}; metrics at http://{settings.operations}/metrics\n"
                "Stop with Ctrl-C or SIGTERM.",
            )
            if on_ready is not None:
                on_ready(front.fleet)
            return _watch(front, signals, out)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _watch(front: Front, signals: list[int], out: TextIO) -> int:
    failures, begun, told = 0, time.monotonic(), 0
    while True:
        if len(signals) > told:
            told = len(signals)
            _say(out, "stopping" + " after the requests under way; again to stop at once" * (told == 1))
            front.stop(graceful=told == 1)
        if front.poll() is not None:
            if signals:
                _say(out, "stopped")
                return 0
            failures = 1 if time.monotonic() - begun > STEADY_SECONDS else failures + 1
            if failures > MOST_FAILURES:
                _say(out, "HAProxy dies again and again; giving up")
                return 1
            _say(out, f"HAProxy died (status {front.poll()}) and is started again")
            time.sleep(FAILURE_PAUSE * (failures > 1))
            begun = time.monotonic()
            with contextlib.suppress(FrontStartError):  # it counts as another death
                front.start()
        time.sleep(POLL_SECONDS)


def _raise_descriptor_limit() -> None:
    """Allow as many files as the hard limit does: each connection takes one, and each forwarded request up to four."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _count(things: Sized, name: str) -> str:
    return f"{len(things)} {name}" if len(things) == 1 else f"{len(things)} {name}s"


def _say(out: TextIO, text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # a closed terminal must not keep the front from stopping
        out.write("".join(f"lamr: {line}\n" for line in visible(text, lines=True).splitlines()))
        out.flush()
