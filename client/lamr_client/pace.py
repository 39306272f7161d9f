"""`Pace`: how long work takes on this machine, by what the last pieces of it took. Knows clocks and numbers only."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable

_KEPT = 16
"""Measurements that count."""
_FRESH_SECONDS = 30.0
"""That a measurement counts: a server that was slow, or a machine that was busy, is tried again."""
_QUIET_SECONDS = 2.0
"""Without a measurement, after which what was too slow of late is tried again, if it ever was quick enough."""
_OVER = 0.5
"""A measurement below this share of what was expected says that what made others slow is over."""
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
        self._best = math.inf

    def measured(self, units: float, seconds: float) -> None:
        """Take in what a piece of work took."""
        each = seconds / max(units + self._overhead, 1.0)
        expected = self._expected()
        if expected is not None and each < _OVER * expected:
            self._measured.clear()
        self._best = min(self._best, each)
        self._measured.append((self._clock(), each))

    def seconds(self, units: float) -> float | None:
        """Return the seconds that a piece of work will take; None where nobody knows."""
        each = self._expected()
        return None if each is None else each * (units + self._overhead)

    def fits(self, units: float, seconds: float | None) -> bool:
        """Return whether a piece of work ends within so many seconds, as far as anybody knows; None is no limit."""
        expected = self.seconds(units)
        return seconds is None or expected is None or expected <= seconds

    def is_worth_a_try(self, units: float, seconds: float) -> bool:
        """Return whether a piece of work that isn't expected to end within so many seconds might do so all the same.

        A server that is overloaded for a moment would otherwise be left alone for as long as the measurements count.
        """
        measured = tuple(self._measured)
        quiet = not measured or self._clock() - measured[-1][0] >= _QUIET_SECONDS
        return quiet and self._best * (units + self._overhead) <= seconds

    def may_end(self, units: float, seconds: float | None) -> bool:
        """Return whether a piece of work ends within so many seconds, as expected or as a try."""
        return self.fits(units, seconds) or (seconds is not None and self.is_worth_a_try(units, seconds))

    def _expected(self) -> float | None:
        """Return the seconds that a unit takes, by the measurements that count; None where nobody knows."""
        begin = self._clock() - _FRESH_SECONDS
        fresh = sorted(pace for when, pace in tuple(self._measured) if when >= begin)
        return fresh[int(_QUANTILE * (len(fresh) - 1) + 0.5)] if fresh else self._guess
