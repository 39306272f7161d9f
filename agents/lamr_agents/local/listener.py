"""The socket of the local server: a thread a connection, and no connection from another user.

`Turns` lets one call at a time through for each file of an agent: of two at once, the second is a second look.
"""

from __future__ import annotations

import logging
import socketserver
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from lamr_agents.thin import check_peer

_LOOK_SECONDS = 0.5
_log = logging.getLogger("lamr.agents")


class Listener(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Listens at a path and hands each connection to a function.

    Args:
        path: of the socket, which is made.
        handle: takes a connection; it is closed afterwards.
    """

    daemon_threads = True
    timeout = _LOOK_SECONDS
    request_queue_size = 64

    def __init__(self, path: str, handle: Callable[[Any], None]) -> None:
        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                handle(self.request)

        super().__init__(path, Handler)

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002 - the base's
        try:
            check_peer(request)
        except OSError as error:
            _log.warning("a call isn't heard: %s", error)
            return False
        return True

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base's signature
        _log.exception("a connection broke off")


class Turns:
    """Turns by key, for threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._taken: set[Hashable] = set()

    @contextmanager
    def of(self, key: Hashable, seconds: float) -> Iterator[None]:
        """Wait for the others of a key, at most so many seconds; a call that waited in vain goes on beside them."""
        with self._changed:
            alone = self._changed.wait_for(lambda: key not in self._taken, seconds)
            if alone:
                self._taken.add(key)
        try:
            yield
        finally:
            if alone:
                with self._changed:
                    self._taken.discard(key)
                    self._changed.notify_all()
