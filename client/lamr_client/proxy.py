"""Through which proxy gRPC goes to a server: by its own variables and rules, but never to this machine itself.

gRPC reads these variables when a channel is made, and asks the proxy for a tunnel. This module reads them for messages,
and for what gRPC doesn't see to: calls to loopback, which a proxy elsewhere can't reach.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
from urllib.parse import urlsplit

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
