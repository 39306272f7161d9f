"""Starting and stopping the bundled Triton server on a model repository.

`TritonServer` is one running server as a context manager. The module waits for readiness, turns failures into errors
that say why, and drains a server before it stops. Files are checked in `repository_check`, flags come from
`command_line`, and processes belong to `process` and `supervisor`, which also starts a server again when it has died.
"""

from __future__ import annotations

import contextlib
import http.client
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from lamr_model.names import ENSEMBLE, PERPLEXITY
from lamr_model.perplexity.causal_spec import CausalSpec
from lamr_model.spec import ModelSpec

from lamr_serving.errors import ServerStartError
from lamr_serving.launcher import http_api, log
from lamr_serving.launcher.addresses import Addresses, choose_addresses, ports_are_given
from lamr_serving.launcher.bundle import find_bundle
from lamr_serving.launcher.process import ServerProcess, Witness
from lamr_serving.launcher.server_options import ServerOptions
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
    models: tuple[http_api.ServedModel, ...]
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
        ServerStartError: the server isn't installed, a port is taken, or Triton refused to start.
    """

    def __init__(self, repository: Path | str, options: ServerOptions | None = None) -> None:
        self.repository = Path(repository)
        self.options = options or ServerOptions()
        self._process: ServerProcess | None = None
        self._info: ServerInfo | None = None

    def start(
        self,
        cancelled: Callable[[], bool] = lambda: False,
        witness: Witness | None = None,
    ) -> ServerInfo:
        """Start the server, and wait until every model is ready.

        Args:
            cancelled: says whether to give up; then the server is killed and `ServerStartError` is raised.
            witness: hears of the server's death and end.
        """
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
                process.kill()
                process.wait(KILL_SECONDS)
                written = process.log()
                process.close()
                if log.port_was_taken(written) and attempts_left and not ports_are_given(self.options):
                    continue
                if crashed and attempts_left and not cancelled():
                    witness.failed(process.status or 0)
                    continue
                if isinstance(error, OSError | http.client.HTTPException | ValueError):
                    raise ServerStartError(f"the server went away while it started: {error}") from error
                raise
            self._process = process
            self._info = ServerInfo(name, version, models, spec, self.repository, process.addresses)
            process.ready()
            return self._info
        raise AssertionError("unreachable: the last attempt returns or raises")

    def stop(self) -> int:
        """Stop the server, gracefully and then by force, and return its exit status. May be called again.

        Accepted requests are answered first. New ones are refused as if the server weren't there.
        """
        process = self._running()
        if process.status is None:
            self._drain(process)
            process.stop()
            if process.wait(self.options.stop_timeout + KILL_SECONDS) is None:
                process.kill()
                process.wait()
        process.close()
        assert process.status is not None
        return process.status

    def kill(self) -> None:
        """End the server at once, requests in flight included."""
        self._running().kill()

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
        """Where the server listens."""
        return self._running().addresses

    @property
    def info(self) -> ServerInfo:
        """What the server said about itself when it was ready."""
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
                    f"{log.excerpt(process.log())}"
                )
        raise ServerStartError(
            f"Triton refused to serve {self.repository} ({describe(process.status)}):\n"
            f"{log.excerpt(process.log())}"
        )

    def _drain(self, process: ServerProcess) -> None:
        """Unload the models that requests come to, and wait until the accepted requests are answered.

        The wait ends after `stop_timeout`. On SIGTERM alone Triton would unload the models while requests still run
        through them.
        """
        deadline = time.monotonic() + self.options.stop_timeout
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):  # SIGTERM follows anyway
            entries = {each.name for each in process.api.read_models()} & {ENSEMBLE, PERPLEXITY}
            if PERPLEXITY in entries:  # it has a process of its own
                process.drain()
            for name in sorted(entries):
                process.api.unload(name)
            while time.monotonic() < deadline and not process.ended.wait(POLL_SECONDS):
                unloading = {each.name for each in process.api.read_models() if each.state == "UNLOADING"}
                if not unloading & entries:
                    return


def describe(status: int | None) -> str:
    """An exit status in words."""
    if status is None:
        return "still running"
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"
