"""The HTTP port passes bounded requests on, and ends the others itself."""

from __future__ import annotations

import contextlib
import json
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from lamr_serving.errors import ServerStartError
from lamr_serving.launcher import http_gate
from lamr_serving.launcher.addresses import free_ports
from lamr_serving.launcher.http_api import HttpApi
from lamr_serving.launcher.http_gate import MOST_BYTES, MOST_CONNECTIONS, HttpGate

INFER = "/v2/models/lamr/infer"
BODY = json.dumps({"inputs": [{"name": "input_ids", "shape": [1, 2], "data": [1, 2]}]}).encode()


class Triton(BaseHTTPRequestHandler):
    """Stands for Triton's endpoint: it remembers what it is asked, and answers it."""

    seen: list[tuple[str, str, bytes, dict[str, str]]]

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.seen.append((self.command, self.path, body, dict(self.headers)))
        answer = b'{"name":"triton"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.send_header("Inference-Header-Content-Length", "5")
        self.send_header("X-Inner", "secret")
        self.end_headers()
        self.wfile.write(answer)

    def do_POST(self) -> None:
        self.do_GET()

    def address_string(self) -> str:
        return ""

    def log_message(self, *_: object) -> None:
        pass


class Gate:
    """A gate before such an endpoint.

    Attributes:
        port: where it listens.
        seen: the requests that were passed on.
    """

    def __init__(self, folder: Path) -> None:
        self.seen: list[tuple[str, str, bytes, dict[str, str]]] = []
        handler = type("Handler", (Triton,), {"seen": self.seen})
        self.inner = socketserver.ThreadingUnixStreamServer(str(folder / "s"), handler)
        self.inner.daemon_threads = True
        threading.Thread(target=self.inner.serve_forever, args=(0.01,), daemon=True).start()
        (self.port,) = free_ports("127.0.0.1", 1)
        self.gate = HttpGate("127.0.0.1", self.port, HttpApi(folder / "s"))

    def close(self) -> None:
        """End both."""
        self.gate.close()
        self.inner.shutdown()
        self.inner.server_close()

    def send(self, data: bytes, seconds: float = 10.0) -> bytes:
        """Send bytes and return the whole answer."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connection:
            with contextlib.suppress(ConnectionError):  # it answers before all is sent
                connection.sendall(data)
            answer = b""
            with contextlib.suppress(ConnectionError):
                while part := connection.recv(1 << 16):
                    answer += part
        return answer

    def ask(self, method: str, path: str, body: bytes = b"", *headers: str) -> tuple[int, bytes]:
        """Send a request and return the answer's status and body."""
        lines = [f"{method} {path} HTTP/1.1", "Host: x", *headers]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        head, _, answer = self.send("\r\n".join([*lines, "", ""]).encode() + body).partition(b"\r\n\r\n")
        return int(head.split()[1]), answer


@pytest.fixture
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gate]:
    with contextlib.closing(Gate(tmp_path_factory.mktemp("g"))) as made:
        yield made


@pytest.mark.parametrize(
    "path",
    ["/v2", "/v2/health/live", "/v2/health/ready", "/v2/models/stats", "/v2/models/lamr", "/v2/models/lamr/ready",
     "/v2/models/lamr/versions/1/config", "/v2/models/lamr_encoder/stats"],
)  # fmt: skip
def test_health_and_metadata_pass(gate: Gate, path: str) -> None:
    assert gate.ask("GET", path) == (200, b'{"name":"triton"}')
    assert [(method, asked, body) for method, asked, body, _ in gate.seen] == [("GET", path, b"")]


def test_an_inference_passes_with_what_belongs_to_it_and_nothing_else(gate: Gate) -> None:
    tensors = BODY + b"\x00\xff" * 10
    headers = (f"Inference-Header-Content-Length: {len(BODY)}", "X-Other: 1", "Accept-Encoding: gzip")
    assert gate.ask("POST", INFER, tensors, *headers)[0] == 200
    ((method, path, body, seen),) = gate.seen
    assert (method, path, body) == ("POST", INFER, tensors)
    assert seen["Inference-Header-Content-Length"] == str(len(BODY))
    assert not {"X-Other"} & seen.keys()
    assert seen["Accept-Encoding"] == "identity"
    answer = gate.send(b"GET /v2 HTTP/1.0\r\n\r\n")
    assert b"Inference-Header-Content-Length: 5" in answer
    assert b"X-Inner" not in answer


