"""Forward-backward over a packed batch, as one scan.

The message into token i is the log-odds of keep over prune that all earlier (or all later) tokens give it. Both
directions run side by side: backward is forward over the reversed batch with transposed transitions. This module
knows margins (keep's emission minus prune's, with start and end folded in) and transitions only.
"""

from __future__ import annotations

from typing import Protocol

import array_api_compat

from lamr_decoding.layers import sigmoid
from lamr_decoding.maps import MOST_LOG_MESSAGE, MOST_LOG_TILT, LogMaps, OddsMaps
from lamr_decoding.packing import Array, Packing, like
from lamr_decoding.scan import from_lanes, rows_for, scan, to_lanes

# A margin beyond this settles its token's label whatever the two messages (each within e^±64) say, and what it
# passes on no longer changes in float64.
_MOST_MARGIN = MOST_LOG_TILT - MOST_LOG_MESSAGE


class _Transitions(Protocol):
    @property
    def transitions(self) -> Array:
        """float64 [2, 2]."""


def keep_probability(margins: Array, packing: Packing, crf: _Transitions) -> Array:
    """P(y_i = keep), float64 [T], from `margins` float64 [T]."""
    xp = array_api_compat.array_namespace(margins)
    table = crf.transitions
    first, last = like(packing.first, margins), like(packing.last, margins)
    both = xp.stack([margins, xp.flip(margins)])
    starts = xp.stack([first, xp.flip(last)])
    tables = xp.stack([table, xp.matrix_transpose(table)])
    messages = _log_messages(both, starts, tables)
    log_odds = messages[0, :] + margins + xp.flip(messages[1, :])
    return sigmoid(log_odds)


def log_growth(margins: Array, packing: Packing, crf: _Transitions) -> Array:
    """What each token adds to log Z over the labeling that prunes everything, float64 [T].

    With x_i the forward message and m_i the margin, the prefix sum over labels grows by the factor
    1 + exp(x_i + m_i + A[1,0] - A[0,0]) at token i, and by 1 + exp(x_n + m_n) at the last.
    """
    xp = array_api_compat.array_namespace(margins)
    table = crf.transitions
    starts = like(packing.first, margins)
    messages = _log_messages(margins[None, :], starts[None, :], table[None, :, :])[0, :]
    onward = xp.astype(like(~packing.last, margins), xp.float64)
    ahead = messages + margins + onward * (table[1, 0] - table[0, 0])
    return xp.logaddexp(ahead, xp.zeros_like(ahead))


def _log_messages(margins: Array, starts: Array, tables: Array) -> Array:
    """Forward messages in log-odds, [C, T], for C chains of T tokens with transitions [C, 2, 2]."""
    xp = array_api_compat.array_namespace(margins)
    if _moderate(tables):
        return xp.log(_messages(xp, margins, starts, tables, odds=True))
    return _messages(xp, margins, starts, tables, odds=False)


def _messages(xp: Array, margins: Array, starts: Array, tables: Array, odds: bool) -> Array:
    tokens = margins.shape[-1]
    rows = rows_for(tokens)
    starts = to_lanes(starts, rows)
    low, high, tilt = (
        difference[:, None, None]
        for difference in (
            tables[:, 0, 1] - tables[:, 0, 0],
            tables[:, 1, 1] - tables[:, 1, 0],
            tables[:, 1, 0] - tables[:, 0, 0],
        )
    )
    if odds:
        margins = xp.clip(margins, -_MOST_MARGIN, _MOST_MARGIN)
    tilt = tilt + to_lanes(xp.roll(margins, 1, axis=-1), rows)
    zero = xp.zeros_like(tilt)
    ends = xp.stack([xp.where(starts, zero, low), xp.where(starts, zero, high)])
    initial = zero[:, :1, :1]
    states = (
        scan(OddsMaps(xp.exp(ends), xp.exp(tilt)), initial) if odds else scan(LogMaps(ends, tilt), initial)
    )
    return from_lanes(states, tokens)


def _moderate(tables: Array) -> bool:
    """Whether all messages stay within e^±64, so that odds can be used as they are."""
    xp = array_api_compat.array_namespace(tables)
    return bool(xp.max(tables) - xp.min(tables) <= MOST_LOG_MESSAGE)
