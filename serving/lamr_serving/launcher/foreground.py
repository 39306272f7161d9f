"""A server in the foreground, as `lamr serve` runs it: it serves until a signal stops it, and says what becomes of it.

How a server starts and stops is in `server`.
"""

from __future__ import annotations

import contextlib
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

from lamr_base.errors import visible

from lamr_serving.errors import ServerStartError
from lamr_serving.launcher import log
from lamr_serving.launcher.process import Witness
from lamr_serving.launcher.server import ServerInfo, TritonServer, describe
from lamr_serving.launcher.server_options import ServerOptions


def serve(
    repository: Path | str,
    options: ServerOptions | None = None,
    report: TextIO | None = None,
    on_ready: Callable[[ServerInfo], None] | None = None,
) -> int:
    """Serve until SIGINT or SIGTERM, then stop gracefully. A second signal kills. Call this from the main thread.

    Args:
        repository: a model repository written by `lamr export`.
        options: its ports, limits and log; the defaults if None.
        report: the stream that takes messages, of what is served and why it ended; standard error if None.
        on_ready: called once, when the models are ready.

    Returns:
        0 after a signal; the server's exit status (128 + signal) when it died by itself.

    Raises:
        ModelRepositoryError, ServerStartError: as `TritonServer`.
    """
    out = sys.stderr if report is None else report
    events: queue.SimpleQueue[int] = queue.SimpleQueue()  # a signal handler may call put() while get() waits
    signals: list[int] = []

    def remember(number: int, _: object) -> None:
        signals.append(number)
        events.put(number)

    server = TritonServer(repository, options)
    with _handlers(remember):
        try:
            info = server.start(
                cancelled=lambda: bool(signals),
                witness=Witness(
                    ended=lambda: events.put(0),
                    died=lambda status: _say(out, f"{_death(status, server)}\nIt is started again."),
                    failed=lambda status: _say(
                        out, f"the server died while it started ({describe(status)}). It is started again."
                    ),
                ),
            )
        except ServerStartError:
            if signals:
                _say(out, "stopped while starting")
                return 0
            raise
        try:
            _say(out, f"{info}\nStop with Ctrl-C or SIGTERM.")
            if on_ready is not None:
                on_ready(info)
            return _until_the_end(server, events, out)
        finally:
            server.stop()


def _until_the_end(server: TritonServer, events: queue.SimpleQueue[int], out: TextIO) -> int:
    if not _next_event(events, server):
        status = server.stop()
        _say(out, _death(status, server))
        return 128 - status if status < 0 else status or 1
    _say(out, "stopping; again to kill")
    stopper = threading.Thread(target=server.stop)
    stopper.start()
    if _next_event(events, server):
        server.kill()
    stopper.join()
    _say(out, "stopped")
    return 0


def _death(status: int, server: TritonServer) -> str:
    why = log.excerpt(server.log(), errors_only=True)
    return f"the server died ({describe(status)})" + (f":\n{why}" if why else "; its log doesn't say why")


@contextlib.contextmanager
def _handlers(handle: Callable[[int, object], None]) -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _next_event(events: queue.SimpleQueue[int], server: TritonServer) -> int:
    """The next signal, or 0 once the server has ended (an attempt that found its port taken has ended, too)."""
    while not (number := events.get()) and server.poll() is None:
        pass
    return number


def _say(out: TextIO, text: str) -> None:
    with contextlib.suppress(OSError):  # a closed terminal must not keep the server from stopping
        out.write(f"lamr: {visible(text, lines=True)}\n")
        out.flush()
