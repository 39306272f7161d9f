"""Which chunks are read next, those of which most is expected, and how long that takes by what the last ones took.

The module knows gains and paces; it sends nothing and knows no scores."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from lamr_model.encoding import Chunk
from numpy.typing import NDArray

from lamr_client.deadline import Deadline
from lamr_client.effort import SETTLED, TIME

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

    The beginning of a piece of work costs something, too: so many units are added to each."""

    def __init__(
        self,
        overhead: float = 0.0,
        guess: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin unmeasured: a piece costs `overhead` units beside its own, and until then a unit `guess` seconds."""
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

        A server that is overloaded for a moment would otherwise be left alone for as long as the measurements
        count."""
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


STEP_SECONDS = 0.25
"""That one call takes at the most, where more than one chunk travels in it: its answers tell what to read next."""

Work = Callable[[NDArray[np.int64]], float]
"""Gives what reading a chunk costs, in tokens, by its tokens."""
Gains = Callable[[NDArray[np.int64]], NDArray[np.float64]]
"""Gives what reading each of some chunks is expected to bring, float64 [C], by their places int64 [C]."""


class ReadingPlan:
    """Takes chunks in the order of what they promise, which is judged anew whenever twice as many were read."""

    def __init__(  # what there is to read, why, and what it costs
        self, chunks: Sequence[Chunk], gains: Gains, pace: Pace, deadline: Deadline, work: Work = len
    ) -> None:
        """Take no chunk yet; `gains` tells what reading some brings, by all that was read so far."""
        self._chunks, self._gains, self._pace, self._deadline = chunks, gains, pace, deadline
        self._work = work
        self._left = np.ones(len(chunks), np.bool_)
        self._read = 0
        self._judged_at: int | None = None
        self._order: list[int] = []
        self._why = ""

    @property
    def why(self) -> str:
        """Why not all were read, once there are no more; empty where all were.

        What was taken may have had no time left when its turn came."""
        return self._why or (TIME if self._read < len(self._chunks) else "")

    def answered(self) -> None:
        """Note that one more chunk was read."""
        self._read += 1

    def groups(self, most: int) -> Iterator[list[Chunk]]:
        """Yield the chunks of one call after another, each chosen when it is asked for."""
        while self._left.any():
            self.judge()
            if not self._order:
                self._why = SETTLED
                return
            if not (group := self._next(most)):
                self._why = TIME
                return
            yield group

    def judge(self) -> None:
        """Put what is left into its order, if enough was read since that was last done."""
        if self._judged_at is None or self._read >= max(1, 2 * self._judged_at):
            self._judged_at = self._read
            places = np.flatnonzero(self._left)
            gains = self._gains(places)
            ranked = places[np.argsort(-gains, kind="stable")]
            self._order = ranked[: np.count_nonzero(gains > 0)].tolist()

    def _next(self, most: int) -> list[Chunk]:
        """Return the best chunks for which there is time; none where there is time for none."""
        left = self._deadline.seconds()
        step = STEP_SECONDS if left is None else min(left, STEP_SECONDS)
        known = self._pace.seconds(1) is not None
        group: list[Chunk] = []
        tokens = 0.0
        for place in self._order:
            chunk = self._chunks[place]
            tokens += self._work(chunk.input_ids)
            if not self._pace.fits(tokens, step if group else left):
                if group or left is None or not self._pace.is_worth_a_try(tokens, left):
                    break
                known = False  # so that it travels alone
            group.append(chunk)
            self._left[place] = False
            if len(group) >= most or not known:
                break
        self._order = self._order[len(group) :]
        return group
