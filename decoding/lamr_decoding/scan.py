"""Running a chain of maps from state to state, all steps at once.

A linear chain applies one map a token to a scalar state. Maps of one family compose associatively, so that all
states follow from a prefix scan (Blelloch 1990, "Prefix sums and their applications"): pairs of neighbouring
maps are composed level by level, and the states are filled in on the way back. Work is O(T), depth O(log T),
without a Python loop over tokens. This module knows how to scan; what the maps mean is `lamr_decoding.maps`.

Tokens lie in *lanes*: [..., rows, lanes], time runs down a lane and then on to the next lane. All levels then
work on contiguous rows, and the lanes' ends are joined by a second, small scan.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

import array_api_compat
import numpy as np

from lamr_decoding.packing import Array, Namespace

MOST_ROWS = 64  # more rows mean fewer lanes, hence shorter contiguous runs


M = TypeVar("M", bound="Maps")


class Maps(Protocol):
    """A family of maps that composes, held as arrays [..., rows, lanes], one map an entry."""

    @property
    def shape(self) -> tuple[int, ...]:
        """[..., rows, lanes]."""

    def rows(self: M, start: int, stop: int) -> M:
        """Every other row from `start`, before `stop`."""

    def joined(self: M) -> M:
        """A single row of lanes [..., 1, lanes] as one lane [..., lanes, 1]."""

    def then(self: M, later: M) -> M:
        """The map that applies this one first and `later` second."""

    def __call__(self, state: Array, /) -> Array:
        """The states after these maps."""


def rows_for(tokens: int) -> int:
    """How many rows (a power of two) to lay `tokens` out on."""
    return min(MOST_ROWS, 1 << max(0, (tokens.bit_length() - 1) // 2))


def to_lanes(values: Array, rows: int) -> Array:
    """Lay [..., T] out as [..., rows, lanes], padded at the end with zeros."""
    xp = array_api_compat.array_namespace(values)
    *outer, tokens = values.shape
    lanes = -(-tokens // rows)
    missing = lanes * rows - tokens
    if missing:
        device = array_api_compat.device(values)
        padding = xp.zeros((*outer, missing), dtype=values.dtype, device=device)
        values = xp.concat([values, padding], axis=-1)
    values = xp.reshape(values, (*outer, lanes, rows))
    return _contiguous(xp.matrix_transpose(values))


def from_lanes(values: Array, tokens: int) -> Array:
    """Undo `to_lanes`: [..., rows, lanes] to [..., T]."""
    xp = array_api_compat.array_namespace(values)
    *outer, rows, lanes = values.shape
    return xp.reshape(xp.matrix_transpose(values), (*outer, rows * lanes))[..., :tokens]


def scan(maps: M, initial: Array) -> Array:
    """The state after each map, [..., rows, lanes].

    Args:
        maps: the number of rows is a power of two, or there is one lane.
        initial: the state before the first map, [..., 1, 1].
    """
    xp = array_api_compat.array_namespace(initial)
    levels = [maps]
    while (count := levels[-1].shape[-2]) > 1:
        levels.append(levels[-1].rows(0, count - 1).then(levels[-1].rows(1, count)))
    whole = levels.pop()
    entering = initial
    if whole.shape[-1] > 1:
        ends = xp.matrix_transpose(scan(whole.joined(), initial))
        entering = xp.concat([initial, ends[..., :-1]], axis=-1)
    states = whole(entering)
    for level in reversed(levels):
        states = _fill(level, entering, states, xp)
    return states


def _fill(maps: M, entering: Array, odd: Array, xp: Namespace) -> Array:
    """States of all rows from those of the odd rows."""
    count = maps.shape[-2]
    before = xp.concat([entering, odd], axis=-2)
    even = maps.rows(0, count)(before[..., : (count + 1) // 2, :])
    pairs = count // 2
    both = xp.stack([even[..., :pairs, :], odd], axis=-2)
    *outer, _, _, lanes = both.shape
    states = xp.reshape(both, (*outer, 2 * pairs, lanes))
    return xp.concat([states, even[..., pairs:, :]], axis=-2) if count % 2 else states


def _contiguous(values: Array) -> Array:
    return values.contiguous() if array_api_compat.is_torch_array(values) else np.ascontiguousarray(values)
