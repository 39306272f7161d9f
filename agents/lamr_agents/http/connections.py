"""How long strangers may keep a connection of `lamr http` without asking, and how many there may be.

uvicorn bounds neither.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from lamr_agents.http.limits import Limits

HEADER_SECONDS = 10.0
"""For a request's line and headers, from the connection's beginning or the last answer's end."""
SEND_SECONDS = 30.0
"""That a client may take no byte of an answer."""
MOST_HEADER_BYTES = 16 << 10
SPARE_CONNECTIONS = 64
"""Beside those whose requests are answered."""
BACKLOG = 128
"""Connections that are accepted in one go, before there is time to end any: a process may have 1,024 in all."""
_FEW_PIECES, _LEAST_PIECE = 10_000, 256
"""Pieces of a body that may be as small as they like, and the bytes that each of more has in the mean."""


def server_options(limits: Limits) -> dict[str, Any]:
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

    Of too many connections the one is ended that has waited longest for its request to be whole.

    Args:
        most: connections at once.
        options: those of uvicorn's.
    """

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
        """Forget the connection."""
        for timer in (self._waits, self._sends):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
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
        """Go on sending."""
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

    def __init__(self, role: Any, most: int) -> None:
        super().__init__(role, most)
        self.begin_body()

    def begin_body(self) -> None:
        """Count from the beginning."""
        self._pieces = self._size = 0

    def next_event(self) -> Any:
        """See h11's."""
        event = super().next_event()
        if isinstance(event, h11.Data):
            self._pieces += 1
            self._size += len(event.data)
            if self._pieces > _FEW_PIECES and self._size < self._pieces * _LEAST_PIECE:
                raise h11.RemoteProtocolError("the body's chunks are too small")
        return event
