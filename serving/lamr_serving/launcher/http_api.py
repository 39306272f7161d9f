"""The few requests that a server gets at its HTTP endpoint while it starts and stops.

The endpoint is a socket in the server's own folder, which nobody but the server's user can enter.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path


@dataclass(frozen=True)
class ServedModel:
    """One entry of the server's repository index."""

    name: str
    version: str
    state: str


@dataclass(frozen=True)
class HttpApi:
    """One server's HTTP endpoint."""

    socket: Path

    def is_ready(self, timeout: float = 1.0) -> bool:
        """Whether the server answers and every model is ready."""
        try:
            self._ask("GET", "/v2/health/ready", timeout)
        except (OSError, http.client.HTTPException, ValueError):
            return False
        return True

    def read_name(self, timeout: float = 5.0) -> tuple[str, str]:
        """Ask for the server's name and version.

        Raises:
            OSError, http.client.HTTPException: the server does not answer.
            ValueError: the answer isn't what a Triton server says.
        """
        server = json.loads(self._ask("GET", "/v2", timeout))
        try:
            return server["name"], server["version"]
        except (KeyError, TypeError) as error:
            raise self._foreign(error) from error

    def read_models(self, timeout: float = 5.0) -> tuple[ServedModel, ...]:
        """Ask for the models and their states; those that were never loaded have none and are left out.

        It raises what `read_name` raises.
        """
        index = json.loads(self._ask("POST", "/v2/repository/index", timeout))
        try:
            return tuple(
                ServedModel(entry["name"], str(entry.get("version", "")), entry["state"])
                for entry in index
                if entry.get("state")
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise self._foreign(error) from error

    def unload(self, model: str, timeout: float = 5.0) -> None:
        """Make the server refuse new requests for a model. Its state is UNLOADING until the accepted ones are answered.

        It raises what `read_name` raises.
        """
        self._ask("POST", f"/v2/repository/models/{model}/unload", timeout)

    def _ask(self, method: str, path: str, timeout: float) -> bytes:
        """Send one request and return its answer's body; `timeout` is for each step."""
        with contextlib.closing(_Connection(self.socket, timeout)) as connection:
            connection.request(method, path)
            response = connection.getresponse()
            body = response.read()
        if response.status != HTTPStatus.OK:
            raise ValueError(f"HTTP status {response.status}: {body[:200]!r}")
        return body

    def _foreign(self, error: Exception) -> ValueError:
        return ValueError(f"{self.socket} does not answer as Triton does ({error})")


class _Connection(http.client.HTTPConnection):
    def __init__(self, file: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._file = file

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        # An address holds a hundred bytes; through a descriptor the folder's own name may be longer.
        folder = os.open(self._file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.sock.connect(f"/proc/self/fd/{folder}/{self._file.name}")
        finally:
            os.close(folder)
