"""The families of maps that two-label chains are made of.

With two labels, all that a prefix of a chain tells the rest is one number: how much label 1 (keep) is ahead of
label 0 (prune). A token maps that number to the next one. Each family below is closed under composition and
stays in range as it composes, so nothing has to be renormalized:

    OddsMaps    sum-product, odds of keep against prune; no logarithm inside, for moderate transitions
    LogMaps     the same in the logarithm, for any transitions
    ClampMaps   max-product, whole numbers, exact: the score difference of the two best prefixes
    LabelMaps   Viterbi's backtrace: a label as a function of the next one

A sum-product map is x -> (x·tilt·ends[1] + ends[0]) / (x·tilt + 1): the 2x2 matrix of the step up to scale
(Rabiner 1989, forward recursion). `ends` are the images of 0 and infinity.
"""

from __future__ import annotations

from dataclasses import dataclass

import array_api_compat

from lamr_decoding.packing import Array

# OddsMaps: with messages within e^±64 and tilts within e^±300, no product leaves float64 (e^±709), and a tilt
# that is cut off at e^±300 already decides between the two ends to the last bit.
MOST_LOG_MESSAGE = 64.0
MOST_LOG_TILT = 300.0
_MOST_TILT = 1.9424263952412558e130  # e^300

# ClampMaps: states are whole numbers within 2^48, so shifts beyond 2^51 all mean "one end"; sums of two such
# shifts are still exact in float64.
_MOST_SHIFT = 2.0**51


def _rows(values: Array, start: int, stop: int) -> Array:
    return values[..., start:stop:2, :]


def _joined(values: Array) -> Array:
    return array_api_compat.array_namespace(values).matrix_transpose(values)


def _clamp(values: Array, low: float, high: float) -> Array:
    if array_api_compat.is_torch_array(values):
        return values.clamp(low, high)
    xp = array_api_compat.array_namespace(values)
    return xp.minimum(xp.maximum(values, low), high)


@dataclass(frozen=True)
class OddsMaps:
    """x -> (x·tilt·ends[1] + ends[0]) / (x·tilt + 1), in odds.

    Attributes:
        ends: float64 [2, ..., rows, lanes], within e^±`MOST_LOG_MESSAGE`.
        tilt: float64 [..., rows, lanes], within e^±`MOST_LOG_TILT`.
    """

    ends: Array
    tilt: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tilt.shape)

    def rows(self, start: int, stop: int) -> OddsMaps:
        return OddsMaps(_rows(self.ends, start, stop), _rows(self.tilt, start, stop))

    def joined(self) -> OddsMaps:
        return OddsMaps(_joined(self.ends), _joined(self.tilt))

    def then(self, later: OddsMaps) -> OddsMaps:
        ahead = self.ends * later.tilt
        total = ahead + 1
        ends = (ahead * later.ends[1] + later.ends[0]) / total
        tilt = self.tilt * (total[1] / total[0])
        return OddsMaps(ends, _clamp(tilt, 1 / _MOST_TILT, _MOST_TILT))

    def __call__(self, state: Array) -> Array:
        ahead = state * self.tilt
        return (ahead * self.ends[1] + self.ends[0]) / (ahead + 1)


@dataclass(frozen=True)
class LogMaps:
    """`OddsMaps` in the logarithm: state, ends and tilt are log-odds of any size."""

    ends: Array
    tilt: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tilt.shape)

    def rows(self, start: int, stop: int) -> LogMaps:
        return LogMaps(_rows(self.ends, start, stop), _rows(self.tilt, start, stop))

    def joined(self) -> LogMaps:
        return LogMaps(_joined(self.ends), _joined(self.tilt))

    def then(self, later: LogMaps) -> LogMaps:
        ends, total = later._image(self.ends)
        return LogMaps(ends, self.tilt + (total[1] - total[0]))

    def __call__(self, state: Array) -> Array:
        return self._image(state)[0]

    def _image(self, state: Array) -> tuple[Array, Array]:
        """The next state, and log(1 + odds·tilt).

        Written as a mixture of the two ends whose weights are taken from the larger side: ends must not be
        lost beside a tilt of 1e10.
        """
        xp = array_api_compat.array_namespace(state)
        ahead = state + self.tilt
        rest = xp.log1p(xp.exp(-xp.abs(ahead)))
        above = (ahead + xp.abs(ahead)) / 2
        mixture = xp.logaddexp(self.ends[1] - (above - ahead), self.ends[0] - above)
        return mixture - rest, above + rest


@dataclass(frozen=True)
class ClampMaps:
    """x -> min(max(x + shift, ends[0]), ends[1]), in whole numbers.

    Attributes:
        ends: float64 [2, ..., rows, lanes], whole numbers within 2^48, ends[0] <= ends[1].
        shift: float64 [..., rows, lanes], whole numbers.
    """

    ends: Array
    shift: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.shift.shape)

    def rows(self, start: int, stop: int) -> ClampMaps:
        return ClampMaps(_rows(self.ends, start, stop), _rows(self.shift, start, stop))

    def joined(self) -> ClampMaps:
        return ClampMaps(_joined(self.ends), _joined(self.shift))

    def then(self, later: ClampMaps) -> ClampMaps:
        return ClampMaps(later(self.ends), _clamp(self.shift + later.shift, -_MOST_SHIFT, _MOST_SHIFT))

    def __call__(self, state: Array) -> Array:
        xp = array_api_compat.array_namespace(state)
        return xp.minimum(xp.maximum(state + self.shift, self.ends[0]), self.ends[1])


@dataclass(frozen=True)
class LabelMaps:
    """y -> value xor (follows and y), labels 0 and 1.

    Attributes:
        value, follows: uint8 [..., rows, lanes]. `follows` = 0 makes the map constant.
    """

    value: Array
    follows: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.value.shape)

    def rows(self, start: int, stop: int) -> LabelMaps:
        return LabelMaps(_rows(self.value, start, stop), _rows(self.follows, start, stop))

    def joined(self) -> LabelMaps:
        return LabelMaps(_joined(self.value), _joined(self.follows))

    def then(self, later: LabelMaps) -> LabelMaps:
        return LabelMaps(later(self.value), self.follows & later.follows)

    def __call__(self, state: Array) -> Array:
        return self.value ^ (self.follows & state)
