"""Viterbi over a packed batch: a scan forward, and the backtrace as a second one.

With two labels, the forward recursion on the score difference d_i (best prefix that keeps token i, minus best
that prunes it) only shifts and clamps:

    d_i = margin_i + A[1,1] - A[1,0] + max(d_{i-1}, a) - max(d_{i-1}, b),   a = A[0,1] - A[1,1],  b = A[0,0] - A[1,0]

Potentials are taken as whole multiples of 2^-28 nats. All sums are then exact in float64, so the order in which
the scan composes them, and thus where a sequence lies in its batch, can't change a label; and a tie is a tie.
This module knows margins (keep's emission minus prune's, with start and end folded in) and transitions only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import array_api_compat

from lamr_decoding.maps import ClampMaps, LabelMaps
from lamr_decoding.packing import Array, Packing, like
from lamr_decoding.scan import from_lanes, rows_for, scan, to_lanes

_UNITS_PER_NAT = 2.0**28
# Potentials up to 2^15 make messages within 2^16 nats, so that a margin of 2^18 settles its token's label, and
# states within 2^19 nats = 2^47 units.
MOST_POTENTIAL = 2.0**15
_MOST_MARGIN = 2.0**18


class _Transitions(Protocol):
    @property
    def transitions(self) -> Array:
        """float64 [2, 2]."""


@dataclass(frozen=True)
class _Step:
    """The transitions, in units, as the recursion on d uses them.

    Attributes:
        low, high: the smaller and the larger of a and b. Above `high` both labels follow a kept token, below
            `low` a pruned one.
        gain: A[1,1] - A[1,0].
        repels: a > b. Between the bounds, the best predecessor is then the opposite label, else the same.
    """

    low: Array
    high: Array
    gain: Array
    repels: bool

    @classmethod
    def of(cls, transitions: Array) -> _Step:
        xp = array_api_compat.array_namespace(transitions)
        table = xp.round(transitions * _UNITS_PER_NAT)
        a, b = table[0, 1] - table[1, 1], table[0, 0] - table[1, 0]
        repels = bool(a > b)
        low, high = (b, a) if repels else (a, b)
        return cls(low, high, table[1, 1] - table[1, 0], repels)


def labels(margins: Array, packing: Packing, crf: _Transitions) -> Array:
    """The best labels, uint8 [T], from `margins` float64 [T]; ties as `lamr_decoding.crf.viterbi` says."""
    xp = array_api_compat.array_namespace(margins)
    rows = rows_for(packing.tokens)
    step = _Step.of(crf.transitions)
    units = xp.round(xp.clip(margins, -_MOST_MARGIN, _MOST_MARGIN) * _UNITS_PER_NAT)
    ahead = _differences(to_lanes(units, rows), to_lanes(like(packing.first, margins), rows), step)
    last = to_lanes(like(packing.last, margins), rows)
    # Keep the predecessor of both labels, of neither, or (between the bounds) let it follow its successor.
    certain = ahead >= xp.where(last, xp.zeros_like(ahead), step.high)
    follows = ~last & (ahead >= step.low) & ~certain
    value = (certain | follows) if step.repels else certain
    backwards = (xp.flip(part, axis=(-2, -1)) for part in (value, follows))
    maps = LabelMaps(*(xp.astype(part, xp.uint8) for part in backwards))
    found = scan(maps, maps.value[:1, :1] * 0)
    return from_lanes(xp.flip(found, axis=(-2, -1)), packing.tokens)


def _differences(units: Array, first: Array, step: _Step) -> Array:
    """d of each token, in units, [rows, lanes].

    Transitions that attract (a <= b) clamp d between a and b. Those that repel clamp and negate; counting every
    other token with the opposite sign turns them into the first kind.
    """
    xp = array_api_compat.array_namespace(units)
    low, high = step.low, step.high
    sign = _alternating(units) if step.repels else xp.ones_like(units[:1, :1])
    shift = sign * (units + (step.gain + high if step.repels else step.gain - high))
    units = sign * units
    if step.repels:
        low, high = xp.where(sign < 0, low, -high), xp.where(sign < 0, high, -low)
    ends = xp.stack([xp.where(first, units, shift + low), xp.where(first, units, shift + high)])
    return sign * scan(ClampMaps(ends, shift), xp.zeros_like(units[:1, :1]))


def _alternating(lanes: Array) -> Array:
    """+1 and -1 by turns in the order of tokens, [rows, lanes]."""
    xp = array_api_compat.array_namespace(lanes)
    rows, count = lanes.shape
    device = array_api_compat.device(lanes)
    row = xp.arange(rows, device=device)[:, None]
    lane = xp.arange(count, device=device)[None, :]
    return xp.astype(1 - 2 * ((row + lane * rows) % 2), xp.float64)
