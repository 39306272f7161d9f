"""Starting and stopping the bundled Triton server on a model repository.

`TritonServer` is one running server as a context manager, and `serve` one in the foreground, as `lamr serve` runs it.
The module waits for readiness, turns failures into errors that say why, and drains a server before it stops. Processes
belong to `process` and `supervisor`, which also starts a server again when it has died."""

from __future__ import annotations

import contextlib
import http.client
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TextIO

from lamr_base.errors import visible
from lamr_model.names import ENSEMBLE, PERPLEXITY
from lamr_model.perplexity.causal_spec import CausalSpec
from lamr_model.spec import ModelSpec

from lamr_serving.errors import ServerStartError
from lamr_serving.launcher.bundle import find_bundle
from lamr_serving.launcher.process import ServedModel, ServerProcess, Witness, excerpt, port_was_taken
from lamr_serving.launcher.server_options import Addresses, ServerOptions, choose_addresses, ports_are_given
from lamr_serving.repository_check import check_repository

ATTEMPTS = 3
"""A free port may be taken before Triton binds it. And Triton's Python backend takes a model's process that a busy
machine leaves without CPU for a second for dead, and crashes while it clears up."""
POLL_SECONDS = 0.02
KILL_SECONDS = 10.0  # from SIGKILL until the kernel must have taken everything down


@dataclass(frozen=True)
class ServerInfo:
    """A server that runs."""

    name: str
    version: str
    models: tuple[ServedModel, ...]
    spec: ModelSpec | CausalSpec
    repository: Path
    addresses: Addresses

    def __str__(self) -> str:
        models = ", ".join(f"{model.name} {model.version} {model.state}".strip() for model in self.models)
        return (
            f"{self.name} {self.version} serves {self.spec.name} {self.spec.version} "
            f"({self.spec.fingerprint}) from {self.repository}\n"
            f"  models   {models}\n"
            f"  gRPC     {self.addresses.grpc}\n"
            f"  metrics  http://{self.addresses.metrics}/metrics"
        )


class TritonServer:
    """The bundled server on one model repository.

        with TritonServer(bundled_repository()) as server:
            client = Pruner(server=server.addresses.grpc)

    Args:
        repository: a model repository written by `lamr export`.
        options: its ports, limits and log; the defaults if None.

    Raises (from `start` and `with`):
        ModelRepositoryError: a file of the repository is missing, broken or doesn't belong there.
        ServerStartError: the server isn't installed, a port is taken, or Triton refused to start."""

    def __init__(self, repository: Path | str, options: ServerOptions | None = None) -> None:
        self.repository = Path(repository)
        self.options = options or ServerOptions()
        self._process: ServerProcess | None = None
        self._info: ServerInfo | None = None

    def start(
        self, cancelled: Callable[[], bool] = lambda: False, witness: Witness | None = None
    ) -> ServerInfo:
        """Start the server, and wait until every model is ready.

        Args:
            cancelled: says whether to give up; then the server is killed and `ServerStartError` is raised.
            witness: hears of the server's death and end."""
        witness = witness or Witness()
        if self._process is not None:
            raise ServerStartError("this server has been started already; make a new TritonServer")
        spec = check_repository(self.repository)
        bundle = find_bundle()
        for attempts_left in reversed(range(ATTEMPTS)):
            addresses = choose_addresses(self.options)
            process = ServerProcess(bundle, self.repository, self.options, addresses, witness)
            try:
                self._await_ready(process, cancelled)
                name, version = process.api.read_name()
                models = process.api.read_models()
            except BaseException as error:
                crashed = process.status is not None and process.status < 0
                process.order("kill")
                process.wait(KILL_SECONDS)
                written = process.log()
                process.close()
                if port_was_taken(written) and attempts_left and not ports_are_given(self.options):
                    continue
                if crashed and attempts_left and not cancelled():
                    witness.failed(process.status or 0)
                    continue
                if isinstance(error, OSError | http.client.HTTPException | ValueError):
                    raise ServerStartError(f"the server went away while it started: {error}") from error
                raise
            self._process = process
            self._info = ServerInfo(name, version, models, spec, self.repository, process.addresses)
            process.order("ready")
            return self._info
        raise AssertionError("unreachable: the last attempt returns or raises")

    def stop(self) -> int:
        """Stop the server, gracefully and then by force, and return its exit status. May be called again.

        Accepted requests are answered first. New ones are refused as if the server weren't there."""
        process = self._running()
        if process.status is None:
            self._drain(process)
            process.order("stop")
            if process.wait(self.options.stop_timeout + KILL_SECONDS) is None:
                process.order("kill")
                process.wait()
        process.close()
        assert process.status is not None
        return process.status

    def kill(self) -> None:
        """End the server at once, requests in flight included."""
        self._running().order("kill")

    def poll(self) -> int | None:
        """The exit status of a server that has ended; None while it runs."""
        return self._running().status

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait until the server ends by itself; the exit status, or None after `timeout` seconds."""
        return self._running().wait(timeout)

    def log(self) -> str:
        """The last 256 KiB of the server's log."""
        return self._running().log()

    @property
    def addresses(self) -> Addresses:
        return self._running().addresses

    @property
    def info(self) -> ServerInfo:
        self._running()
        assert self._info is not None
        return self._info

    @property
    def pid(self) -> int:
        """The process id of `tritonserver`. Its children are the models' processes."""
        return self._running().pid

    def __enter__(self) -> TritonServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _running(self) -> ServerProcess:
        if self._process is None:
            raise ServerStartError("the server has not been started; call start() or use `with`")
        return self._process

    def _await_ready(self, process: ServerProcess, cancelled: Callable[[], bool]) -> None:
        deadline = time.monotonic() + self.options.startup_timeout
        while not process.ended.wait(POLL_SECONDS):
            if process.api.is_ready():
                return
            if cancelled():
                raise ServerStartError("stopped while the server was starting")
            if time.monotonic() > deadline:
                raise ServerStartError(
                    f"the models of {self.repository} were not ready within {self.options.startup_timeout:g} s:\n"
                    f"{excerpt(process.log())}"
                )
        raise ServerStartError(
            f"Triton refused to serve {self.repository} ({describe(process.status)}):\n"
            f"{excerpt(process.log())}"
        )

    def _drain(self, process: ServerProcess) -> None:
        """Unload the models that requests come to, and wait until the accepted requests are answered.

        The wait ends after `stop_timeout`. On SIGTERM alone Triton would unload the models while requests still run
        through them."""
        deadline = time.monotonic() + self.options.stop_timeout
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):  # SIGTERM follows anyway
            entries = {each.name for each in process.api.read_models()} & {ENSEMBLE, PERPLEXITY}
            if PERPLEXITY in entries:  # it has a process of its own
                process.order("drain")
            for name in sorted(entries):
                process.api.unload(name)
            while time.monotonic() < deadline and not process.ended.wait(POLL_SECONDS):
                unloading = {each.name for each in process.api.read_models() if each.state == "UNLOADING"}
                if not unloading & entries:
                    return


def describe(status: int | None) -> str:
    if status is None:
        return "still running"
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


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
        ModelRepositoryError, ServerStartError: as `TritonServer`."""
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
    why = excerpt(server.log(), errors_only=True)
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
