"""A server's options with their defaults, and its addresses: given ports or free ones."""

import contextlib
import ipaddress
import socket
from dataclasses import dataclass
from pathlib import Path

from lamr_serving.errors import ServerStartError

MIB = 1 << 20
_LAST_PORT = 65_535


@dataclass(frozen=True)
class ServerOptions:
    """Options of a server; a `ServerStartError` for a number that makes no sense or a missing file for TLS."""

    host: str = "127.0.0.1"  # where the gRPC port is bound: loopback, because nothing is authenticated
    metrics_host: str | None = None  # where the metrics port is bound; None for loopback, whatever `host` is
    grpc_port: int | None = None  # None takes a free one
    metrics_port: int | None = (
        None  # None takes the port after a given `grpc_port` if it is free, or a free one
    )
    threads: int = 0  # the encoder's, where `config.pbtxt` leaves them open; 0 for all usable CPUs
    log_file: Path | None = None  # takes Triton's log; for None, a temporary file that failures quote
    verbosity: int = 0  # Triton's `--log-verbose`; 0 is quiet
    startup_timeout: float = 120.0  # seconds until the models must be ready
    stop_timeout: float = 30.0  # seconds that requests in flight get when the server stops; then it is killed
    restart: bool = False  # whether a server that dies by itself is started again at the same ports
    log_bytes: int = 64 * MIB  # size at which the log is moved to a file of its name plus ".1"
    tls_cert: Path | None = None  # PEM file of the gRPC port's certificate chain; None for no TLS
    tls_key: Path | None = None  # PEM file of its private key
    tls_client_ca: Path | None = None  # PEM file; only clients with a certificate that it signed are answered
    extra_arguments: tuple[str, ...] = ()  # for `tritonserver`; paths must be absolute

    def __post_init__(self) -> None:
        for name in ("startup_timeout", "stop_timeout", "log_bytes"):
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


@dataclass(frozen=True)
class Addresses:
    """A server's addresses."""

    host: str
    grpc_port: int
    metrics_port: int
    metrics_host: str

    @property
    def grpc(self) -> str:
        return join(self.host, self.grpc_port)

    @property
    def metrics(self) -> str:
        return join(self.metrics_host, self.metrics_port)


def choose_addresses(options: ServerOptions) -> Addresses:
    """The ports that the options give, after a check, and free ports for the others.

    With a gRPC port alone, metrics get the port after it if they can: their reader then finds them after a restart."""
    given = (options.grpc_port, options.metrics_port)
    if given[0] is not None and given[0] == given[1]:
        raise ServerStartError(f"gRPC and metrics need two different ports, not {given[0]} twice")
    host = _bare(options.host)
    metrics_host = _bare(options.metrics_host or loopback(host))
    for purpose, address, port in zip(("gRPC", "metrics"), (host, metrics_host), given, strict=True):
        if port is not None:
            check_free(address, port, purpose)
    grpc, metrics = given
    if grpc is not None and metrics is None and grpc < _LAST_PORT:
        with contextlib.suppress(ServerStartError):
            check_free(metrics_host, grpc + 1, "metrics")
            metrics = grpc + 1
    spare = iter([port for port in free_ports(host, 3) if port not in given])
    grpc, metrics = (next(spare) if port is None else port for port in (grpc, metrics))
    return Addresses(host, grpc, metrics, metrics_host)


def ports_are_given(options: ServerOptions) -> bool:
    return None not in (options.grpc_port, options.metrics_port)


def resolve(host: str, port: int) -> tuple[socket.AddressFamily, tuple[str, int]]:
    try:
        candidates = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise ServerStartError(
            f"host {host!r} does not resolve ({error}); give an address of this machine"
        ) from error
    family, _, _, _, address = candidates[0]
    return family, (str(address[0]), int(address[1]))


def check_free(host: str, port: int, purpose: str) -> None:
    """Refuse a port that something listens on, or that can't be bound."""
    family, address = resolve(host, port)
    with contextlib.closing(_listener(family)) as probe:
        try:
            probe.bind(address)
        except OSError as error:
            raise ServerStartError(
                f"{purpose} port {port} on {host} can't be used ({error.strerror}); "
                "choose another one or leave it out and a free one is taken"
            ) from error


def free_ports(host: str, count: int) -> list[int]:
    """`count` different ports that nothing listens on now.

    Another process may take one of them before the server binds it. The caller then starts again with new ones."""
    family, address = resolve(host, 0)
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(contextlib.closing(_listener(family))) for _ in range(count)]
        for probe in probes:
            probe.bind(address)
        return [int(probe.getsockname()[1]) for probe in probes]


def join(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _bare(host: str) -> str:
    """A host as sockets take it: an IPv6 address without the brackets that it has before a port."""
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def loopback(host: str) -> str:
    """`host` if it is a loopback address, else the one of its family."""
    family, (address, _) = resolve(host, 0)
    if ipaddress.ip_address(address.partition("%")[0]).is_loopback:
        return host
    return "::1" if family == socket.AF_INET6 else "127.0.0.1"


def _listener(family: socket.AddressFamily) -> socket.socket:
    probe = socket.socket(family, socket.SOCK_STREAM)
    # With this option, which servers set too, a port in TIME_WAIT is free and one with a listener isn't.
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return probe
