"""How long a call may still take, when a failed one is made again, and how long a server that is away is waited for.

This module knows clocks and errors; it sends nothing. `Retry` and `Patience` say whether and when there is another
attempt; whoever makes the attempts loops and sleeps."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from typing import TypeVar

from lamr_base.errors import (
    DeadlineExceededError,
    OverloadedError,
    QuotaExceededError,
    ServerError,
    ServerUnavailableError,
)
from lamr_base.records import dataclass

# Inference changes nothing on the server, so asking again is safe even if the first request was under way. After a
# deadline there is no time left, and every other error would come again.
RETRYABLE = (ServerUnavailableError, OverloadedError)
MOST_QUOTA_SECONDS = 3600.0
"""That a call waits until a front lets it ask again, even one without an end."""


class Deadline:
    """A point in time that the whole call must keep, retries included."""

    def __init__(self, timeout: float | None) -> None:
        """Start the clock. `timeout`: seconds; None and infinity never end."""
        self.timeout = timeout
        self._end = None if timeout is None or timeout == math.inf else time.monotonic() + timeout

    def remaining(self, failure: ServerError | None = None) -> float | None:
        """Return the seconds left, more than 0; None without an end. `failure`: why the call has no answer yet, if
        that is known. Raises `ServerError`: no time is left: `failure`, or else `DeadlineExceededError`."""
        if self._end is None:
            return None
        left = self._end - time.monotonic()
        if left <= 0:
            raise failure or self.exceeded()
        return left

    def seconds(self) -> float | None:
        """Return the seconds left, 0 or less where it is over; None without an end."""
        return None if self._end is None else self._end - time.monotonic()

    def moment(self, least: float) -> float:
        """Return when it ends, by `time.monotonic()`, but not before so many seconds from now."""
        return math.inf if self._end is None else max(self._end, time.monotonic() + least)

    def earlier(self, spare: float = 0.0, most: float | None = None) -> Deadline:
        """Return a deadline that ends so many seconds earlier than this one. `most`: seconds from now that the new
        one ends in at the latest; None sets no such end."""
        ends = [] if self._end is None else [self._end - spare]
        ends += [] if most is None else [time.monotonic() + most]
        sooner = Deadline(self.timeout)
        sooner._end = min(ends, default=None)
        return sooner

    def allows(self, seconds: float) -> bool:
        """Return whether more than so many seconds are left."""
        return self._end is None or time.monotonic() + seconds < self._end

    def exceeded(self) -> DeadlineExceededError:
        """Return the error that says how long the caller would wait."""
        return DeadlineExceededError(
            f"no complete answer within {self.timeout:g} s; give more time (`timeout`) or ask about less code",
            timeout=self.timeout,
        )


@dataclass(frozen=True)
class Retry:
    """Exponential backoff with full jitter."""

    retries: int = 2  # attempts after the first; 0 for none
    first: float = 0.1  # seconds that the first pause takes at the most
    most: float = 2.0  # seconds that any pause takes at the most

    def pause(self, failures: int, error: ServerError, deadline: Deadline) -> float | None:
        """Return the seconds to wait before the next attempt; None if there shall be none. `failures`: how many
        attempts have failed, at least 1. `deadline`: the call's; there is no attempt after a pause that would outlast
        it."""
        if failures > self.retries or not isinstance(error, RETRYABLE):
            return None
        bound = min(self.most, self.first * 2 ** (failures - 1))
        seconds = random.uniform(bound / 2, bound)
        if isinstance(error, QuotaExceededError):
            if error.retry_after > MOST_QUOTA_SECONDS:
                return None
            seconds += error.retry_after  # and not all callers at the same moment
        return seconds if deadline.allows(seconds) else None


RESTART_SECONDS = 15.0  # a supervised server is back within two on an idle machine
FIRST_SECONDS = 3.0  # a server that was never reached may be starting; more likely the address is wrong
PAUSE_SECONDS = 0.1


class Patience:
    """Decides whether to ask again after a failed attempt to connect. Each transport has its own.

    Attributes:
        was_reached: whether the server ever answered.

    A server that was reached before is waited for longer than one that never was. Once the time is up, the server
    counts as gone, and every later attempt is the only one until the server is reached again."""

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


Answer = TypeVar("Answer")


class Attempts:
    """The failures so far.

    Attributes:
        failure: the last one; None before the first. It is for `Deadline.remaining`."""

    def __init__(
        self, pauses: Retry | Patience, deadline: Deadline, gives_up: Callable[[], bool] = lambda: False
    ) -> None:
        """Begin without a failure.

        Args:
            pauses: when a failed attempt is made again.
            deadline: of all attempts.
            gives_up: whether nobody waits any more."""
        self._pauses, self._deadline, self._gives_up = pauses, deadline, gives_up
        self._failures = 0
        self.failure: ServerError | None = None

    def failed(self, error: ServerError) -> float:
        """Take in a failure, and return the seconds to wait before the next attempt. Raises `DeadlineExceededError`:
        the first attempt had too little time. Raises `ServerError`: there is no other attempt; that of the last one
        that ended before the time was over."""
        if isinstance(error, DeadlineExceededError):
            raise (self.failure or self._deadline.exceeded()) from error
        self._failures, self.failure = self._failures + 1, error
        if self._gives_up() or (pause := self._pauses.pause(self._failures, error, self._deadline)) is None:
            raise error
        return pause


def until_answered(ask: Callable[[ServerError | None], Answer], attempts: Attempts) -> Answer:
    """Return the answer of the first attempt that succeeds, from a thread; each is told of the last one's failure.
    Raises `ServerError`: see `Attempts.failed`."""
    while True:
        try:
            return ask(attempts.failure)
        except ServerError as error:
            time.sleep(attempts.failed(error))
