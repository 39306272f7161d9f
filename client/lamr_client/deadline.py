"""How long a call may still take, and when a failed one may be tried again.

Knows clocks and the error hierarchy; it sends nothing and sleeps nowhere.
"""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass

from lamr_contract.errors import DeadlineExceededError, OverloadedError, ServerError, ServerUnavailableError

# Inference changes nothing on the server, so asking again is safe even if the first request was under way. After a
# deadline there is no time left to ask in, and every other error would come again.
RETRYABLE = (ServerUnavailableError, OverloadedError)


class Deadline:
    """A point in time that the whole call must keep, retries included."""

    def __init__(self, timeout: float | None) -> None:
        """Start now; None and infinity never end."""
        self.timeout = timeout
        self._end = None if timeout is None or timeout == math.inf else time.monotonic() + timeout

    def remaining(self) -> float | None:
        """Seconds left, more than 0; None without an end.

        Raises:
            DeadlineExceededError: none are left.
        """
        if self._end is None:
            return None
        left = self._end - time.monotonic()
        if left <= 0:
            raise self.exceeded()
        return left

    def allows(self, seconds: float) -> bool:
        """Whether more than this is left."""
        return self._end is None or time.monotonic() + seconds < self._end

    def exceeded(self) -> DeadlineExceededError:
        """The error that says how long the caller would wait."""
        return DeadlineExceededError(
            f"no complete answer within {self.timeout:g} s; give more time (`timeout`) or ask about less code",
            timeout=self.timeout,
        )


@dataclass(frozen=True)
class Retry:
    """Exponential backoff with full jitter.

    Attributes:
        retries: attempts after the first; 0 for none.
        first, most: seconds, upper bounds of the first and of any pause.
    """

    retries: int = 2
    first: float = 0.1
    most: float = 2.0

    def pause(self, failures: int, error: ServerError, deadline: Deadline) -> float | None:
        """Seconds to wait before the next attempt, or None if there is none to be made.

        Args:
            failures: attempts that have failed, ≥ 1.
            error: of the last one.
            deadline: a pause that would outlast it is not made.
        """
        if failures > self.retries or not isinstance(error, RETRYABLE):
            return None
        bound = min(self.most, self.first * 2 ** (failures - 1))
        seconds = random.uniform(bound / 2, bound)
        deadline.remaining()
        return seconds if deadline.allows(seconds) else None
