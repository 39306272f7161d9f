"""Where a server listens: the ports that were asked for, checked, and free ones for the others."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from dataclasses import dataclass

from lamr_serving.errors import ServerStartError
from lamr_serving.launcher.server_options import ServerOptions


@dataclass(frozen=True)
class Addresses:
    """Where a server listens."""

    host: str
    grpc_port: int
    metrics_port: int
    metrics_host: str

    @property
    def grpc(self) -> str:
        """`host:port` for clients."""
        return join(self.host, self.grpc_port)

    @property
    def metrics(self) -> str:
        """`host:port` where Prometheus reads `/metrics`."""
        return join(self.metrics_host, self.metrics_port)


def choose_addresses(options: ServerOptions) -> Addresses:
    """The ports that the options give, after a check, and free ports for the others.

    Raises:
        ServerStartError: a given port is taken or given twice.
    """
    given = (options.grpc_port, options.metrics_port)
    if given[0] is not None and given[0] == given[1]:
        raise ServerStartError(f"gRPC and metrics need two different ports, not {given[0]} twice")
    host = _bare(options.host)
    metrics_host = _bare(options.metrics_host or loopback(host))
    for purpose, address, port in zip(("gRPC", "metrics"), (host, metrics_host), given, strict=True):
        if port is not None:
            check_free(address, port, purpose)
    spare = iter([port for port in free_ports(host, 3) if port not in given])
    grpc, metrics = (next(spare) if port is None else port for port in given)
    return Addresses(host, grpc, metrics, metrics_host)


def ports_are_given(options: ServerOptions) -> bool:
    """Whether the options give every port."""
    return None not in (options.grpc_port, options.metrics_port)


def resolve(host: str, port: int) -> tuple[socket.AddressFamily, tuple[str, int]]:
    """The address family of `host`, and the pair to bind to."""
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

    Another process may take one of them before the server binds it. The caller then starts again with new ones.
    """
    family, address = resolve(host, 0)
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(contextlib.closing(_listener(family))) for _ in range(count)]
        for probe in probes:
            probe.bind(address)
        return [int(probe.getsockname()[1]) for probe in probes]


def join(host: str, port: int) -> str:
    """`host:port`, with brackets around an IPv6 address."""
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
