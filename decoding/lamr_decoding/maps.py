"""The families of maps that two-label chains are made of.

All that a prefix of a chain tells the rest is one number, its message: by how much it wants the next label to be
1. A token maps the message that it gets to the one that it passes on. Each family below is closed under
composition and stays in range as it composes, so nothing has to be renormalized:

    OddsMaps    sum-product, message as odds; no logarithm inside, for moderate couplings
    LogMaps     the same in the logarithm, for any coupling
    ClampMaps   max-product, whole numbers, exact
    LabelMaps   Viterbi's backtrace: a label as a function of the next one

Arrays are [..., T] or [..., rows, lanes], one map an entry, as `lamr_decoding.scan` wants them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lamr_decoding.packing import Array, Namespace

# OddsMaps: with couplings within ±64 and tilts within e^±300 no product leaves float64 (e^±709), and a tilt that
# is cut off at e^±300 already decides between the two ends to the last bit.
MOST_LOG_ODDS = 64.0
MOST_LOG_TILT = 300.0
MOST_TILT = 1.9424263952412558e130  # e^300

# ClampMaps: messages are whole numbers within 2^48, so all shifts beyond 2^51 mean "one end"; sums of two such
# shifts are still exact in float64.
MOST_SHIFT = 2.0**51


def _clamp(xp: Namespace, values: Array, low: float, high: float) -> Array:
    if hasattr(xp, "clamp"):  # torch: its minimum takes no plain numbers
        return xp.clamp(values, low, high)
    return xp.minimum(xp.maximum(values, low), high)  # numpy: faster than its clip


@dataclass(frozen=True)
class OddsMaps:
    """x -> (x·tilt·ends[1] + ends[0]) / (x·tilt + 1): a 2x2 matrix of the forward recursion, up to scale.

    Attributes:
        xp: namespace of the arrays, looked up once.
        ends: float64 [2, ..., T], images of 0 and of infinity, within e^±`MOST_LOG_ODDS`.
        tilt: float64 [..., T], within e^±`MOST_LOG_TILT`, or 0 for a map that is constant.
    """

    xp: Namespace
    ends: Array
    tilt: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tilt.shape)

    def rows(self, rows: slice) -> OddsMaps:
        return OddsMaps(self.xp, self.ends[..., rows, :], self.tilt[..., rows, :])

    def each(self, change: Callable[[Array], Array]) -> OddsMaps:
        return OddsMaps(self.xp, change(self.ends), change(self.tilt))

    def then(self, later: OddsMaps) -> OddsMaps:
        ahead = self.ends * later.tilt
        total = ahead + 1
        ends = (ahead * later.ends[1, ...] + later.ends[0, ...]) / total
        tilt = self.tilt * (total[1, ...] / total[0, ...])
        return OddsMaps(self.xp, ends, _clamp(self.xp, tilt, 1 / MOST_TILT, MOST_TILT))

    def __call__(self, state: Array) -> Array:
        ahead = state * self.tilt
        return (ahead * self.ends[1, ...] + self.ends[0, ...]) / (ahead + 1)


@dataclass(frozen=True)
class LogMaps:
    """`OddsMaps` in the logarithm: state, ends and tilt are log-odds of any size."""

    xp: Namespace
    ends: Array
    tilt: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tilt.shape)

    def rows(self, rows: slice) -> LogMaps:
        return LogMaps(self.xp, self.ends[..., rows, :], self.tilt[..., rows, :])

    def each(self, change: Callable[[Array], Array]) -> LogMaps:
        return LogMaps(self.xp, change(self.ends), change(self.tilt))

    def then(self, later: LogMaps) -> LogMaps:
        ends, total = later._image(self.ends)
        return LogMaps(self.xp, ends, self.tilt + (total[1, ...] - total[0, ...]))

    def __call__(self, state: Array) -> Array:
        return self._image(state)[0]

    def _image(self, state: Array) -> tuple[Array, Array]:
        """The next state, and log(1 + odds·tilt).

        Written as a mixture of the two ends whose weights are taken from the larger side: ends must not be
        lost beside a tilt of 1e10.
        """
        xp = self.xp
        ahead = state + self.tilt
        rest = xp.log1p(xp.exp(-xp.abs(ahead)))
        above = (ahead + xp.abs(ahead)) / 2
        mixture = xp.logaddexp(self.ends[1, ...] - (above - ahead), self.ends[0, ...] - above)
        return mixture - rest, above + rest


@dataclass(frozen=True)
class ClampMaps:
    """x -> min(max(x + shift, ends[0]), ends[1]), in whole numbers.

    Attributes:
        xp: namespace of the arrays, looked up once.
        ends: float64 [2, ..., T], whole numbers within 2^48, ends[0] <= ends[1].
        shift: float64 [..., T], whole numbers within ±`MOST_SHIFT`.
    """

    xp: Namespace
    ends: Array
    shift: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.shift.shape)

    def rows(self, rows: slice) -> ClampMaps:
        return ClampMaps(self.xp, self.ends[..., rows, :], self.shift[..., rows, :])

    def each(self, change: Callable[[Array], Array]) -> ClampMaps:
        return ClampMaps(self.xp, change(self.ends), change(self.shift))

    def then(self, later: ClampMaps) -> ClampMaps:
        return ClampMaps(
            self.xp, later(self.ends), _clamp(self.xp, self.shift + later.shift, -MOST_SHIFT, MOST_SHIFT)
        )

    def __call__(self, state: Array) -> Array:
        return self.xp.minimum(self.xp.maximum(state + self.shift, self.ends[0, ...]), self.ends[1, ...])


@dataclass(frozen=True)
class LabelMaps:
    """y -> certain or (follows and y).

    Attributes:
        certain, follows: bool [..., T]; where `follows` is false the map is constant.
    """

    certain: Array
    follows: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.certain.shape)

    def rows(self, rows: slice) -> LabelMaps:
        return LabelMaps(self.certain[..., rows, :], self.follows[..., rows, :])

    def each(self, change: Callable[[Array], Array]) -> LabelMaps:
        return LabelMaps(change(self.certain), change(self.follows))

    def then(self, later: LabelMaps) -> LabelMaps:
        return LabelMaps(later(self.certain), self.follows & later.follows)

    def __call__(self, state: Array) -> Array:
        return self.certain | (self.follows & state)
