"""Requests to what a server answers over HTTP: its own port where it is asked for, and its metrics."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable

import psutil
from lamr_serving.launcher.addresses import free_ports

from tests.attack.case import Case
from tests.attack.place import Place
from tests.attack.served import SAME, served, shared

INFER = "/v2/models/lamr/infer"
CHUNKS = b"1\r\n{\r\n" * 600_000 + b"0\r\n\r\n"
REGISTER = b'{"key":"/x","offset":0,"byte_size":64}'
AFTER = "; then 200; the same server"


def sent(address: str, data: bytes, seconds: float = 20.0) -> str:
    """The status with which bytes are answered, or that the connection was closed."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=seconds) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(data)
        try:
            answer = connection.recv(300)
        except ConnectionError:
            answer = b""
        except TimeoutError:
            return "silence"
    return answer.split()[1].decode() if answer.startswith(b"HTTP") else "closed"


def http(
    method: str, path: str, body: bytes = b"", *headers: str, chunked: bytes = b""
) -> Callable[[Place], str]:
    def attempt(_: Place) -> str:
        server = shared()
        pid = server.triton.pid
        lines = [f"{method} {path} HTTP/1.1", "Host: x", *headers]
        lines.append("Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}")
        said = sent(server.http, "\r\n".join([*lines, "", ""]).encode() + body + chunked)
        return f"{said}; {server.after(pid)}"

    return attempt


def http_is_off(place: Place) -> str:
    with served(place) as server:
        kinds = {c.laddr.port for c in server.triton.net_connections("tcp") if c.status == psutil.CONN_LISTEN}
        wanted = {int(each.rpartition(":")[2]) for each in (server.grpc, server.metrics)}
        return f"http {server.http}; {'gRPC and metrics alone listen' if kinds == wanted else kinds}"


def vertex_is_off(place: Place) -> str:
    """A variable of the environment would open another port of Triton's, past all restrictions."""
    (port,) = free_ports("127.0.0.1", 1)
    with served(place, AIP_MODE="PREDICTION", AIP_HTTP_PORT=str(port)) as server:
        kinds = {c.laddr.port for c in server.triton.net_connections("tcp") if c.status == psutil.CONN_LISTEN}
        return "OPEN" if port in kinds or len(kinds) > 2 else "closed"


def only_grpc_leaves_loopback(place: Place) -> str:
    with served(place, "--host", "0.0.0.0") as server:
        there = {
            c.laddr.port for c in server.triton.net_connections("tcp")
            if c.status == psutil.CONN_LISTEN and not c.laddr.ip.startswith("127.")
        }  # fmt: skip
        return f"{['gRPC' if port == int(server.grpc.rpartition(':')[2]) else port for port in there]}"


def metrics_survive(data: bytes) -> Callable[[Place], str]:
    def attempt(_: Place) -> str:
        server = shared()
        pid = server.triton.pid
        said = sent(server.metrics, data, 10)
        answers = sent(server.metrics, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        return f"{said}; then {answers}; {'the same' if server.triton.pid == pid else 'another'} server"

    return attempt


CASES = (
    Case("http", "it is off unless asked for", http_is_off, "http None; gRPC and metrics alone listen", 15),
    Case("http", "Vertex AI's port stays closed", vertex_is_off, "closed", 15),
    Case("http", "gRPC alone leaves loopback", only_grpc_leaves_loopback, r"\['gRPC'\]", 15),
    Case("http", "a million brackets", http("POST", INFER, b'{"inputs":' + b"[" * 1_000_000), "400" + SAME),
    Case("http", "a million braces", http("POST", INFER, b'{"a":' * 600_000), "400" + SAME),
    Case("http", "600,000 chunks of a byte", http("POST", INFER, chunked=CHUNKS), "(411|closed)" + SAME),
    Case(
        "http",
        "chunks at a path of health",
        http("GET", "/v2/health/ready", chunked=CHUNKS),
        "(200|closed)" + SAME,
    ),
    Case("http", "4 GB announced", http("POST", INFER, b"", "Content-Length: 4294967297"), "413" + SAME),
    Case(
        "http", "a gzip bomb", http("POST", INFER, b"\x1f\x8b" * 99, "Content-Encoding: gzip"), "415" + SAME
    ),
    Case("http", "the model repository", http("POST", "/v2/repository/index", b"{}"), "404" + SAME),
    Case(
        "http",
        "the model repository by dots",
        http("POST", "/v2/models/../repository/index", b"{}"),
        "404" + SAME,
    ),
    Case(
        "http",
        "shared memory",
        http("POST", "/v2/systemsharedmemory/region/x/register", REGISTER),
        "404" + SAME,
    ),
    Case("http", "the log's file", http("POST", "/v2/logging", b'{"log_file":"x"}'), "404" + SAME),
    Case(
        "http", "a page of a browser", http("POST", INFER, b"{}", "Origin: http://evil.example"), "403" + SAME
    ),
    Case(
        "http",
        "a request in a request",
        http("POST", INFER, b"{}GET /v2/repository/index HTTP/1.1\r\n\r\n"),
        "400" + SAME,
    ),
    Case(
        "http",
        "metrics: 600,000 chunks",
        metrics_survive(b"POST /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS),
        ".*" + AFTER,
        15,
    ),
    Case(
        "http",
        "metrics: deep JSON",
        metrics_survive(
            b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" + b"[" * 1_000_000
        ),
        ".*" + AFTER,
        15,
    ),
    Case(
        "http",
        "metrics: another path",
        metrics_survive(b"GET /v2/repository/index HTTP/1.1\r\nHost: x\r\n\r\n"),
        "[24].*" + AFTER,
    ),
)
