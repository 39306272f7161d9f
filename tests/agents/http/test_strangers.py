"""What strangers do to `lamr http`: slow bodies, connections that ask nothing, floods, web pages of other places."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from lamr_agents.http import app, limits
from lamr_agents.http.limits import HttpLimits
from lamr_client import ServerUnavailableError

from tests.agents.http.test_http import CODE, QUERY, Site, site
from tests.processes import eventually

BODY = {"query": QUERY, "code": CODE}
SLOW = b"POST /v1/prune HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{"
CHUNKED = b"POST /v1/prune HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


@contextmanager
def stranger(served: Site, sends: bytes = b"") -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
        connection.sendall(sends)
        yield connection


def status_of(connection: socket.socket) -> str:
    """The status of the answer; `closed` where there is none."""
    try:
        answer = connection.recv(4096)
    except ConnectionResetError:
        return "closed"
    if not answer:
        return "closed"
    return answer.split(b" ")[1].decode() if answer.startswith(b"HTTP/") else "more"


def test_bodies_that_dont_come_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.5)
    with site(HttpLimits(requests=2)) as served, ExitStack() as held:
        slow = [held.enter_context(stranger(served, SLOW)) for _ in range(6)]
        for _ in range(3):
            assert served.post("/v1/prune", BODY)[0] == 200
        assert {status_of(each) for each in slow} == {"408"}


def test_a_body_that_comes_steadily_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.6)
    monkeypatch.setattr(limits, "BODY_RATE", 100)
    body = json.dumps(BODY).encode()
    with site() as served, stranger(served, SLOW.replace(b"5000", str(len(body)).encode())[:-1]) as steady:
        for begin in range(0, len(body), len(body) // 5 + 1):
            steady.sendall(body[begin : begin + len(body) // 5 + 1])
            time.sleep(0.2)
        assert status_of(steady) == "200"


def test_connections_that_ask_nothing_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HEADER_SECONDS", 0.4)
    with site() as served:
        for sends in (
            b"",
            b"GET /livez HTTP/1.1\r\nHost:",
            b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\nGET /",
        ):
            with stranger(served, sends) as idle:
                begin = time.monotonic()
                while status_of(idle) != "closed":
                    assert time.monotonic() - begin < 10


def test_of_too_many_connections_those_go_that_wait_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SPARE_CONNECTIONS", 4)
    with site(HttpLimits(requests=2)) as served, ExitStack() as held:
        idle = [held.enter_context(stranger(served, sends)) for sends in (b"", SLOW) * 10]
        assert served.post("/v1/prune", BODY)[0] == 200
        assert eventually(lambda: len(served.server.server_state.connections) <= 6)
        assert status_of(idle[0]) == "closed"


def test_a_client_that_takes_no_answer_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SEND_SECONDS", 0.3)
    body = json.dumps({"query": " ", "code": "y" * 7_900_000}).encode()  # which comes back as it is
    with site(HttpLimits(requests=1)) as served:
        whole = SLOW.replace(b"/v1", b"").replace(b"5000", str(len(body)).encode())[:-1] + body
        with stranger(served, whole):
            assert eventually(lambda: not served.server.server_state.connections)
        assert served.post("/v1/prune", BODY)[0] == 200


def test_a_server_that_stops_waits_for_no_body() -> None:
    with site(HttpLimits(stop_seconds=30)) as served:
        held = socket.create_connection(("127.0.0.1", served.port), timeout=20)
        held.sendall(SLOW)
        while not served.server.server_state.tasks:
            time.sleep(0.01)
        begin = time.monotonic()
    assert time.monotonic() - begin < 10
    held.close()


@pytest.mark.parametrize(
    ("sends", "status"),
    [
        (CHUNKED + b"1\r\nx\r\n" * 30_000 + b"0\r\n\r\n", "400"),
        (CHUNKED + b"1\r\nx\r\n" * 5_000 + b"0\r\n\r\n", "422"),
        (b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100_000, "400"),
        (b"GET /livez HTTP/1.1\r\nHost: localhost\r\n" + b"X: a\r\n" * 10_000 + b"\r\n", "200|400"),
        (SLOW.replace(b"5000", b"5\r\nContent-Length: 6"), "400"),
        (SLOW.replace(b"5000", b"4\r\nTransfer-Encoding: chunked")[:-1] + b"0\r\n\r\n", "422"),
        (SLOW.replace(b"5000", b"+5"), "400"),
        (SLOW.replace(b"5000", b"9" * 30), "400"),
        (SLOW.replace(b"5000", b"9" * 15), "413"),
        (SLOW.replace(b"1.1", b"1.0").replace(b"5000", b"1"), "422"),
        (b"GET /v1/show/%2e%2e%2f%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"),
        (b"GET /docs/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"),
        (b"GET /docs\r\n\r\n", "400"),
        (b"\x16\x03\x01\x02\x00" * 4, "400"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400|404"),
    ],
    ids=range(15),
)
def test_odd_requests_get_a_status(served: Site, sends: bytes, status: str) -> None:
    with stranger(served, sends) as connection:
        assert status_of(connection) in status.split("|")
    assert served.get("/livez") == "ok\n"


@pytest.fixture(scope="module")
def served() -> Iterator[Site]:
    with site() as running:
        yield running


@pytest.mark.parametrize(
    "body",
    [
        b'{"query": "a", "code": "b", "keep": [' + b"[]," * 300_000 + b"1]}",
        b"{" + b",".join(b'"a%d": 1' % n for n in range(200_000)) + b"}",
        b'{"query": "a", "texts": [' + b"[]," * 300_000 + b"1]}",
        b'{"query": "a", "documents": [' + b"{}," * 300_000 + b"{}]}",
        b'{"query": "a", "code": "b", "keep": ["(?:(?:a{1000}){1000}){1000}"]}',
        b'{"query": "a", "code": "b", "keep": ["' + b"(" * 20_000 + b'"]}',
        json.dumps({**BODY, "keep": ["(?=x)"]}).encode(),
        json.dumps({**BODY, "keep": ["x"] * 1000}).encode(),
    ],
    ids=range(8),
)
@pytest.mark.parametrize("path", ["/v1/prune", "/rerank", "/v1/rerank"])
def test_bodies_of_nothing_but_faults_get_a_short_answer(served: Site, path: str, body: bytes) -> None:
    begin = time.process_time()
    status, answer, _ = served.post(path, body)
    assert status == 422
    assert len(json.dumps(answer)) < 10_000
    assert "Value error" not in json.dumps(answer)
    assert time.process_time() - begin < 5


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://evil.example", 403),
        ("https://localhost.evil.example", 403),
        ("null", 403),
        ("http://[", 403),
        ("http://localhost:3000", 200),
        ("http://127.0.0.1", 200),
        ("vscode-webview://x", 200),
    ],
)
def test_web_pages_of_other_places_arent_answered(served: Site, origin: str, status: int) -> None:
    assert served.post("/v1/prune", BODY, {"Origin": origin})[0] == status


@pytest.mark.parametrize(
    ("host", "hosts", "status"),
    [
        ("evil.example", (), "403"),
        ("evil.example:8080", (), "403"),
        ("localhost.evil.example", (), "403"),
        ("localhost:8080", (), "200"),
        ("LOCALHOST", (), "200"),
        ("127.0.0.1:8080", (), "200"),
        ("[::1]:8080", (), "200"),
        ("[::1", (), "403"),
        ("[::1].evil.example", (), "403"),
        ("evil.example@localhost", (), "403"),
        ("localhost/evil.example", (), "403"),
        ("10.1.2.3", (), "403"),
        ("10.1.2.3", ("10.1.2.3",), "200"),
        ("10.1.2.3:80", ("0.0.0.0",), "200"),
        ("evil.example", ("0.0.0.0",), "403"),
        ("lamr.example:80", ("0.0.0.0", "Lamr.example"), "200"),
    ],
)
def test_names_of_other_places_arent_answered(host: str, hosts: tuple[str, ...], status: str) -> None:
    with site(HttpLimits(hosts=hosts)) as served:
        for path in ("/livez", "/metrics", "/openapi.json"):
            own_page = f"Origin: http://{host}\r\n"
            sends = f"GET {path} HTTP/1.0\r\nHost: {host}\r\n{own_page}\r\n"
            with stranger(served, sends.encode()) as asking:
                answer = b"".join(iter(lambda: asking.recv(4096), b"")).decode()
            assert answer.split()[1] == status
            assert ("--allowed-host" in answer) == (status == "403")


def test_a_program_that_names_no_host_is_answered(served: Site) -> None:
    with stranger(served, b"GET /livez HTTP/1.0\r\n\r\n") as asking:
        assert status_of(asking) == "200"


def test_a_dead_server_is_seen_by_those_who_ask_for_readiness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "KEPT_SECONDS", 0.0)
    asked: list[float] = []

    async def check(timeout: float) -> None:
        asked.append(timeout)
        raise ServerUnavailableError("10.0.0.1:1 \x1b[2J can't be reached")

    def ask(served: Site, path: str) -> tuple[int, Any]:
        with stranger(served, f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode()) as connection:
            answer = b"".join(iter(lambda: connection.recv(4096), b"")).decode()
        return int(answer.split()[1]), answer.partition("\r\n\r\n")[2]

    with site() as served:
        assert [ask(served, path)[0] for path in ("/livez", "/readyz", "/health")] == [200, 200, 200]
        monkeypatch.setattr(served.transport, "check", check)
        assert ask(served, "/livez")[0] == 200
        assert ask(served, "/readyz") == (
            503,
            "ServerUnavailableError: 10.0.0.1:1 \u241b[2J can't be reached\n",
        )
        status, body = ask(served, "/health")
        assert status == 503
        assert {**json.loads(body), "model": ""} == {
            "status": "unhealthy",
            "model_loaded": False,
            "model": "",
        }
        assert asked == [app.ASK_SECONDS] * 2
        monkeypatch.setattr(app, "KEPT_SECONDS", 60.0)
        for _ in range(5):
            assert ask(served, "/readyz")[0] == 503
        assert len(asked) == 3  # once for all of them
