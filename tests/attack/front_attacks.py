"""What strangers and tenants do to a front to be in others' way: each attack once, bounded to a few seconds.

The campaign tries each and looks after the others."""

import contextlib
import gzip
import time
from collections.abc import Callable
from dataclasses import replace

from hpack import Encoder
from lamr_serving.front.health_check import DATA, HEADERS, SETTINGS

from tests.attack.front_callers import (
    CONTINUATION,
    INFER,
    PING,
    PRIORITY,
    READY,
    RST_STREAM,
    WINDOW_UPDATE,
    Caller,
    frame_of,
    send_all,
    still_open,
)
from tests.attack.odd_requests import INFERENCES, NAME, TWO_READINGS, chunk, frame

HOLD = 2.0  # seconds that connections are held
SENDING = 1.5  # seconds that a flood lasts
MANY = 100  # connections
CALL = frame(NAME)
BOMB = frame(gzip.compress(NAME + bytes(20_000_000)), 1)

Attack = Callable[[Caller], str]


def held(first: Callable[[Caller], bytes]) -> Attack:
    """Many connections that begin like this and then say nothing."""

    def attack(caller: Caller) -> str:
        with caller.crowd(MANY, first(caller)) as connections:
            time.sleep(HOLD)
            return f"{still_open(connections)} of {MANY} stay for {HOLD:g} s"

    return attack


def flood(sent: Callable[[Caller], bytes]) -> Attack:
    """One connection, and as much of this as goes through."""

    def attack(caller: Caller) -> str:
        with caller.connect() as connection:
            return send_all(connection, caller.beginning() + sent(caller), SENDING)

    return attack


def stranger(attack: Attack) -> Attack:
    """The same by somebody whose key opens nothing."""
    return lambda caller: attack(replace(caller, key="lamr_unknown"))


def calls(caller: Caller, bodies: list[bytes], path: str = INFER) -> bytes:
    """Many calls on one connection."""
    return b"".join(caller.call(body, path, 2 * number + 1) for number, body in enumerate(bodies))


def resets(caller: Caller) -> bytes:
    """Calls that are given up as soon as they were made (CVE-2023-44487)."""
    given_up = frame_of(RST_STREAM, (8).to_bytes(4, "big"))
    one = [caller.call(chunk(200), INFER, 2 * n + 1) + given_up[:5] + (2 * n + 1).to_bytes(4, "big") + given_up[9:]
           for n in range(2_000)]  # fmt: skip
    return b"".join(one)


def continuations(caller: Caller) -> bytes:
    """Headers without an end (CVE-2024-27316)."""
    more = Encoder().encode([(f"x{n}", "y" * 50, True) for n in range(20)])
    return frame_of(HEADERS, more, 0, 1) + frame_of(CONTINUATION, more, 0, 1) * 20_000


def empty_headers(_: Caller) -> bytes:
    """Streams that begin with nothing."""
    return b"".join(frame_of(HEADERS, b"", 5, number) for number in range(1, 20_000, 2))


def table_bomb(caller: Caller) -> bytes:
    """A header of 4 kB in HPACK's table, and thousands of references to it."""
    encoder = Encoder()
    first = encoder.encode([(":method", "POST"), (":path", READY), (":scheme", "http"), ("x", "y" * 3_900)])
    return frame_of(HEADERS, first + encoder.encode([("x", "y" * 3_900)]) * 12_000, 5, 1)


def no_window(caller: Caller) -> bytes:
    """Calls whose answers the caller doesn't take."""
    closed = frame_of(SETTINGS, b"\0\4\0\0\0\0")
    return closed + calls(caller, [chunk(200)] * 50)


def overflow(caller: Caller) -> bytes:
    """A window that grows beyond its largest size."""
    grow = (0x7FFFFFFF).to_bytes(4, "big")
    return caller.call(CALL) + (frame_of(WINDOW_UPDATE, grow) + frame_of(WINDOW_UPDATE, grow, 0, 1)) * 1_000


def small_pieces(caller: Caller) -> bytes:
    """A message in frames of one byte."""
    body = chunk(300)
    head = Encoder().encode([(name, value, True) for name, value in caller.headers(INFER)])
    return frame_of(HEADERS, head, 4, 1) + b"".join(
        frame_of(DATA, body[n : n + 1], 0, 1) for n in range(len(body))
    )


