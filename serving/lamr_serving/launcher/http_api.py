"""The few requests that a server gets at its HTTP endpoint while it starts and stops.

The module knows KServe v2 paths. It keeps no connection.
"""

from __future__ import annotations

import contextlib
import http.client
import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

KEY_HEADER = "lamr-key"


@dataclass(frozen=True)
class ServedModel:
    """One entry of the server's repository index."""

    name: str
    version: str
    state: str


@dataclass(frozen=True)
class ServerMetadata:
    """What a server says about itself, and the models that it has loaded."""

    name: str
    version: str
    models: tuple[ServedModel, ...]


@dataclass(frozen=True)
class HttpApi:
    """One server's HTTP endpoint.

    Attributes:
        host, port: where it listens.
        key: the value of the header `KEY_HEADER`, without which the server refuses requests about its models.
    """

    host: str
    port: int
    key: str = ""

    def is_ready(self, timeout: float = 1.0) -> bool:
        """Whether the server answers and every model is ready."""
        try:
            return self._ask("GET", "/v2/health/ready", timeout)[0] == HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False

    def read_metadata(self, timeout: float = 5.0) -> ServerMetadata:
        """Ask for the server's name, version and models.

        Raises:
            OSError, http.client.HTTPException: the server does not answer.
            ValueError: the answer isn't what a Triton server says.
        """
        server = _json(*self._ask("GET", "/v2", timeout))
        try:
            return ServerMetadata(server["name"], server["version"], self.read_models(timeout))
        except (KeyError, TypeError) as error:
            raise self._foreign(error) from error

    def read_models(self, timeout: float = 5.0) -> tuple[ServedModel, ...]:
        """Ask for the repository's models and their states. It raises what `read_metadata` raises."""
        index = _json(*self._ask("POST", "/v2/repository/index", timeout))
        try:
            return tuple(
                ServedModel(entry["name"], str(entry.get("version", "")), entry.get("state", ""))
                for entry in index
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise self._foreign(error) from error

    def unload(self, model: str, timeout: float = 5.0) -> None:
        """Make the server refuse new requests for a model. Its state is UNLOADING until the accepted ones are answered.

        It raises what `read_metadata` raises.
        """
        status, body = self._ask("POST", f"/v2/repository/models/{model}/unload", timeout)
        if status != HTTPStatus.OK:
            raise ValueError(f"HTTP status {status}: {body[:200]!r}")

    def _ask(self, method: str, path: str, timeout: float) -> tuple[int, bytes]:
        with contextlib.closing(
            http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        ) as connection:
            connection.request(method, path, headers={KEY_HEADER: self.key})
            response = connection.getresponse()
            return response.status, response.read()

    def _foreign(self, error: Exception) -> ValueError:
        return ValueError(f"{self.host}:{self.port} does not answer as Triton does ({error})")


def _json(status: int, body: bytes) -> Any:
    if status != HTTPStatus.OK:
        raise ValueError(f"HTTP status {status}: {body[:200]!r}")
    return json.loads(body)
