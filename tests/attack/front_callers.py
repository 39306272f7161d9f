"""Callers of a front as no library is one: frames of HTTP/2 and lines of HTTP/1.1 by hand. It knows no attack."""

import contextlib
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass

import h2.config
import h2.connection
import h2.events
from hpack import Encoder
from lamr_serving.front.health_check import DATA, HEADERS, PREFACE, SETTINGS

PRIORITY, RST_STREAM, PING, WINDOW_UPDATE, CONTINUATION = 2, 3, 6, 8, 9
READY = "/inference.GRPCInferenceService/ModelReady"
INFER = "/inference.GRPCInferenceService/ModelInfer"
SECONDS = 20.0


def frame_of(
    kind: int, payload: bytes = b"", flags: int = 0, stream: int = 0, size: int | None = None
) -> bytes:
    """A frame of HTTP/2, with the length that it has or says that it has."""
    length = len(payload) if size is None else size
    return length.to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


@dataclass(frozen=True)
class Caller:
    """Somebody who knows the front's address."""

    address: tuple[str, int]  # the front's host and port
    key: str  # an API key; whether it is right, the front says
    source: str = ""  # the address that its connections come from; "" is whatever the system takes

    def connect(self, first: bytes = b"") -> socket.socket:
        """Open a connection and send the first bytes."""
        source = (self.source, 0) if self.source else None
        connection = socket.create_connection(self.address, timeout=SECONDS, source_address=source)
        with contextlib.suppress(OSError):  # it may have been closed at once
            connection.sendall(first)
        return connection

    @contextlib.contextmanager
    def crowd(self, count: int, first: bytes = b"") -> Iterator[list[socket.socket]]:
        """Open many connections and hold them."""
        with contextlib.ExitStack() as stack:
            held = []
            for _ in range(count):
                with contextlib.suppress(OSError):
                    held.append(stack.enter_context(self.connect(first)))
            yield held

    def headers(self, path: str = READY, *more: tuple[str, str]) -> list[tuple[str, str]]:
        """The head of a call."""
        return [
            *((":method", "POST"), (":scheme", "http"), (":authority", "front"), (":path", path)),
            *(("content-type", "application/grpc"), ("te", "trailers")),
            *((("authorization", f"Bearer {self.key}"),) if self.key else ()),
            *more,
        ]

    def beginning(self) -> bytes:
        """What a connection of HTTP/2 begins with."""
        return PREFACE + frame_of(SETTINGS)

    def call(self, body: bytes, path: str = READY, stream: int = 1, flags: int = 5) -> bytes:
        """The frames of a call. HPACK's table is left as it is, so that calls may be put together at will."""
        head = Encoder().encode([(name, value, True) for name, value in self.headers(path)])
        return frame_of(HEADERS, head, 4, stream) + frame_of(DATA, body, flags & 1, stream)

    def line(self, body: bytes, path: str = READY, *more: str) -> bytes:
        """The same call in HTTP/1.1."""
        lines = [f"POST {path} HTTP/1.1", "Host: front", "Content-Type: application/grpc", "TE: trailers"]
        lines += [f"Authorization: Bearer {self.key}", f"Content-Length: {len(body)}", *more]
        return "\r\n".join([*lines, "", ""]).encode() + body

    def ask(
        self, path: str, body: bytes, *more: tuple[str, str], head: list[tuple[str, str]] | None = None
    ) -> dict[str, str]:
        """Call once on a connection of its own; the headers of the answer, or how it ended as `ended`."""
        rules = h2.config.H2Configuration(validate_outbound_headers=False, normalize_outbound_headers=False)
        state = h2.connection.H2Connection(rules)
        state.initiate_connection()
        state.send_headers(1, self.headers(path, *more) if head is None else head)
        for start in range(0, len(body), 16_384) or (0,):
            state.send_data(1, body[start : start + 16_384], end_stream=start + 16_384 >= len(body))
        found: dict[str, str] = {}
        with self.connect(state.data_to_send()) as connection:
            while not {"grpc-status", "ended"} & found.keys():
                try:
                    data = connection.recv(1 << 16)
                except OSError as error:
                    return found | {"ended": type(error).__name__}
                for event in state.receive_data(data) if data else ():
                    found |= _said(event)
                if not data:
                    found.setdefault("ended", "closed")
        return found


def _said(event: object) -> dict[str, str]:
    if isinstance(event, (h2.events.ResponseReceived, h2.events.TrailersReceived)):
        return {_text(name): _text(value) for name, value in event.headers}
    if isinstance(event, h2.events.StreamReset):
        return {"ended": f"stream reset {int(event.error_code)}"}
    if isinstance(event, h2.events.ConnectionTerminated):
        return {"ended": f"connection ended {int(event.error_code or 0)}"}
    return {"ended": "answered"} if isinstance(event, h2.events.StreamEnded) else {}


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")


def send_all(connection: socket.socket, data: bytes, seconds: float) -> str:
    """Send for so long as the other end takes it; read and forget what it says. Returns whether it stayed open."""
    view, end = memoryview(data), time.monotonic() + seconds
    connection.setblocking(False)
    while time.monotonic() < end:
        try:
            with contextlib.suppress(BlockingIOError):
                if not connection.recv(1 << 16):
                    return "closed"
            if not view:
                time.sleep(0.01)
                continue
            view = view[connection.send(view[:65_536]) :]
        except BlockingIOError:
            time.sleep(0.001)
        except OSError:
            return "closed"
    return "open"


def still_open(held: list[socket.socket]) -> int:
    """How many connections the other end hasn't closed; what came is read and forgotten."""
    return sum(map(_quiet, held))


def _quiet(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        while connection.recv(1 << 16):
            pass
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
