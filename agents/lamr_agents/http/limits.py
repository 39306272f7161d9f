"""Limits of `lamr http` for requests and for connections, which uvicorn doesn't limit.

Two ASGI middlewares spare the application web pages of other places, bodies that are too large or too slow, and more
requests at once than it can do. A connection may be kept without asking for so long, and there may be so many of
them."""

import asyncio
import ipaddress
import re
import time
from collections.abc import Collection
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import h11
from lamr_base.errors import LamrError
from lamr_base.expressions import expression
from lamr_base.records import dataclass
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

RETRY_SECONDS = 1
_FREE = ("/health", "/livez", "/readyz", "/metrics")  # paths that are answered however much there is to do
_ERRORS = {403: "AccessDeniedError", 408: "DeadlineExceededError", 429: "OverloadedError"}
_HEADERS = {408: {"Connection": "close"}, 429: {"Retry-After": str(RETRY_SECONDS)}}
_HOST = expression(r"(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?", re.ASCII | re.IGNORECASE)  # `localhost/a` is none
BODY_SECONDS, BODY_RATE = 5.0, 16 << 10
"""A body has so many seconds, and one more for each so many bytes that came."""


@dataclass(frozen=True)
class HttpLimits:
    """The limits."""

    body: int = 8 << 20  # bytes of a request's body
    requests: int = 64  # most requests at once
    seconds: float = 30.0  # limit for one request, and for its body
    stop_seconds: float = 10.0  # time to finish requests when the server stops
    hosts: tuple[str, ...] = ()  # names beside those of loopback; 0.0.0.0 or :: stands for every address


class _RefusedError(LamrError):
    """A request isn't passed on, and its answer says why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        body = {"error": _ERRORS.get(status, "InvalidInputError"), "message": message, "facts": {}}
        self.answer = JSONResponse(body, status, _HEADERS.get(status))


class HostMiddleware:
    """Answers 403 to web pages of other places, before the application sees a request.

    A page may have its own name lead to this machine (DNS rebinding): such a request has that name as its `Host`."""

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self._app = app
        self._names = {"localhost", *map(str.lower, hosts)}
        self._any_address = not self._names.isdisjoint({"0.0.0.0", "::"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        host, origin = headers.get("host", ""), headers.get("origin", "")
        if host and not (_HOST.fullmatch(host) and self._is_here(f"//{host}", self._any_address)):
            why = f"{host!r:.80} isn't a name of this server; --allowed-host makes it one"
        elif origin.startswith(("http://", "https://", "null")) and not (
            (host and origin.endswith(f"://{host}")) or self._is_here(origin)
        ):
            why = f"{origin!r:.80} is a web page of another place, and those aren't answered"
        else:
            await self._app(scope, receive, send)
            return
        await _RefusedError(403, why).answer(scope, receive, send)

    def _is_here(self, url: str, any_address: bool = False) -> bool:
        try:
            host = urlsplit(url).hostname or ""
            return host in self._names or ipaddress.ip_address(host).is_loopback or any_address
        except ValueError:  # no address
            return False


class LimitMiddleware:
    """Answers 408, 413, 415 and 429 before the application sees a request."""

    def __init__(self, app: ASGIApp, limits: HttpLimits) -> None:
        self._app = app
        self._limits = limits
        self._under_way = 0  # requests with a whole body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _FREE:
            await self._app(scope, receive, send)
            return
        try:
            self._check(Headers(scope=scope))
            body = await self._read(receive)
            self._check_room()
        except _RefusedError as refused:
            await refused.answer(scope, receive, send)
            return
        if body is not None:
            self._under_way += 1
            try:
                await self._app(scope, _replaying(body, receive), send)
            finally:
                self._under_way -= 1

    def _check(self, headers: Headers) -> None:
        if encoding := headers.get("content-encoding"):
            said = (
                f"bodies aren't decoded, and this one is {encoding!r:.40}; send it without Content-Encoding"
            )
            raise _RefusedError(415, said)
        self._check_size(int(headers.get("content-length", 0)))
        self._check_room()

    def _check_size(self, size: int) -> None:
        if size > self._limits.body:
            raise _RefusedError(
                413, f"the body has more than {self._limits.body:,} bytes; send one file a request"
            )

    def _check_room(self) -> None:
        if self._under_way >= self._limits.requests:
            said = f"{self._under_way} requests are under way, which is the limit; try again later"
            raise _RefusedError(429, said)

    async def _read(self, receive: Receive) -> bytes | None:
        """Read the body, which may announce no length; None where the caller left."""
        parts: list[bytes] = []
        size, more, begin = 0, True, time.monotonic()
        while more:
            left = begin + min(self._limits.seconds, BODY_SECONDS + size / BODY_RATE) - time.monotonic()
            try:
                message = await asyncio.wait_for(receive(), max(left, 0.001))
            except asyncio.TimeoutError as error:
                took = time.monotonic() - begin
                said = f"the body came too slowly: {size:,} bytes in {took:.0f} s"
                raise _RefusedError(408, said) from error
            if message["type"] != "http.request":
                return None
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            more = message.get("more_body", False)
            self._check_size(size)
        return b"".join(parts)


def _replaying(body: bytes, receive: Receive) -> Receive:
    """Replays a whole body, then passes on what the caller sends."""
    whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return whole.pop() if whole else await receive()

    return replay


HEADER_SECONDS = 10.0
"""For a request's line and headers, from the connection's beginning or the last answer's end."""
SEND_SECONDS = 30.0  # limit for a client that reads no byte of an answer
MOST_HEADER_BYTES = 16 << 10
SPARE_CONNECTIONS = 64  # connections beyond those whose requests are answered
BACKLOG = 128
"""Connections that are accepted in one go, before there is time to end any: a process may have 1,024 in all."""
_FEW_PIECES, _LEAST_PIECE = 10_000, 256
"""Pieces of a body that may be as small as they like, and the bytes that each of more has in the mean."""


