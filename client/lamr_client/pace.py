"""`Pace`: how long work takes on this machine, by what the last pieces of it took. Knows clocks and numbers only."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

_KEPT = 16
"""Measurements that count."""
_FRESH_SECONDS = 30.0
"""That a measurement counts: a server that was slow, or a machine that was busy, is tried again."""
_QUANTILE = 0.75
"""Of the measurements: what takes longer than usual now and then is no reason to stop early each time."""


class Pace:
    """Seconds for a unit of work, such as a token that is encoded. Safe to share between threads.

    The beginning of a piece of work costs something, too: so many units are added to each.
    """

    def __init__(
        self,
        overhead: float = 0.0,
        guess: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin without a measurement.

        Args:
            overhead: units that a piece of work costs beside its own.
            guess: seconds for a unit as long as nothing was measured; None where nobody knows.
            clock: seconds that never go back.
        """
        self._overhead, self._guess, self._clock = overhead, guess, clock
        self._measured: deque[tuple[float, float]] = deque(maxlen=_KEPT)  # when, and seconds for a unit

    def measured(self, units: float, seconds: float) -> None:
        """Take in what a piece of work took."""
        self._measured.append((self._clock(), seconds / max(units + self._overhead, 1.0)))

    def seconds(self, units: float) -> float | None:
        """Return the seconds that a piece of work will take; None where nobody knows."""
        begin = self._clock() - _FRESH_SECONDS
        fresh = sorted(pace for when, pace in tuple(self._measured) if when >= begin)
        each = fresh[int(_QUANTILE * (len(fresh) - 1) + 0.5)] if fresh else self._guess
        return None if each is None else each * (units + self._overhead)

    def fits(self, units: float, seconds: float | None) -> bool:
        """Return whether a piece of work ends within so many seconds, as far as anybody knows; None is no limit."""
        expected = self.seconds(units)
        return seconds is None or expected is None or expected <= seconds
