"""Who may stay connected: refused strangers go, silent ones soon, and idle clients are never in the way of a call."""

import socket
import time
from contextlib import ExitStack, suppress

import pytest
from lamr_serving.front import control, rendering, running
from lamr_serving.front.health_check import PREFACE, SETTINGS
from lamr_serving.front.rendering import REFUSALS

from tests.attack.front_callers import READY, Caller, frame_of
from tests.attack.odd_requests import NAME, frame

from .conftest import inference, stub_of

CALL = frame(NAME)


def asked(site, key: str) -> bytes:
    """A call in HTTP/1.1, which HAProxy takes, too."""
    return Caller(("127.0.0.1", site.port), key).line(CALL)


def is_open(caller: socket.socket) -> bool:
    """Whether the other end hasn't closed it; what came is read."""
    caller.setblocking(False)
    with suppress(BlockingIOError):
        try:
            while caller.recv(1 << 16):
                pass
        except ConnectionError:
            pass
        return False
    return True


@pytest.fixture
def connect(site):
    with ExitStack() as stack:

        def connect(first: bytes = b"") -> socket.socket:
            caller = stack.enter_context(socket.create_connection(("127.0.0.1", site.port), timeout=20))
            caller.sendall(first)
            return caller

        yield connect


def test_who_shows_no_valid_key_goes(site, replica, connect) -> None:
    site.write({"alice": ""})
    site.start()
    stranger, tenant = connect(asked(site, "lamr_wrong")), connect(asked(site, site.keys["alice"]))
    assert b"grpc-status: 16" in stranger.recv(4096)
    site.until(lambda: not is_open(stranger))
    assert b"200 OK" in tenant.recv(4096)
    assert is_open(tenant)


def test_idle_clients_give_way(site, replica, connect, monkeypatch) -> None:
    monkeypatch.setattr(running, "CROWD_SECONDS", 0.05)
    site.write({"alice": ""}, "max_connections = 10\naddress_connections = 1000")
    site.start()
    stub, alice = stub_of(site.channel()), site.metadata("alice")
    replica.hold.clear()
    call = stub.ModelInfer.future(inference(), metadata=alice)
    site.until(lambda: bool(replica.asked_with))
    idle = [connect(asked(site, site.keys["alice"])) for _ in range(30)]
    idle += [connect(PREFACE + frame_of(SETTINGS)) for _ in range(30)]
    site.until(lambda: not any(map(is_open, idle)))
    replica.hold.set()
    assert call.result(20).outputs
    assert "those that ask nothing are closed" in site.report.getvalue()
    stub_of(site.channel()).ModelInfer(inference(), metadata=alice, timeout=20)


def test_an_address_has_its_part_of_the_places(site, replica, connect) -> None:
    site.write({"alice": ""}, "max_connections = 20\naddress_connections = 15")
    site.start()
    callers = []
    for _ in range(40):
        with suppress(ConnectionError):  # one too many may be closed before it is seen to be open
            callers.append(connect())
    site.until(lambda: sum(map(is_open, callers)) <= 15)
    (row,) = control.haproxy.read_statistics(control.RunFolder(site.file).current.admin_socket, "api 1 -1")
    assert int(row["dcon"]) >= 25


def test_all_places_idle_and_a_call_on_one_of_them_is_answered(site, replica, connect) -> None:
    site.write({"alice": ""}, "max_connections = 10\naddress_connections = 1000")
    site.start(wait=True)
    clients = [connect(asked(site, site.keys["alice"])) for _ in range(55)]
    for client in clients:
        assert b"200 OK" in client.recv(4096)
    begin = time.monotonic()
    clients[0].sendall(asked(site, site.keys["alice"]))
    assert b"200 OK" in clients[0].recv(4096)
    assert time.monotonic() - begin < 10


def test_an_address_that_is_refused_often_gets_no_more_answers(site, replica) -> None:
    site.write({"alice": ""})
    site.start()
    address = ("127.0.0.1", site.port)
    stranger, tenant = (
        Caller(address, "lamr_wrong", "127.0.0.3"),
        Caller(address, site.keys["alice"], "127.0.0.3"),
    )
    said = [stranger.ask(READY, CALL) for _ in range(REFUSALS + 5)]
    assert [each.get("grpc-status") for each in said] == ["16"] * REFUSALS + [None] * 5
    assert {each["ended"] for each in said[REFUSALS:]} == {"connection ended 11"}
    assert tenant.ask(READY, CALL)["grpc-status"] == "0"  # from the same address
    assert Caller(address, "lamr_wrong", "127.0.0.4").ask(READY, CALL)["grpc-status"] == "16"


@pytest.fixture
def impatient(monkeypatch):
    """Fronts that wait less long for who is silent."""
    monkeypatch.setattr(rendering, "SILENT_SECONDS", 2)


@pytest.mark.usefixtures("impatient")
def test_who_is_silent_goes_soon_within_tls_too(site, replica, authority, connect) -> None:
    issued = authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem
    issued.write_to_path(site.folder / "server.pem")
    site.write({"alice": ""}, 'certificate = "server.pem"')
    site.start()
    begin = time.monotonic()
    callers = [connect(), connect(b"\x16\x03\x01\x02\x00\x01")]
    site.until(lambda: not any(map(is_open, callers)))
    assert time.monotonic() - begin >= rendering.SILENT_SECONDS - 1


@pytest.mark.usefixtures("impatient")
def test_an_answer_may_take_longer_than_a_client_may_be_silent(site, replica) -> None:
    site.write({"alice": ""})
    site.start()
    replica.hold.clear()
    call = stub_of(site.channel()).ModelInfer.future(inference(), metadata=site.metadata("alice"))
    time.sleep(rendering.SILENT_SECONDS + 1)
    assert not call.done()
    replica.hold.set()
    assert call.result(20).outputs