def chunked(caller: Caller) -> bytes:
    """A message in chunks of one byte, and trailers, in HTTP/1.1."""
    head = caller.line(b"", INFER).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    return head + b"1\r\nx\r\n" * 60_000 + b"0\r\n" + b"X: y\r\n" * 50 + b"\r\n"


def pipelined(caller: Caller) -> bytes:
    """Many calls in HTTP/1.1 at once."""
    return caller.line(CALL) * 500


def one_line(sent: Callable[[Caller], bytes]) -> Attack:
    """One connection of HTTP/1.1, and as much of this as goes through."""

    def attack(caller: Caller) -> str:
        with caller.connect() as connection:
            return send_all(connection, sent(caller), SENDING)

    return attack


def storm(caller: Caller) -> str:
    """Connections that come and go."""
    count, end = 0, time.monotonic() + SENDING
    while time.monotonic() < end:
        with contextlib.suppress(OSError), caller.connect(caller.beginning() + caller.call(CALL)):
            count += 1
        time.sleep(0.002)
    return f"{count} connections"


ODD = [frame(NAME + each) for each in INFERENCES.values()] + [frame(each) for each in TWO_READINGS.values()]

CROWDS: dict[str, Attack] = {
    "silent connections": held(lambda _: b""),
    "connections of HTTP/2 without a call": held(Caller.beginning),
    "headers without an end": held(lambda _: b"POST /x HTTP/1.1\r\nHost: x\r\n"),
    "bodies without an end": held(lambda caller: caller.line(b"x", INFER).replace(b"h: 1\r", b"h: 50000\r")),
    "bodies without an end in HTTP/2": held(lambda caller: caller.beginning() + caller.call(b"\0", INFER, flags=4)),
    "refused calls, connections kept": stranger(held(lambda caller: caller.line(CALL))),
    "refused calls in HTTP/2, connections kept": stranger(
        held(lambda caller: caller.beginning() + caller.call(CALL))
    ),
    "a tenant's calls, connections kept": held(lambda caller: caller.beginning() + caller.call(CALL)),
    "connections that come and go": storm,
}  # fmt: skip
FLOODS: dict[str, Attack] = {
    "odd messages": flood(lambda caller: calls(caller, ODD * 10)),
    "compressed messages": flood(lambda caller: calls(caller, [BOMB] * 30)),
    "calls over the quota": flood(lambda caller: calls(caller, [chunk(300)] * 1_000)),
    "messages of 50 kB": flood(lambda caller: calls(caller, [chunk(6_000)] * 30)),
    "messages that are too large": flood(lambda caller: calls(caller, [chunk(60_000)] * 5)),
    "calls that aren't for clients": flood(
        lambda caller: calls(caller, [CALL] * 500, READY.replace("ModelReady", "RepositoryModelUnload"))
    ),
    "calls with an unknown key": stranger(flood(lambda caller: calls(caller, [CALL] * 500, READY))),
    "calls that are given up": flood(resets),
    "pings": flood(lambda _: frame_of(PING, bytes(8)) * 50_000),
    "settings": flood(lambda _: frame_of(SETTINGS, b"\0\4\0\1\0\0") * 50_000),
    "priorities": flood(lambda _: frame_of(PRIORITY, b"\0\0\0\0\1", 0, 3) * 50_000),
    "unknown frames": flood(lambda _: frame_of(0xFA, bytes(100), 0xFF, 1) * 20_000),
    "empty headers of new streams": flood(empty_headers),
    "continuations": flood(continuations),
    "a bomb in HPACK's table": flood(table_bomb),
    "empty data": flood(lambda caller: caller.call(b"", INFER, flags=4) + frame_of(DATA, b"", 0, 1) * 50_000),
    "a message in frames of a byte": flood(small_pieces),
    "answers that nobody takes": flood(no_window),
    "a window that overflows": flood(overflow),
    "a frame of 16 MB": flood(lambda _: frame_of(DATA, bytes(100_000), 0, 1, size=(1 << 24) - 1)),
    "chunks of a byte": one_line(chunked),
    "calls in a row in HTTP/1.1": one_line(pipelined),
}  # fmt: skip
ATTACKS = CROWDS | FLOODS
