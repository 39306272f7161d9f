"""Requests in HTTP/1.1 that two readers could read in two ways, with what the front must say of each."""

from tests.attack.front_callers import INFER, READY, Caller
from tests.attack.odd_requests import NAME, OTHER, frame, text

CALL, HIDDEN = frame(NAME), frame(text(1, OTHER))
BAD = "400"  # HAProxy's own answer, which ends the connection


def odd_lines(caller: Caller) -> dict[str, tuple[bytes, str]]:
    """By name, what is sent, and the statuses of HTTP and of gRPC that are answered, in their order."""
    plain, hidden = caller.line(CALL), caller.line(HIDDEN, INFER)
    size = b"Content-Length: 11\r\n"
    chunks = b"b\r\n" + CALL + b"\r\n0\r\n"

    def instead(headers: bytes, body: bytes = CALL) -> bytes:
        return plain.replace(size, headers)[: -len(CALL)] + body

    chunked = b"Transfer-Encoding: chunked\r\n"
    stranger = instead(chunked, chunks).replace(caller.key.encode(), b"wrong")
    return {
        "a length and chunks": (instead(chunked + size, chunks + b"\r\n" + hidden), "200 0"),
        "a call behind a call": (plain + hidden, "200 0 200 7"),
        "a body that is longer": (instead(b"Content-Length: 5\r\n"), "200 3 400"),
        "two lengths": (instead(size + b"Content-Length: 5\r\n"), BAD),
        "a length with a sign": (instead(b"Content-Length: +11\r\n"), BAD),
        "a hexadecimal length": (instead(b"Content-Length: 0xb\r\n"), BAD),
        "a negative length": (instead(b"Content-Length: -1\r\n"), BAD),
        "a length of 2^64 + 11": (instead(b"Content-Length: 18446744073709551627\r\n"), BAD),
        "chunks twice": (instead(chunked + b"Transfer-Encoding: identity\r\n", chunks + b"\r\n"), BAD),
        "unknown chunks": (instead(size + b"Transfer-Encoding: xchunked\r\n"), BAD),
        "compressed chunks": (instead(b"Transfer-Encoding: gzip, chunked\r\n", chunks + b"\r\n"), "422"),
        "a chunk of 2^68": (instead(chunked, b"f" * 17 + b"\r\n" + CALL), BAD),
        "a key in trailers": (
            stranger + b"Authorization: Bearer " + caller.key.encode() + b"\r\n\r\n",
            "200 16",
        ),
        "300 trailers": (instead(chunked, chunks + b"X: y\r\n" * 300 + b"\r\n"), BAD),
        "a folded header": (instead(size + b"X: a\r\n b: c\r\n"), "200 0"),
        "a NUL in a header": (instead(size + b"X: a\0b\r\n"), BAD),
        "a CR in a header": (instead(size + b"X: a\rb\r\n"), BAD),
        "a space before a colon": (instead(b"Content-Length : 11\r\n"), BAD),
        "200 headers": (instead(size + b"X: y\r\n" * 200), BAD),
        "CONNECT": (plain.replace(b"POST " + READY.encode(), b"CONNECT x:1"), BAD),
        "another host's path": (plain.replace(b"POST ", b"POST http://other"), BAD),
        "WebSocket": (instead(size + b"Connection: Upgrade\r\nUpgrade: websocket\r\n"), BAD),
        "HTTP/0.9": (b"POST " + READY.encode() + b"\r\n\r\n", BAD),
        "HTTP/1.10": (plain.replace(b"HTTP/1.1", b"HTTP/1.10"), BAD),
        "post": (plain.replace(b"POST", b"post"), "415"),
    }
