"""Where a server is, the proxy on the way there, and how a client proves who it is: an address, TLS, a key.

This module knows forms and files. It opens no connection, and what it prints never holds a key. gRPC reads the proxies
when a channel is made; they are read here for messages, and for what gRPC doesn't see to: calls to this
machine."""

import contextlib
import ipaddress
import os
from dataclasses import field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lamr_base.admission import key_metadata
from lamr_base.errors import InvalidInputError
from lamr_base.records import dataclass

_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")
_EXCEPTIONS = ("no_grpc_proxy", "no_proxy")


def is_loopback(address: str) -> bool:
    """Return whether `host:port` is this machine."""
    host = _host(address)
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def proxy_of(address: str) -> str:
    """Say which proxy the way to `host:port` leads through; empty where it leads through none."""
    variable = next((name for name in _PROXIES if os.environ.get(name)), None)
    if variable is None or is_loopback(address) or _is_excepted(_host(address)):
        return ""
    try:
        parts = urlsplit(os.environ[variable])
        where = f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
    except ValueError:
        where = "no address"
    return (
        f"the proxy that {variable} names ({where})"  # never with the password that may stand before the host
    )


def _is_excepted(host: str) -> bool:
    given = next((os.environ[name] for name in _EXCEPTIONS if os.environ.get(name)), "")
    entries = [entry.strip().lower() for entry in given.split(",") if entry.strip()]
    with contextlib.suppress(ValueError):
        own = ipaddress.ip_address(host)
        for entry in entries:
            with contextlib.suppress(ValueError):
                if own in ipaddress.ip_network(entry, strict=False):
                    return True
    return host.lower().endswith(tuple(entries))


def _host(address: str) -> str:
    return address.rpartition(":")[0].strip("[]")


PORTS = {"https": 443, "http": 80}
PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Connection:
    """A server's address, with what opens it.

    Attributes:
        address: `host:port`.
        tls: whether the connection is encrypted, and the server's certificate checked.
        api_key: sent with each call; None sends none.
        ca: a PEM file of the authorities that may have signed the server's certificate; None trusts gRPC's own list.
        cert, key: PEM files of the client's certificate chain and of its private key; both or none."""

    address: str
    tls: bool = False
    api_key: str | None = field(default=None, repr=False)
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    @property
    def metadata(self) -> dict[str, str]:
        """What travels with each call beside the message."""
        return key_metadata(self.api_key)

    def client_arguments(self) -> dict[str, Any]:
        """What tritonclient's `InferenceServerClient` takes of it."""
        files = {"root_certificates": self.ca, "private_key": self.key, "certificate_chain": self.cert}
        return {
            "url": self.address,
            "ssl": self.tls,
            **{name: str(file) for name, file in files.items() if file is not None},
        }


def parse_connection(
    server: str,
    *,
    api_key: str | None = None,
    ca: PathLike | None = None,
    cert: PathLike | None = None,
    key: PathLike | None = None,
) -> Connection:
    """Read a server's address and check what belongs to it.

    Args:
        server: `https://host`, `https://host:port`, or for connections without TLS `http://host:port` or `host:port`.
        api_key, ca, cert, key: see `Connection`.

    Raises:
        InvalidInputError: the address isn't one, a file can't be read, or a key would travel in the clear."""
    tls, address = _address(server)
    files = {
        name: _file(name, file)
        for name, file in (("ca", ca), ("cert", cert), ("key", key))
        if file is not None
    }
    if files and not tls:
        raise InvalidInputError(
            f"certificates are for https://, but the server is {server!r}", argument=next(iter(files))
        )
    if (cert is None) != (key is None):
        raise InvalidInputError(
            "a client's certificate and its private key go together; give both", argument="cert"
        )
    if api_key is not None:
        _check_key(api_key)
        if not tls and not is_loopback(address):
            raise InvalidInputError(
                f"the API key would travel unencrypted; write https://{address}", argument="server"
            )
    return Connection(address, tls, api_key, **files)


def _address(server: str) -> tuple[bool, str]:
    wrong = InvalidInputError(
        f"server must be host:port of a gRPC port, or https://host:port, not {server!r}", argument="server"
    )
    try:
        parts = urlsplit(server if "://" in server else f"http://{server}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise wrong from None
    if parts.scheme not in PORTS or not host or parts.path.strip("/") or parts.query or "@" in parts.netloc:
        raise wrong
    if port is None:
        if "://" not in server:
            raise wrong
        port = PORTS[parts.scheme]
    return parts.scheme == "https", f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _file(name: str, file: PathLike) -> Path:
    path = Path(file)
    try:
        with path.open("rb"):
            return path
    except OSError as error:
        raise InvalidInputError(f"{name}: {path}: {error.strerror}", argument=name) from error


def _check_key(api_key: str) -> None:
    if not api_key or not api_key.isascii() or any(not "!" <= letter <= "~" for letter in api_key):
        raise InvalidInputError(
            "the API key has characters that no key has (a line end, perhaps)", argument="api_key"
        )
