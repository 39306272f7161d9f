"""How long a transport goes on asking a server that doesn't answer: a restart takes seconds.

This module knows clocks; it sends nothing and never sleeps.
"""

from __future__ import annotations

import time

from lamr_contract.errors import ServerError, ServerUnavailableError

from lamr_client.deadline import Deadline

RESTART_SECONDS = 15.0  # a supervised server is back within two on an idle machine
FIRST_SECONDS = 3.0  # a server that was never reached may be starting; more likely the address is wrong
PAUSE_SECONDS = 0.1


class Patience:
    """Decides whether to ask again after a failed attempt to connect. Each transport has its own.

    Attributes:
        was_reached: whether the server ever answered.

    A server that was reached before is waited for longer than one that never was. Once the time is up, the server
    counts as gone, and every later attempt is the only one until the server is reached again.
    """

    def __init__(self) -> None:
        self.was_reached = False
        self._seconds = FIRST_SECONDS
        self._since: float | None = None

    def reached(self) -> None:
        """Note that the server answered."""
        self.was_reached = True
        self._seconds = RESTART_SECONDS
        self._since = None

    def pause(self, _failures: int, error: ServerError, deadline: Deadline) -> float | None:
        """See `Retry.pause`; only a server that is away is waited for."""
        if not isinstance(error, ServerUnavailableError):
            return None
        now = time.monotonic()
        if self._since is None:
            self._since = now
        if now - self._since >= self._seconds:
            self._seconds = 0.0
            return None
        return PAUSE_SECONDS if deadline.allows(PAUSE_SECONDS) else None
