"""What opens a server, from the environment: every user of a machine can read its programs' arguments.

LAMR_API_KEY                  the key of a tenant
LAMR_CA                       a PEM file of the authorities that may have signed the server's certificate
LAMR_CERT, LAMR_CERT_KEY      PEM files of the client's certificate and its private key
"""

from __future__ import annotations

import os
from typing import TypedDict, cast

_VARIABLES = {"api_key": "LAMR_API_KEY", "ca": "LAMR_CA", "cert": "LAMR_CERT", "key": "LAMR_CERT_KEY"}
_FOR_TLS = ("ca", "cert", "key")


class Credentials(TypedDict, total=False):
    """Arguments of `Pruner` and `server_status`."""

    api_key: str
    ca: str
    cert: str
    key: str


def credentials(server: str | None) -> Credentials:
    """Return what the environment holds for a server, as arguments of `Pruner`; nothing without a server.

    Args:
        server: its address. Certificates are for https:// and are left out elsewhere.
    """
    if server is None:
        return {}
    names = [name for name in _VARIABLES if server.startswith("https://") or name not in _FOR_TLS]
    found = {name: os.environ[_VARIABLES[name]] for name in names if os.environ.get(_VARIABLES[name])}
    return cast(Credentials, found)
