"""The passes over a packed batch: row by row, in place.

Tokens lie in *lanes*, [rows, lanes]: time runs down a lane and then on to the next lane. Each pass goes twice down (or
up) all lanes at once, one vector operation over all lanes a step: first to compose each lane to one map, then, when a
scan over lanes has told in which state each is entered, to fill in the states. Large temporary arrays cost more than
the arithmetic, so most steps work in place on a row.

Viterbi: where neighbours attract (J >= 0) the message into the next token, by how much the best prefix that keeps it
beats the best that prunes it, is clamp(message + h_i + J, 0, J). Going back, d_i = message + h_i decides: token i is
kept if d_i >= 0, pruned if d_i < -J, and in between takes the label of its successor. Fields are taken as whole
multiples of 2^-28 nats. All sums are then exact in float64, so the order in which steps are composed, and thus where a
sequence lies in its batch, can't change a label; and a tie is a tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lamr_decoding.chain import Chain, Packing
from lamr_decoding.maps import (
    MOST_FIELD,
    MOST_LOG_FIELD,
    MOST_SHIFT,
    UNITS_PER_NAT,
    ClampMaps,
    LabelMaps,
    OddsMaps,
    scan,
)

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Lanes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Layout:
    """Where tokens and the ends of sequences lie in [rows, lanes]; token i is at row i % rows, lane i // rows.

    Attributes:
        tokens, rows, lanes: sizes; at least two rows.
        first, last: for each row the lanes whose token there opens (closes) its sequence.
    """

    tokens: int
    rows: int
    lanes: int
    first: list[Lanes]
    last: list[Lanes]

    @classmethod
    def of(cls, packing: Packing) -> _Layout:
        # Measured: rows cost calls, lanes cost the scan over them.
        rows = 1 << min(6, max(1, packing.tokens.bit_length() // 2 - 3))
        lanes = -(-packing.tokens // rows)
        first, last = packing.cu_seqlens[:-1], packing.cu_seqlens[1:] - 1
        if packing.tokens < rows * lanes:
            first = packing.cu_seqlens  # the padding counts as one more sequence
        return cls(packing.tokens, rows, lanes, _by_row(first, rows), _by_row(last, rows))


def _to_lanes(values: Floats, rows: int) -> Floats:
    """Lay [T] out as [rows, lanes], a copy, padded at the end with zeros."""
    lanes = -(-len(values) // rows)
    padded = np.concatenate([values, np.zeros(lanes * rows - len(values))])
    return np.array(padded.reshape(lanes, rows).T, order="C")


def _from_lanes(values: npt.NDArray[Any], tokens: int) -> npt.NDArray[Any]:
    """Undo `_to_lanes`."""
    return values.T.reshape(-1)[:tokens]


def _by_row(tokens: Lanes, rows: int) -> list[Lanes]:
    """The lanes of `tokens`, for each row."""
    lane, row = np.divmod(tokens, rows)
    order = np.argsort(row, kind="stable")
    stops = np.cumsum(np.bincount(row, minlength=rows)).tolist()
    return [lane[order[start:stop]] for start, stop in zip([0, *stops], stops, strict=False)]


def keep_probability(chain: Chain) -> Floats:
    """P(y_i = 1), [T], for a coupling within ±64."""
    layout = _Layout.of(chain.packing)
    return _probability(*_both_ways(chain, layout), layout)


def forward_backward(chain: Chain) -> tuple[Floats, Floats]:
    """Messages into each token as odds, [T], and what `keep_probability` returns."""
    layout = _Layout.of(chain.packing)
    weights, messages = _both_ways(chain, layout)
    forward = _from_lanes(messages[:, 0], layout.tokens).copy()
    return forward, _probability(weights, messages, layout)


def _both_ways(chain: Chain, layout: _Layout) -> tuple[Floats, Floats]:
    """e^h and messages into each token, [rows, 2, lanes].

    The second half is for going back, up the rows: its entry r belongs to token row rows - 1 - r.
    """
    bond = float(np.exp(chain.coupling))
    weights, messages = np.empty((2, layout.rows, 2, layout.lanes))
    np.exp(_within(_to_lanes(chain.fields, layout.rows), MOST_LOG_FIELD), out=weights[:, 0])
    weights[:, 1] = weights[::-1, 0]
    messages[0] = _odds_into_lanes(weights[:, 0], layout, bond)
    closing = zip(layout.last, layout.first[::-1], strict=True)
    closing_either = [np.concatenate([last, first + layout.lanes]) for last, first in closing]
    side_by_side = (layout.rows, 2 * layout.lanes)
    _fill_in(messages.reshape(side_by_side), weights.reshape(side_by_side), closing_either, bond)
    return weights, messages


def _probability(weights: Floats, messages: Floats, layout: _Layout) -> Floats:
    """P(y_i = 1), [T]; overwrites both arrays."""
    odds, total = weights[:, 0], messages[:, 0]
    odds *= messages[:, 0]
    odds *= messages[::-1, 1]
    np.add(odds, 1, out=total)
    odds /= total
    return _from_lanes(odds, layout.tokens)


def _fill_in(messages: Floats, weights: Floats, closing: list[Lanes], bond: float) -> None:
    """All rows of `messages` from the first, in place; both arrays [rows, lanes]."""
    ahead, total = np.empty((2, weights.shape[1]))
    for row in range(len(weights) - 1):
        np.multiply(messages[row], weights[row], out=ahead)
        _pass_on(ahead, total, bond, messages[row + 1])
        messages[row + 1, closing[row]] = 1


def _odds_into_lanes(weights: Floats, layout: _Layout, bond: float) -> Floats:
    """Forward messages into the first row and backward ones into the last, as odds, [2, lanes].

    One composition serves both directions. With D_i = diag(1, e^h_i) and the symmetric bond matrix C, forward
    multiplies by G·C and backward by the transpose of C·G, where G = D_1 C D_2 ... C D_rows.
    """
    ends, tilt = np.empty((2, layout.lanes)), weights[0].copy()
    ends[0], ends[1] = 1, bond
    ends[:, layout.last[0]] = 1
    ahead, total = np.empty((2, 2, layout.lanes))
    for row in range(1, layout.rows):
        if row == layout.rows - 1:
            inner = ends.copy(), tilt.copy()
        np.multiply(ends, weights[row], out=ahead)
        _pass_on(ahead, total, bond, ends)
        ends[:, layout.last[row]] = 1
        np.divide(total[1], total[0], out=total[0])
        np.multiply(tilt, total[0], out=tilt)
    back_ends, back_tilt = _transposed(*inner, weights[-1], bond)
    back_ends[:, layout.first[0]] = 1
    ends, tilt = np.stack([ends, back_ends[:, ::-1]], axis=1), np.stack([tilt, back_tilt[::-1]])
    entering = scan(OddsMaps(ends, tilt), np.ones((2, 1)))
    return np.stack([entering[0], entering[1, ::-1]])


def _transposed(inner: Floats, tilt: Floats, last_weights: Floats, bond: float) -> tuple[Floats, Floats]:
    """The backward map of each lane: the transpose of G = (`inner`, `tilt`)·diag(1, last weight), then a bond."""
    low, high = inner
    ahead = np.stack([tilt, tilt * (high / low)])
    ends, total = np.empty_like(ahead), np.empty_like(ahead)
    _pass_on(ahead, total, bond, ends)
    return ends, last_weights * low * (total[1] / total[0])


def _pass_on(ahead: Floats, total: Floats, bond: float, out: Floats) -> None:
    """(1 + ahead·bond) / (1 + ahead); overwrites `ahead` and leaves 1 + ahead in `total`."""
    np.add(ahead, 1, out=total)
    np.multiply(ahead, bond, out=ahead)
    np.add(ahead, 1, out=ahead)
    np.divide(ahead, total, out=out)


def _within(values: Floats, most: float) -> Floats:
    """`values` cut off at ±`most`, in place."""
    np.maximum(values, -most, out=values)
    return np.minimum(values, most, out=values)


def best_labels(chain: Chain) -> npt.NDArray[np.uint8]:
    """The best labels, [T]; ties as `lamr_decoding.crf.viterbi` says."""
    layout, coupling = _Layout.of(chain.packing), float(np.rint(chain.coupling * UNITS_PER_NAT))
    ahead = _within(_to_lanes(chain.fields, layout.rows), MOST_FIELD)
    ahead *= UNITS_PER_NAT
    np.rint(ahead, out=ahead)
    repels = coupling < 0
    if repels:
        _turn(ahead, layout, coupling)
        coupling = -coupling
    ahead += coupling
    ahead += _clamped_messages(ahead, layout, coupling)
    if repels:
        ahead[1::2] -= 1  # a tie must keep the label that was turned, hence prune
    certain, follows = ahead >= coupling, ahead >= 0
    for row, lanes in enumerate(layout.last):
        follows[row, lanes] = False
    labels = _traced(certain, follows)
    if repels:
        np.logical_not(labels[1::2], out=labels[1::2])
    return _from_lanes(labels, layout.tokens).view(np.uint8)


def _turn(fields: Floats, layout: _Layout, coupling: float) -> None:
    """Relabel odd rows, in place, so that the coupling changes its sign.

    With y = 1 - z there, h y = h - h z, and the term J y y' of each neighbour becomes J y' - J z y'.
    """
    np.negative(fields[1::2], out=fields[1::2])
    fields[::2] += 2 * coupling
    for row in range(0, layout.rows, 2):
        fields[row, layout.first[row]] -= coupling
        fields[row, layout.last[row]] -= coupling


def _clamped_messages(shift: Floats, layout: _Layout, coupling: float) -> Floats:
    """Max-product messages into each token, whole numbers, [rows, lanes], from h + J."""
    # Three states a lane: the images of the lowest and of the highest message, and what is added in between.
    states = np.zeros((3, layout.lanes))
    states[1] = coupling
    low, high = np.zeros((3, layout.lanes)), np.full((3, layout.lanes), coupling)
    low[2], high[2] = -MOST_SHIFT, MOST_SHIFT
    for row in range(layout.rows):
        _clamp(states, shift[row], low, high, states)
        states[:2, layout.last[row]] = 0
    messages = np.empty_like(shift)
    messages[0] = scan(ClampMaps(states[:2], states[2]), np.zeros(1))
    for row in range(layout.rows - 1):
        _clamp(messages[row], shift[row], low[0], high[0], messages[row + 1])
        messages[row + 1, layout.last[row]] = 0
    return messages


def _clamp(states: Floats, shift: Floats, low: Floats, high: Floats, out: Floats) -> None:
    np.add(states, shift, out=out)
    np.maximum(out, low, out=out)
    np.minimum(out, high, out=out)


def _traced(certain: Bools, follows: Bools) -> Bools:
    """Labels, `certain` or (`follows` and the next token's label), all [rows, lanes]; overwrites both."""
    composed, through = certain[-1].copy(), follows[-1].copy()
    for yes, also in zip(certain[-2::-1], follows[-2::-1], strict=True):
        np.logical_and(composed, also, out=composed)
        np.logical_or(composed, yes, out=composed)
        np.logical_and(through, also, out=through)
    label = scan(LabelMaps(composed[::-1], through[::-1]), np.zeros(1, dtype=np.bool_))[::-1]
    for yes, also in zip(certain[::-1], follows[::-1], strict=True):
        np.logical_and(label, also, out=also)
        np.logical_or(also, yes, out=yes)
        label = yes
    return certain
