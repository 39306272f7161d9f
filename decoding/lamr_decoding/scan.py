"""Running a chain of maps from state to state, without a loop over tokens.

A linear chain applies one map a token to a scalar state. Maps of one family compose associatively, so the states
follow from prefix scans, of which two are here: pairs of neighbours, then pairs of pairs, with the states filled in
on the way back (Blelloch 1990: O(T) work), and doubling (Hillis & Steele 1986: O(T log T), but the fewest steps).
They take few operations on large arrays, which is what a GPU wants; `lamr_decoding.rows` has the form for numpy.

Tokens lie in *lanes*, [..., rows, lanes]: time runs down a lane and then on to the next lane. Pairs compose each lane
to one map, on contiguous rows; doubling then tells the states in which lanes are entered.
"""

from __future__ import annotations

import array_api_compat
import numpy as np

from lamr_decoding.maps import M, Maps
from lamr_decoding.namespaces import namespace_of
from lamr_decoding.packing import Array

_MOST_ROWS = 64


def to_lanes(values: Array, rows: int) -> Array:
    """Lay [..., T] out as [..., rows, lanes], a copy, padded at the end with zeros."""
    xp = namespace_of(values)
    *outer, tokens = values.shape
    lanes = -(-tokens // rows)
    missing = lanes * rows - tokens
    if missing:
        device = array_api_compat.device(values)
        padding = xp.zeros((*outer, missing), dtype=values.dtype, device=device)
        values = xp.concat([values, padding], axis=-1)
    values = xp.matrix_transpose(xp.reshape(values, (*outer, lanes, rows)))
    return values.contiguous() if array_api_compat.is_torch_array(values) else np.array(values, order="C")


def from_lanes(values: Array, tokens: int) -> Array:
    """Undo `to_lanes`: [..., rows, lanes] to [..., T]."""
    xp = namespace_of(values)
    *outer, rows, lanes = values.shape
    return xp.reshape(xp.matrix_transpose(values), (*outer, rows * lanes))[..., :tokens]


def scan(maps: Maps, initial: Array) -> Array:
    """The state *before* each map of chains that lie flat.

    Args:
        maps: arrays [..., T].
        initial: the state before the first map, [..., 1].

    Returns:
        States [..., T].
    """
    tokens = maps.shape[-1]
    rows = min(_MOST_ROWS, 1 << (tokens.bit_length() // 2))
    return from_lanes(_by_pairs(maps.each(lambda values: to_lanes(values, rows)), initial), tokens)


def scan_by_doubling(maps: M, initial: Array) -> Array:
    """As `scan`, for chains that are short, or for many at once."""
    reach, count = 1, maps.shape[-1]
    while reach < count:
        reached = maps.at(slice(None, -reach)).then(maps.at(slice(reach, None)))
        maps = maps.at(slice(None, reach)).before(reached)
        reach *= 2
    return maps.xp.concat([initial, maps(initial)[..., :-1]], axis=-1)


def _by_pairs(maps: M, initial: Array) -> Array:
    """`scan` of maps that lie in lanes, [..., rows, lanes]; the number of rows is a power of two."""
    xp = maps.xp
    levels, firsts = [maps], []
    while levels[-1].shape[-2] > 1:
        first, second = (levels[-1].at(slice(start, None, 2), slice(None)) for start in (0, 1))
        firsts.append(first)
        levels.append(first.then(second))
    states = scan_by_doubling(levels[-1].at(0, slice(None)), initial)[..., None, :]
    for first in reversed(firsts):
        # The state before a pair is that before its first map; its image is the state before the second.
        both = xp.stack([states, first(states)], axis=-2)
        *outer, pairs, _, lanes = both.shape
        states = xp.reshape(both, (*outer, 2 * pairs, lanes))
    return states
