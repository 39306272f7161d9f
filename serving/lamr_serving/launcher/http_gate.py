"""The HTTP port of a server that was asked for one: bounded requests pass to its own endpoint, others end here.

Triton's HTTP server dies of a body in very many chunks and of very deep JSON, takes bodies of any size, and offers more
than strangers should have. So it listens where only this module reaches it, and what is passed on is of a listed path,
whole, small, not compressed and not deep. A connection carries one request.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import socketserver
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler

from lamr_serving.errors import ServerStartError
from lamr_serving.launcher.addresses import resolve
from lamr_serving.launcher.http_api import HttpApi

MOST_BYTES = 4 << 20
"""Of a body; the token ids of a long chunk take a tenth of it as JSON."""
MOST_CONNECTIONS = 64
RECEIVE_SECONDS = 30.0
"""Until the whole request must be there."""
ANSWER_SECONDS = 120.0
CLOSE_SECONDS = 0.1
"""At most, until it listens no longer."""
_MODEL = r"/v2/models/[\w.-]{1,100}(?:/versions/\d{1,9})?"
_PATHS = {
    "GET": re.compile(rf"/v2|/v2/health/(?:live|ready)|/v2/models/stats|{_MODEL}(?:/ready|/config|/stats)?"),
    "POST": re.compile(rf"{_MODEL}/infer"),
}
_JSON_BYTES = "Inference-Header-Content-Length"
_PASSED = ("Content-Type", _JSON_BYTES)


class HttpGate:
    """A listening port and the threads that answer at it, until it is closed.

    Args:
        host, port: where it listens.
        api: the server's own endpoint.

    Raises:
        ServerStartError: the port can't be used.
    """

    def __init__(self, host: str, port: int, api: HttpApi) -> None:
        family, address = resolve(host, port)
        try:
            self._server = _Server(family, address, api)
        except OSError as error:
            raise ServerStartError(f"HTTP port {port} on {host} can't be used ({error.strerror})") from error
        listening = threading.Thread(
            target=self._server.serve_forever, args=(CLOSE_SECONDS,), name="lamr-http-gate", daemon=True
        )
        listening.start()

    def close(self) -> None:
        """Listen no longer. May be called again."""
        self._server.shutdown()
        self._server.server_close()


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = MOST_CONNECTIONS

    def __init__(self, family: socket.AddressFamily, address: tuple[str, int], api: HttpApi) -> None:
        self.address_family = family
        self.api = api
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        super().__init__(address, _Handler)

    def verify_request(self, _request: object, _address: object) -> bool:
        return self._free.acquire(blocking=False)  # one too many is closed at once

    def process_request_thread(self, request: object, client_address: object) -> None:
        try:
            super().process_request_thread(request, client_address)  # type: ignore[arg-type]
        finally:
            self._free.release()

    def handle_error(self, _request: object, _address: object) -> None:
        """Say nothing: clients that go away are no news."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = RECEIVE_SECONDS
    protocol_version = "HTTP/1.0"
    server_version = "lamr"
    sys_version = ""

    def handle(self) -> None:
        # A client that sends a byte now and then would never run into a timeout of single reads.
        self._alarm = threading.Timer(RECEIVE_SECONDS, self._hang_up)
        self._alarm.daemon = True
        self._alarm.start()
        try:
            super().handle()
        finally:
            self._alarm.cancel()

    def do_GET(self) -> None:
        self._pass_on(None)

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if "Transfer-Encoding" in self.headers or not re.fullmatch(r"[0-9]{1,12}", length):
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "a body needs one Content-Length, and no chunks")
        elif int(length) > MOST_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body may have {MOST_BYTES:,} bytes")
        elif self._allowed():
            body = self.rfile.read(int(length))
            why = _wrong(body, self.headers.get(_JSON_BYTES))
            if len(body) < int(length):
                return  # who sent it is gone
            if why:
                self._refuse(HTTPStatus.BAD_REQUEST, why)
            else:
                self._pass_on(body)

    def _allowed(self) -> bool:
        wanted = _PATHS[self.command].fullmatch(self.path)
        if "Origin" in self.headers:
            self._refuse(HTTPStatus.FORBIDDEN, "pages of browsers aren't answered")
        elif "Content-Encoding" in self.headers:
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send the body uncompressed")
        elif not wanted:
            self._refuse(HTTPStatus.NOT_FOUND, "no such path here; there are health, metadata and inference")
        else:
            return True
        return False

    def _pass_on(self, body: bytes | None) -> None:
        if body is None and not self._allowed():
            return
        self._alarm.cancel()
        headers = {name: self.headers[name] for name in _PASSED if name in self.headers}
        try:
            answer = self.server.api.ask(self.command, self.path, ANSWER_SECONDS, body, headers)
        except TimeoutError:
            self._refuse(HTTPStatus.GATEWAY_TIMEOUT, "the server did not answer in time")
        except (OSError, http.client.HTTPException):
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "the server is not there")
        else:
            self._answer(
                answer.status, answer.body, {n: answer.headers[n] for n in _PASSED if n in answer.headers}
            )

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self._answer(status, json.dumps({"error": why}).encode(), {"Content-Type": "application/json"})

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body)), "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing; Triton's log has what matters."""

    def _hang_up(self) -> None:
        with contextlib.suppress(OSError):  # it has ended
            self.connection.shutdown(socket.SHUT_RDWR)


def _wrong(body: bytes, json_bytes: str | None) -> str:
    """What is wrong with a body that ends in tensors' bytes, if its length of JSON is given; nothing if all is well."""
    if json_bytes is not None and not re.fullmatch(r"[0-9]{1,12}", json_bytes):
        return f"{_JSON_BYTES} is no number"
    try:
        json.loads(body[: int(json_bytes)] if json_bytes is not None else body)
    except RecursionError:  # at about a thousand levels
        return "the JSON is too deep"
    except ValueError:
        return "the body is no JSON"
    return ""
