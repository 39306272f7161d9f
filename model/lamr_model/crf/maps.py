"""The families of maps that two-label chains are made of.

All that a prefix of a chain tells the rest is one number, its message: by how much it wants the next label to be
1. A token maps the message that it gets to the one that it passes on. Each family below is closed under
composition and stays in range as it composes, so nothing has to be renormalized:

    Maps
    ├── OddsMaps    sum-product, message as odds; no logarithm inside, for moderate couplings
    ├── LogMaps     the same in the logarithm, for any coupling
    ├── ClampMaps   max-product, whole numbers, exact
    └── LabelMaps   Viterbi's backtrace: a label as a function of the next one

Arrays are [..., T], one map an entry. Since maps compose associatively, the states between them follow from a prefix
scan: the states before pairs of maps, then those inside the pairs (Ladner & Fischer 1980). O(T) work, O(log T)
steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

import numpy as np

from lamr_model.crf.layers import Array

M = TypeVar("M", bound="Maps")

# OddsMaps: with couplings within ±64 messages stay within e^±64, and with fields within ±236 tilts stay within
# e^±300: the tilt of a chain compares starting it with 1 to starting it with 0, which differ by the first field and
# one coupling. No product then leaves float64 (e^±709). A field beyond ±236 settles its token's label to the last bit,
# whatever the messages say.
MOST_LOG_ODDS = 64.0
MOST_LOG_FIELD = 236.0

# ClampMaps count in units of 2^-28 nats. Potentials up to 2^15 nats make couplings, and messages, up to 2^17. A field
# beyond 2^18 then settles its token's label, no sum of a field and messages leaves 2^20 nats = 2^48 units, and all
# shifts beyond 2^51 units mean "one end"; sums of two such shifts are still exact in float64.
UNITS_PER_NAT = 2.0**28
MOST_POTENTIAL = 2.0**15
MOST_FIELD = 2.0**18
MOST_SHIFT = 2.0**51


class Maps(ABC):
    """Some maps of one family.

    Attributes:
        arrays: the family's parameters, each with one entry a map on its last axis."""

    def __init__(self, *arrays: Array) -> None:
        self.arrays = arrays

    def at(self: M, index: slice) -> M:
        """The maps at `index` of the last axis."""
        return type(self)(*(values[..., index] for values in self.arrays))

    @abstractmethod
    def then(self: M, later: M) -> M:
        """The maps that apply these first and `later` second."""

    @abstractmethod
    def __call__(self, state: Array) -> Array:
        """The states after these maps."""


class OddsMaps(Maps):
    """x -> (x·tilt·ends[1] + ends[0]) / (x·tilt + 1): a 2x2 matrix of the forward recursion, up to scale.

    `arrays` are ends [2, ...], images of 0 and of infinity, within e^±`MOST_LOG_ODDS`, and tilt [...], within
    e^±300; float64."""

    def then(self, later: OddsMaps) -> OddsMaps:
        (ends, tilt), (later_ends, later_tilt) = self.arrays, later.arrays
        ahead = ends * later_tilt
        total = ahead + 1
        composed = (ahead * later_ends[1] + later_ends[0]) / total
        return OddsMaps(composed, tilt * (total[1] / total[0]))

    def __call__(self, state: Array) -> Array:
        ends, tilt = self.arrays
        ahead = state * tilt
        states: Array = (ahead * ends[1] + ends[0]) / (ahead + 1)
        return states


class LogMaps(Maps):
    """`OddsMaps` in the logarithm: state, ends [2, ...] and tilt [...] are log-odds of any size."""

    def then(self, later: LogMaps) -> LogMaps:
        ends, tilt = self.arrays
        composed, total = later._image(ends)
        return LogMaps(composed, tilt + (total[1] - total[0]))

    def __call__(self, state: Array) -> Array:
        return self._image(state)[0]

    def _image(self, state: Array) -> tuple[Array, Array]:
        """The next state, and log(1 + odds·tilt).

        Written as a mixture of the two ends whose weights are taken from the larger side: ends must not be
        lost beside a tilt of 1e10."""
        ends, tilt = self.arrays
        ahead = state + tilt
        rest = np.log1p(np.exp(-np.abs(ahead)))
        above = (ahead + np.abs(ahead)) / 2
        mixture = np.logaddexp(ends[1] - (above - ahead), ends[0] - above)
        return mixture - rest, above + rest


class ClampMaps(Maps):
    """x -> min(max(x + shift, ends[0]), ends[1]), in whole numbers.

    `arrays` are ends [2, ...], whole numbers within 2^48, ends[0] <= ends[1], and shift [...], whole numbers within
    ±`MOST_SHIFT`; float64."""

    def then(self, later: ClampMaps) -> ClampMaps:
        (ends, shift), (_, later_shift) = self.arrays, later.arrays
        # Faster than numpy's clip.
        shift = np.minimum(np.maximum(shift + later_shift, -MOST_SHIFT), MOST_SHIFT)
        return ClampMaps(later(ends), shift)

    def __call__(self, state: Array) -> Array:
        ends, shift = self.arrays
        return np.minimum(np.maximum(state + shift, ends[0]), ends[1])


class LabelMaps(Maps):
    """y -> certain or (follows and y). `arrays` are certain and follows, bool [...]."""

    def then(self, later: LabelMaps) -> LabelMaps:
        (certain, follows), (_, later_follows) = self.arrays, later.arrays
        return LabelMaps(later(certain), follows & later_follows)

    def __call__(self, state: Array) -> Array:
        certain, follows = self.arrays
        return certain | (follows & state)


def scan(maps: M, initial: Array) -> Array:
    """The state *before* each of T maps, [..., T], from the state before the first, [..., 1]."""
    return _states(maps, initial)[..., :-1]


def _states(maps: Maps, initial: Array) -> Array:
    """What `scan` returns and the state after the last map, [..., T + 1]."""
    count = maps.arrays[-1].shape[-1]
    if not count:
        return initial
    even, odd = maps.at(slice(0, None, 2)), maps.at(slice(1, None, 2))
    states = np.empty((*initial.shape[:-1], count + 1), initial.dtype)
    states[..., ::2] = _states(maps.at(slice(0, count - 1, 2)).then(odd), initial)
    states[..., 1::2] = even(states[..., :count:2])
    return states
