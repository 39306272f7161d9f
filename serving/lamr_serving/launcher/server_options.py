"""What one can choose about a server: its ports, threads, log and time limits, each with its default.

What follows from them is in `addresses` and `command_line`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lamr_serving.errors import ServerStartError

MIB = 1 << 20


@dataclass(frozen=True)
class ServerOptions:
    """How to run a server.

    Attributes:
        host: the address that the gRPC port is bound to; the default is loopback, because nothing is authenticated.
        metrics_host: the address that the metrics port is bound to; for None it is loopback, whatever `host` is.
        grpc_port, metrics_port: TCP ports; for None a free one is taken.
        threads: CPU threads of the encoder where its `config.pbtxt` leaves the number open; 0 means all usable CPUs.
        log_file: the file that takes Triton's log; for None, a temporary file that failures are quoted from.
        verbosity: Triton's `--log-verbose`; 0 is quiet.
        startup_timeout: seconds until the models must be ready.
        stop_timeout: seconds that requests in flight get to finish when the server stops; then it is killed.
        restart: whether a server that dies by itself is started again at the same ports.
        log_bytes: the size at which the log is moved to a file of the same name with ".1" behind it.
        tls_cert, tls_key: PEM files of the gRPC port's certificate chain and of its private key; None serves without
            TLS. Metrics have none.
        tls_client_ca: a PEM file; only clients with a certificate that it signed are answered.
        extra_arguments: further arguments of `tritonserver`, passed on as they are. Paths in them must be absolute:
            the server stands in a folder of its own.

    Raises:
        ServerStartError: a number makes no sense, or a file for TLS isn't there.
    """

    host: str = "127.0.0.1"
    metrics_host: str | None = None
    grpc_port: int | None = None
    metrics_port: int | None = None
    threads: int = 0
    log_file: Path | None = None
    verbosity: int = 0
    startup_timeout: float = 120.0
    stop_timeout: float = 30.0
    restart: bool = False
    log_bytes: int = 64 * MIB
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None
    extra_arguments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in (
            "startup_timeout",
            "stop_timeout",
            "log_bytes",
        ):
            if getattr(self, name) <= 0:
                raise ServerStartError(f"{name} must be positive, not {getattr(self, name)}")
        if self.threads < 0 or self.verbosity < 0:
            raise ServerStartError("threads and verbosity can't be negative")
        self._check_tls()

    def _check_tls(self) -> None:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ServerStartError("TLS needs a certificate and its private key: give both")
        if self.tls_client_ca is not None and self.tls_cert is None:
            raise ServerStartError(
                "clients' certificates are asked for under TLS only: give tls_cert and tls_key"
            )
        for file in (self.tls_cert, self.tls_key, self.tls_client_ca):
            if file is not None and not file.is_file():
                raise ServerStartError(f"there is no file {file}")
