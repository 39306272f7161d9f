"""Callers that mean harm at the front's port: honest ones are answered meanwhile, and HAProxy's memory doesn't grow."""

import os
import random
import socket
from contextlib import ExitStack, suppress

import psutil
from lamr_serving.front.health_check import DATA, HEADERS, PREFACE, SETTINGS

from .conftest import inference, stub_of

IDLE = 500
BURSTS = int(os.environ.get("LAMR_HOSTILE_BURSTS", "150"))  # half of them frames, six and a half on average
MIB = 1 << 20


def frames(chance: random.Random) -> bytes:
    """A valid beginning of HTTP/2, then frames of any kind, length, stream and content."""
    parts = [PREFACE, bytes([0, 0, 0, SETTINGS, 0, 0, 0, 0, 0])]
    for _ in range(chance.randrange(1, 12)):
        payload = chance.randbytes(chance.randrange(200))
        kind = chance.choice([DATA, HEADERS, SETTINGS, chance.randrange(256)])
        stream = chance.choice([0, 1, 3, chance.randrange(1 << 31)])
        length = chance.choice([len(payload), chance.randrange(1 << 24)])
        parts += [
            length.to_bytes(3, "big"),
            bytes([kind, chance.randrange(256)]),
            stream.to_bytes(4, "big"),
            payload,
        ]
    return b"".join(parts)


def test_honest_callers_are_answered_meanwhile(site, replica) -> None:
    site.write({"alice": ""})
    front = site.start()
    stub, alice = stub_of(site.channel()), site.metadata("alice")
    (worker,) = psutil.Process(front.pid).children()
    chance = random.Random(16)
    with ExitStack() as stack:

        def connect() -> socket.socket:
            return stack.enter_context(socket.create_connection(("127.0.0.1", site.port), timeout=20))

        for number in range(IDLE):  # say nothing, or the beginning of something
            connect().sendall((b"", PREFACE[:7], PREFACE, b"POST /x HTTP/1.1\r\nhost: a\r\n")[number % 4])
        stub.ModelInfer(inference(), metadata=alice, timeout=20)
        before = worker.memory_info().rss
        sent = 0
        for number in range(BURSTS):
            data = chance.randbytes(chance.randrange(1, 2000)) if number % 2 else frames(chance)
            with socket.create_connection(("127.0.0.1", site.port), timeout=20) as caller:
                with suppress(ConnectionError):  # HAProxy may have heard enough
                    caller.sendall(data)
                sent += len(data)
            if number % 15 == 0:
                stub.ModelInfer(inference(), metadata=alice, timeout=20)
        assert sent > 100_000
        stub.ModelInfer(inference(), metadata=alice, timeout=20)
        assert worker.is_running()
        assert worker.memory_info().rss - before < 64 * MIB
    assert len(replica.asked_with) == 2 + -(-BURSTS // 15)
