"""What an application is spared: bodies that are too large, and more requests at once than it can do.

An ASGI middleware; it knows sizes and counts, and nothing of what a request asks.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

RETRY_SECONDS = 1
_FREE = ("/health", "/metrics")
"""Paths that are answered however much there is to do."""


@dataclass(frozen=True)
class Limits:
    """The limits.

    Attributes:
        body: bytes of a request's body.
        requests: that are under way at once.
        seconds: for one request.
        stop_seconds: that requests under way are given when the server stops.
    """

    body: int = 8 << 20
    requests: int = 64
    seconds: float = 30.0
    stop_seconds: float = 10.0


class LimitMiddleware:
    """Answers 413 and 429 before the application sees a request.

    Attributes:
        under_way: the number of requests that count.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits
        self.under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http" or scope["path"] in _FREE:
            await self._app(scope, receive, send)
        elif _announced(scope) > self._limits.body:
            await _refuse(send, 413, self._too_large())
        elif self.under_way >= self._limits.requests:
            said = f"{self.under_way} requests are under way, which is the limit; try again later"
            await _refuse(send, 429, said)
        else:
            self.under_way += 1
            try:
                await self._bounded(scope, receive, send)
            finally:
                self.under_way -= 1

    async def _bounded(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body, which may announce no length, and hand it on whole."""
        parts: list[bytes] = []
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return  # the caller left
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            more = message.get("more_body", False)
            if size > self._limits.body:
                await _refuse(send, 413, self._too_large())
                return
        body: list[Message] = [{"type": "http.request", "body": b"".join(parts), "more_body": False}]

        async def replay() -> Message:
            return body.pop() if body else await receive()

        await self._app(scope, replay, send)

    def _too_large(self) -> str:
        return f"the body has more than {self._limits.body:,} bytes; send one file a request"


def _announced(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0


async def _refuse(send: Send, status: int, message: str) -> None:
    name = "OverloadedError" if status == 429 else "InvalidInputError"
    body = json.dumps({"error": name, "message": message, "facts": {}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers += [(b"retry-after", str(RETRY_SECONDS).encode())] if status == 429 else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