def server_options(limits: HttpLimits) -> dict[str, Any]:
    """Return the options of `uvicorn.run` for a server that strangers can't fill."""
    return {
        "http": partial(BoundedProtocol, most=limits.requests + SPARE_CONNECTIONS),
        "ws": "none",
        "backlog": BACKLOG,
        "timeout_graceful_shutdown": max(1, round(limits.stop_seconds)),
        "access_log": False,
    }


class BoundedProtocol(H11Protocol):
    """uvicorn's protocol, which ends connections that ask nothing, or take no answer.

    Of more than `most` connections the one is ended that has waited longest for its request to be whole."""

    def __init__(self, *, most: int, **options: Any) -> None:
        super().__init__(**options)
        self.conn: _CountingConnection = _CountingConnection(h11.SERVER, MOST_HEADER_BYTES)
        self._most = most
        self._since = self.loop.time()
        self._waits: asyncio.TimerHandle | None = None
        self._sends: asyncio.TimerHandle | None = None

    @property
    def is_answered(self) -> bool:
        """Whether there is a whole request, and not yet a whole answer."""
        return self._has_request and not self.cycle.more_body

    @property
    def _has_request(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: Any) -> None:
        """Make room for the connection, or end it."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) <= self._most:
            return
        waiting = (
            each for each in self.connections if isinstance(each, BoundedProtocol) and not each.is_answered
        )
        longest = min(waiting, key=lambda each: each._since)
        self.connections.discard(longest)  # else it would be taken again before it is lost
        longest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._waits, self._sends):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._since = self.loop.time()
        self._wait()
        self.conn.begin_body()
        super().on_response_complete()

    def shutdown(self) -> None:
        """End the connection as the server stops, unless its request is whole."""
        super().shutdown()
        if not self.is_answered:
            self.transport.close()

    def pause_writing(self) -> None:
        """Begin to wait for a client that takes no more."""
        super().pause_writing()
        self._sends = self.loop.call_later(SEND_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._sends is not None:
            self._sends.cancel()

    def _wait(self) -> None:
        if self._waits is not None:
            self._waits.cancel()
        self._waits = self.loop.call_later(HEADER_SECONDS, self._late)

    def _late(self) -> None:
        if not self._has_request:
            self.transport.abort()


class _CountingConnection(h11.Connection):
    """h11's connection, which refuses a body of many tiny chunks: each takes as long to read as some kB."""

    _pieces = _size = 0

    def begin_body(self) -> None:
        self._pieces = self._size = 0

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Data):
            self._pieces += 1
            self._size += len(event.data)
            if self._pieces > _FEW_PIECES and self._size < self._pieces * _LEAST_PIECE:
                raise h11.RemoteProtocolError("the body's chunks are too small")
        return event
