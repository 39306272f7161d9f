"""The few questions we put to Triton's HTTP endpoint while starting. Knows KServe v2 paths; keeps no connection."""

from __future__ import annotations

import contextlib
import http.client
import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ServedModel:
    """One entry of the server's repository index."""

    name: str
    version: str
    state: str


@dataclass(frozen=True)
class ServerMetadata:
    """What a server says of itself, and what it has loaded."""

    name: str
    version: str
    models: tuple[ServedModel, ...]


def is_ready(host: str, port: int, timeout: float = 1.0) -> bool:
    """Whether the server answers and every model is ready."""
    try:
        return _ask(host, port, "GET", "/v2/health/ready", timeout)[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def read_metadata(host: str, port: int, timeout: float = 5.0) -> ServerMetadata:
    """Name, version and models.

    Raises:
        OSError, http.client.HTTPException: it does not answer.
        ValueError: the answer isn't what a Triton server says.
    """
    server = _json(*_ask(host, port, "GET", "/v2", timeout))
    index = _json(*_ask(host, port, "POST", "/v2/repository/index", timeout))
    try:
        models = tuple(
            ServedModel(entry["name"], str(entry.get("version", "")), entry.get("state", ""))
            for entry in index
        )
        return ServerMetadata(server["name"], server["version"], models)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{host}:{port} does not answer as Triton does ({error})") from error


def _ask(host: str, port: int, method: str, path: str, timeout: float) -> tuple[int, bytes]:
    with contextlib.closing(http.client.HTTPConnection(host, port, timeout=timeout)) as connection:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.read()


def _json(status: int, body: bytes) -> Any:
    if status != 200:
        raise ValueError(f"HTTP status {status}: {body[:200]!r}")
    return json.loads(body)