REFUSED = {
    "index": ("POST", "/v2/repository/index", b"{}", (), 404),
    "unload": ("POST", "/v2/repository/models/lamr/unload", b"{}", (), 404),
    "shared memory": ("POST", "/v2/systemsharedmemory/region/x/register", b"{}", (), 404),
    "shared memory status": ("GET", "/v2/systemsharedmemory/status", b"", (), 404),
    "logging": ("GET", "/v2/logging", b"", (), 404),
    "trace": ("POST", "/v2/models/lamr/trace/setting", b"{}", (), 404),
    "dots": ("GET", "/v2/x/../repository/index", b"", (), 404),
    "escapes": ("GET", "/v2/models/%2e%2e/config", b"", (), 404),
    "a query": ("GET", "/v2/health/ready?x", b"", (), 404),
    "an address": ("GET", "http://127.0.0.1/v2/health/ready", b"", (), 404),
    "another method": ("PUT", INFER, b"{}", (), 501),
    "a page": ("POST", INFER, BODY, ("Origin: http://evil.example",), 403),
    "compressed": ("POST", INFER, BODY, ("Content-Encoding: gzip",), 415),
    "deep": ("POST", INFER, b'{"inputs":' + b"[" * 1_000_000, (), 400),
    "deep before tensors": ("POST", INFER, b"[" * 200_000, ("Inference-Header-Content-Length: 200000",), 400),
    "no JSON": ("POST", INFER, b"{", (), 400),
    "tensors alone": ("POST", INFER, b"\0" * 8, ("Inference-Header-Content-Length: 0",), 400),
    "a header length that is none": ("POST", INFER, BODY, ("Inference-Header-Content-Length: -1",), 400),
    "UTF-16": ("POST", INFER, b"\xff\xfe[\0", (), 400),
    "no length": ("POST", INFER, b"", (), 411),
    "a negative length": ("POST", INFER, b"", ("Content-Length: -5",), 411),
    "a length with a sign": ("POST", INFER, b"", ("Content-Length: +5",), 411),
    "chunks": ("POST", INFER, b"", ("Transfer-Encoding: chunked",), 411),
    "chunks and a length": ("POST", INFER, BODY, ("Transfer-Encoding: chunked",), 411),
    "large": ("POST", INFER, b"", (f"Content-Length: {MOST_BYTES + 1}",), 413),
    "very large": ("POST", INFER, b"", ("Content-Length: 99999999999",), 413),
    "a long path": ("GET", "/v2/" + "x" * 70_000, b"", (), 414),
    "a long header": ("GET", "/v2", b"", ("X: " + "x" * 70_000,), 431),
    "many headers": ("GET", "/v2", b"", tuple(f"X{i}: 1" for i in range(300)), 431),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_never_reaches_the_server(gate: Gate, name: str) -> None:
    method, path, body, headers, status = REFUSED[name]
    assert gate.ask(method, path, body, *headers)[0] == status
    assert gate.seen == []
    assert gate.ask("GET", "/v2")[0] == 200


def test_very_many_chunks_are_refused_unread(gate: Gate) -> None:
    head = f"POST {INFER} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    answer = gate.send(head + b"1\r\n{\r\n" * 600_000 + b"0\r\n\r\n")
    assert not answer or b" 411 " in answer
    assert gate.seen == []


def test_a_body_that_does_not_come_is_given_up(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_gate, "RECEIVE_SECONDS", 0.3)
    head = f"POST {INFER} HTTP/1.1\r\nContent-Length: 100\r\n\r\n{{".encode()
    begin = time.monotonic()
    assert gate.send(head) == b""
    assert time.monotonic() - begin < 5
    assert gate.seen == []


def test_one_connection_too_many_is_closed_and_the_rest_answered(gate: Gate) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(MOST_CONNECTIONS):
            stack.enter_context(socket.create_connection(("127.0.0.1", gate.port))).sendall(b"GET /v2")
        until = time.monotonic() + 10
        while gate.send(b"GET /v2 HTTP/1.0\r\n\r\n") and time.monotonic() < until:
            time.sleep(0.01)  # the last of them isn't taken yet
        assert gate.send(b"GET /v2 HTTP/1.0\r\n\r\n") == b""
    until = time.monotonic() + 10
    while not gate.send(b"GET /v2 HTTP/1.0\r\n\r\n") and time.monotonic() < until:
        time.sleep(0.01)
    assert gate.ask("GET", "/v2")[0] == 200


def test_a_server_that_is_not_there_is_said(gate: Gate) -> None:
    gate.inner.shutdown()
    gate.inner.server_close()
    status, answer = gate.ask("GET", "/v2/health/ready")
    assert (status, json.loads(answer)) == (503, {"error": "the server is not there"})


def test_a_taken_port_is_an_error(gate: Gate, tmp_path: Path) -> None:
    with pytest.raises(ServerStartError, match=f"HTTP port {gate.port} on 127.0.0.1 can't be used"):
        HttpGate("127.0.0.1", gate.port, HttpApi(tmp_path / "s"))
