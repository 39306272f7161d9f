"""How long a call may still take, and when a failed one may be tried again.

This module knows clocks and errors; it sends nothing and never sleeps.
"""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass

from lamr_contract.errors import (
    DeadlineExceededError,
    OverloadedError,
    QuotaExceededError,
    ServerError,
    ServerUnavailableError,
)

# Inference changes nothing on the server, so asking again is safe even if the first request was under way. After a
# deadline there is no time left, and every other error would come again.
RETRYABLE = (ServerUnavailableError, OverloadedError)
MOST_QUOTA_SECONDS = 3600.0
"""That a call waits until a front lets it ask again, even one without an end."""


class Deadline:
    """A point in time that the whole call must keep, retries included."""

    def __init__(self, timeout: float | None) -> None:
        """Start the clock.

        Args:
            timeout: seconds; None and infinity never end.
        """
        self.timeout = timeout
        self._end = None if timeout is None or timeout == math.inf else time.monotonic() + timeout

    def remaining(self, failure: ServerError | None = None) -> float | None:
        """Return the seconds left, more than 0; None without an end.

        Args:
            failure: why the call has no answer yet, if that is known.

        Raises:
            ServerError: no time is left: `failure`, or else `DeadlineExceededError`.
        """
        if self._end is None:
            return None
        left = self._end - time.monotonic()
        if left <= 0:
            raise failure or self.exceeded()
        return left

    def seconds(self) -> float | None:
        """Return the seconds left, 0 or less where it is over; None without an end."""
        return None if self._end is None else self._end - time.monotonic()

    def earlier(self, spare: float = 0.0, most: float | None = None) -> Deadline:
        """Return a deadline that ends so many seconds earlier than this one.

        Args:
            spare: seconds.
            most: seconds from now that the new one ends in at the latest; None sets no such end.
        """
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
    """Exponential backoff with full jitter.

    Attributes:
        retries: attempts after the first; 0 for none.
        first: seconds that the first pause takes at the most.
        most: seconds that any pause takes at the most.
    """

    retries: int = 2
    first: float = 0.1
    most: float = 2.0

    def pause(self, failures: int, error: ServerError, deadline: Deadline) -> float | None:
        """Return the seconds to wait before the next attempt; None if there shall be none.

        Args:
            failures: how many attempts have failed, at least 1.
            error: the last attempt's error.
            deadline: the call's; there is no attempt after a pause that would outlast it.
        """
        if failures > self.retries or not isinstance(error, RETRYABLE):
            return None
        bound = min(self.most, self.first * 2 ** (failures - 1))
        seconds = random.uniform(bound / 2, bound)
        if isinstance(error, QuotaExceededError):
            if error.retry_after > MOST_QUOTA_SECONDS:
                return None
            seconds += error.retry_after  # and not all callers at the same moment
        return seconds if deadline.allows(seconds) else None
