"""Which proxy is on the way to a server, by gRPC's variables; to this machine there is none."""

import socket
import threading

import pytest
from lamr_client import GrpcTransport, ServerUnavailableError
from lamr_client import triton_wire as wire
from lamr_client.connection import proxy_of
from lamr_client.deadline import Deadline

VARIABLES = ("grpc_proxy", "https_proxy", "http_proxy", "no_grpc_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def _without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


HTTP = {"http_proxy": "http://p:1"}
TOLD = "the proxy that http_proxy names (p:1)"
FAR = "prune.example:443"


@pytest.mark.parametrize(
    ("variables", "address", "told"),
    [
        ({}, FAR, ""),
        (HTTP, FAR, TOLD),
        ({**HTTP, "grpc_proxy": "http://g"}, FAR, "the proxy that grpc_proxy names (g)"),
        ({"http_proxy": "http://user:pass@p:1"}, "10.0.0.7:8001", TOLD),
        (HTTP, "localhost:8001", ""),
        (HTTP, "127.0.0.9:8001", ""),
        (HTTP, "[::1]:8001", ""),
        ({**HTTP, "no_proxy": "a.example, .example"}, FAR, ""),
        ({**HTTP, "no_proxy": "10.0.0.0/8"}, "10.0.0.7:8001", ""),
        ({**HTTP, "no_grpc_proxy": "x", "no_proxy": ".example"}, FAR, TOLD),
    ],
)
def test_what_is_on_the_way(monkeypatch: pytest.MonkeyPatch, variables, address: str, told: str) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert proxy_of(address) == told


def test_a_server_behind_a_dead_proxy_is_told_with_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://secret:word@127.0.0.1:9")

    class UnavailableError(Exception):
        def status(self) -> str:
            return "StatusCode.UNAVAILABLE"

    told = str(wire.error_of(UnavailableError("connection refused"), "prune.example:443", "lamr"))
    assert "https_proxy" in told
    assert "127.0.0.1:9" in told
    assert "no_proxy" in told
    assert "word" not in told
    assert "proxy" not in str(wire.error_of(UnavailableError("connection refused"), "127.0.0.1:443", "lamr"))


def test_calls_to_this_machine_go_past_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        met: list[bytes] = []

        def listen(at: socket.socket) -> None:
            connection, _ = at.accept()
            met.append(connection.recv(3))
            connection.close()

        threading.Thread(target=listen, args=(server,), daemon=True).start()
        transport = GrpcTransport(f"127.0.0.1:{server.getsockname()[1]}")
        with pytest.raises(ServerUnavailableError):
            transport.connect(Deadline(1.0))
        transport.close()
        assert met == [b"PRI"]  # how HTTP/2 begins; a proxy is asked for a tunnel with CONNECT
