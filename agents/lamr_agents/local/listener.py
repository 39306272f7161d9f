"""The socket that hooks speak to: a thread for each connection, and none for other users' processes."""

from __future__ import annotations

import logging
import socketserver
from collections.abc import Callable
from typing import Any

from lamr_agents.thin import check_peer

_LOOK_SECONDS = 0.5
_log = logging.getLogger("lamr.agents")


class Listener(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """One thread a connection of the same user; others aren't heard.

    Args:
        path: of the socket.
        handle: answers a connection.
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

    def close(self) -> None:
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base's signature
        _log.exception("a connection broke off")
