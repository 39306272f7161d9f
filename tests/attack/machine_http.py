"""What a server answers over HTTP: its metrics, and nothing else."""

import contextlib
import socket
from collections.abc import Callable
from functools import partial

import psutil
from lamr_serving.launcher.server_options import free_ports

from tests.attack.case import Case
from tests.attack.place import Place
from tests.attack.served import served, shared

CHUNKS = b"1\r\n{\r\n" * 600_000 + b"0\r\n\r\n"
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


def vertex_is_off(place: Place) -> str:
    """A variable of the environment would open another port of Triton's, past all restrictions."""
    (port,) = free_ports("127.0.0.1", 1)
    with served(place, AIP_MODE="PREDICTION", AIP_HTTP_PORT=str(port)) as server:
        kinds = {c.laddr.port for c in server.triton.net_connections("tcp") if c.status == psutil.CONN_LISTEN}
        return "OPEN" if port in kinds or len(kinds) > 2 else "closed"


def metrics_survive(data: bytes) -> Callable[[Place], str]:
    def attempt(_: Place) -> str:
        server = shared()
        pid = server.triton.pid
        said = sent(server.metrics, data, 10)
        answers = sent(server.metrics, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        return f"{said}; then {answers}; {'the same' if server.triton.pid == pid else 'another'} server"

    return attempt


_case = partial(Case, "http")
CASES = (
    _case("Vertex AI's port stays closed", vertex_is_off, "closed", 15),
    _case(
        "metrics: 600,000 chunks",
        metrics_survive(b"POST /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS),
        ".*" + AFTER,
        15,
    ),
    _case(
        "metrics: deep JSON",
        metrics_survive(
            b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" + b"[" * 1_000_000
        ),
        ".*" + AFTER,
        15,
    ),
    _case(
        "metrics: another path",
        metrics_survive(b"GET /v2/repository/index HTTP/1.1\r\nHost: x\r\n\r\n"),
        "[24].*" + AFTER,
    ),
)
