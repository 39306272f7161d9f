"""The bytes of the health check are what a gRPC server understands, and its answers are told apart."""

import re
import socket

import pytest
from lamr_serving.front import health_check
from lamr_serving.front.rendering import SERVICE


@pytest.mark.parametrize(("ready", "good"), [(True, True), (False, False), (None, False)])
def test_the_call_is_answered_and_understood(replica, ready, good) -> None:
    replica.ready = ready
    received = b""
    with socket.create_connection(("127.0.0.1", replica.port), timeout=20) as connection:
        connection.sendall(bytes.fromhex(health_check.request(f"{SERVICE}ModelReady")))
        while not re.search(health_check.DECIDED, received.hex()):
            part = connection.recv(4096)
            assert part, received.hex()
            received += part
    assert bool(re.search(health_check.READY, received.hex())) is good
    assert bool(re.search(health_check.BAD, received.hex())) is not good
