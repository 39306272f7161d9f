"""What an application is spared: bodies that are too large or too slow, more requests at once than it can do, and those
of web pages.

An ASGI middleware; it knows sizes, counts and time, and nothing of what a request asks.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

RETRY_SECONDS = 1
_FREE = ("/health", "/livez", "/readyz", "/metrics")
"""Paths that are answered however much there is to do."""
_ERRORS = {403: "AccessDeniedError", 408: "DeadlineExceededError", 429: "OverloadedError"}
BODY_SECONDS, BODY_RATE = 5.0, 16 << 10
"""A body has so many seconds, and one more for each so many bytes that came."""


@dataclass(frozen=True)
class Limits:
    """The limits.

    Attributes:
        body: bytes of a request's body.
        requests: that are under way at once.
        seconds: for one request, and for its body to arrive.
        stop_seconds: that requests under way are given when the server stops.
    """

    body: int = 8 << 20
    requests: int = 64
    seconds: float = 30.0
    stop_seconds: float = 10.0


class LimitMiddleware:
    """Answers 403, 408, 413 and 429 before the application sees a request.

    Attributes:
        under_way: the number of requests that count, which are those with a whole body.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits
        self.under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http" or scope["path"] in _FREE:
            await self._app(scope, receive, send)
        elif (page := _page(scope)) is not None:
            await _refuse(
                send, 403, f"{page!r:.80} is a web page of another place, and those aren't answered"
            )
        elif _announced(scope) > self._limits.body:
            await _refuse(send, 413, self._too_large())
        elif self.under_way >= self._limits.requests:
            await self._overloaded(send)
        elif (body := await self._read(receive, send)) is None:
            pass
        elif self.under_way >= self._limits.requests:
            await self._overloaded(send)
        else:
            self.under_way += 1
            try:
                await self._app(scope, _replaying(body, receive), send)
            finally:
                self.under_way -= 1

    async def _read(self, receive: Receive, send: Send) -> bytes | None:
        """Read the body, which may announce no length; None where it was refused, or the caller left."""
        parts: list[bytes] = []
        size, more, begin = 0, True, time.monotonic()
        while more:
            left = begin + min(self._limits.seconds, BODY_SECONDS + size / BODY_RATE) - time.monotonic()
            try:
                message = await asyncio.wait_for(receive(), max(left, 0.001))
            except asyncio.TimeoutError:
                await _refuse(
                    send, 408, f"the body came too slowly: {size:,} bytes in {time.monotonic() - begin:.0f} s"
                )
                return None
            if message["type"] != "http.request":
                return None
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            more = message.get("more_body", False)
            if size > self._limits.body:
                await _refuse(send, 413, self._too_large())
                return None
        return b"".join(parts)

    async def _overloaded(self, send: Send) -> None:
        said = f"{self.under_way} requests are under way, which is the limit; try again later"
        await _refuse(send, 429, said)

    def _too_large(self) -> str:
        return f"the body has more than {self._limits.body:,} bytes; send one file a request"


def _replaying(body: bytes, receive: Receive) -> Receive:
    """What gives a whole body first, and then what the caller does."""
    whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return whole.pop() if whole else await receive()

    return replay


def _header(scope: Scope, wanted: bytes) -> bytes:
    return next((value for name, value in scope["headers"] if name == wanted), b"")


def _announced(scope: Scope) -> int:
    length = _header(scope, b"content-length")
    return int(length) if length.isdigit() else 0


def _page(scope: Scope) -> str | None:
    """The web page that asks, by its origin, unless it is this machine's: no other's may use what asks for no key."""
    origin = _header(scope, b"origin").decode("latin-1")
    if not origin or (origin != "null" and not origin.startswith(("http://", "https://"))):
        return None
    try:
        host = urlsplit(origin).hostname or ""
        return None if host == "localhost" or ipaddress.ip_address(host).is_loopback else origin
    except ValueError:
        return origin


async def _refuse(send: Send, status: int, message: str) -> None:
    name = _ERRORS.get(status, "InvalidInputError")
    body = json.dumps({"error": name, "message": message, "facts": {}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers += [(b"retry-after", str(RETRY_SECONDS).encode())] if status == 429 else []
    headers += [(b"connection", b"close")] if status == 408 else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
