"""Attempts at one thing until one of them succeeds: what counts of their failures, for threads and for event loops.

`Retry` and `Patience` say whether and when there is another attempt. Whoever makes the attempts loops and sleeps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from lamr_contract.errors import DeadlineExceededError, ServerError

from lamr_client.deadline import Deadline, Retry
from lamr_client.patience import Patience

Answer = TypeVar("Answer")


class Attempts:
    """The failures so far.

    Attributes:
        failure: the last one; None before the first. It is for `Deadline.remaining`.
    """

    def __init__(
        self, pauses: Retry | Patience, deadline: Deadline, gives_up: Callable[[], bool] = lambda: False
    ) -> None:
        """Begin without a failure.

        Args:
            pauses: when a failed attempt is made again.
            deadline: of all attempts.
            gives_up: whether nobody waits any more.
        """
        self._pauses, self._deadline, self._gives_up = pauses, deadline, gives_up
        self._failures = 0
        self.failure: ServerError | None = None

    def failed(self, error: ServerError) -> float:
        """Take in a failure, and return the seconds to wait before the next attempt.

        Raises:
            DeadlineExceededError: the first attempt had too little time.
            ServerError: there is no other attempt; that of the last one that ended before the time was over.
        """
        if isinstance(error, DeadlineExceededError):
            raise (self.failure or self._deadline.exceeded()) from error
        self._failures, self.failure = self._failures + 1, error
        if self._gives_up() or (pause := self._pauses.pause(self._failures, error, self._deadline)) is None:
            raise error
        return pause


def until_answered(ask: Callable[[ServerError | None], Answer], attempts: Attempts) -> Answer:
    """Return the answer of the first attempt that succeeds, from a thread; each is told of the last one's failure.

    Raises:
        ServerError: see `Attempts.failed`.
    """
    while True:
        try:
            return ask(attempts.failure)
        except ServerError as error:
            time.sleep(attempts.failed(error))
