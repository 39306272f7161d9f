"""Running a chain of maps from state to state, without a loop over tokens.

A linear chain applies one map a token to a scalar state. Maps of one family compose associatively, so the states
follow from a prefix scan (Blelloch 1990, "Prefix sums and their applications"): pairs of neighbours are composed,
then pairs of pairs, and the states are filled in on the way back. Work is O(T), depth O(log T). It takes few
operations on large arrays, which is what a GPU and autograd want; `lamr_decoding.rows` has the form for numpy.

Tokens lie in *lanes*, [..., rows, lanes]: time runs down a lane and then on to the next lane. A scan composes each
lane to one map, scans those for the states in which lanes are entered, and then works down all lanes, so that all
operations are on contiguous rows. This module knows how to scan; what the maps mean is `lamr_decoding.maps`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import array_api_compat
import numpy as np

from lamr_decoding.packing import Array

_MOST_ROWS = 64  # more rows mean fewer lanes, hence more and shorter vector operations
_ONE_LANE = 32  # chains up to this length aren't worth two levels

M = TypeVar("M", bound="Maps")


class Maps(Protocol):
    """A family of maps that composes, held as arrays [..., rows, lanes], one map an entry."""

    @property
    def shape(self) -> tuple[int, ...]:
        """[..., rows, lanes]."""

    def rows(self: M, rows: slice) -> M:
        """Some of the rows."""

    def each(self: M, change: Callable[[Array], Array]) -> M:
        """The maps with all arrays laid out anew."""

    def then(self: M, later: M) -> M:
        """The map that applies this one first and `later` second."""

    def __call__(self, state: Array, /) -> Array:
        """The states after these maps."""


def _rows_for(tokens: int) -> int:
    """How many rows, a power of two, to lay `tokens` out on."""
    if tokens <= _ONE_LANE:
        return 1 << (tokens - 1).bit_length()
    return min(_MOST_ROWS, 1 << (tokens.bit_length() // 2))


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
    values = xp.matrix_transpose(xp.reshape(values, (*outer, lanes, rows)))
    return values.contiguous() if array_api_compat.is_torch_array(values) else np.ascontiguousarray(values)


def from_lanes(values: Array, tokens: int) -> Array:
    """Undo `to_lanes`: [..., rows, lanes] to [..., T]."""
    xp = array_api_compat.array_namespace(values)
    *outer, rows, lanes = values.shape
    return xp.reshape(xp.matrix_transpose(values), (*outer, rows * lanes))[..., :tokens]


def scan(maps: Maps, initial: Array) -> Array:
    """The state *before* each map of chains that lie flat.

    Args:
        maps: arrays [..., T].
        initial: the state before the first map, [..., 1, 1].

    Returns:
        States [..., T].
    """
    tokens = maps.shape[-1]
    rows = _rows_for(tokens)
    return from_lanes(_scan_lanes(maps.each(lambda values: to_lanes(values, rows)), initial), tokens)


def _scan_lanes(maps: M, initial: Array) -> Array:
    """`scan` of maps that lie in lanes, [..., rows, lanes]; the number of rows is a power of two."""
    xp = array_api_compat.array_namespace(initial)
    levels = [maps]
    while levels[-1].shape[-2] > 1:
        finest = levels[-1]
        levels.append(finest.rows(slice(0, None, 2)).then(finest.rows(slice(1, None, 2))))
    states = initial
    if maps.shape[-1] > 1:
        states = scan(levels[-1].each(lambda values: values[..., 0, :]), initial)[..., None, :]
    for level in levels[-2::-1]:
        # The state before a pair is that before its first map; its image is the state before the second.
        second = level.rows(slice(0, None, 2))(states)
        *outer, pairs, lanes = second.shape
        both = xp.stack([xp.broadcast_to(states, second.shape), second], axis=-2)
        states = xp.reshape(both, (*outer, 2 * pairs, lanes))
    return states
