"""Forward-backward over a packed batch.

The message into token i says how all earlier (or all later) tokens weigh its label: the odds by which they favour
keep. Token i passes on (1 + t·e^J) / (1 + t), where t = message·e^h_i; after the last token of a sequence the
message is 1 again. Backward is the same recursion over the reversed batch. This module knows chains in their plain
form (`lamr_decoding.chain`) and picks the form of the passes; it knows nothing of emissions or transitions.
"""

from __future__ import annotations

import array_api_compat

from lamr_decoding import rows
from lamr_decoding.chain import Chain
from lamr_decoding.layers import sigmoid
from lamr_decoding.maps import MOST_LOG_ODDS, MOST_LOG_TILT, LogMaps, OddsMaps
from lamr_decoding.packing import Array, like
from lamr_decoding.scan import scan

# With messages within e^±64, a field beyond this settles its token's label to the last bit of float64, and what
# the token passes on no longer changes.
_MOST_FIELD = MOST_LOG_TILT - MOST_LOG_ODDS


def keep_probability(chain: Chain) -> Array:
    """P(y_i = keep), float64 [T]."""
    if _moderate(chain) and array_api_compat.is_numpy_array(chain.fields):
        return rows.keep_probability(_cut(chain.fields), chain.packing, float(chain.coupling))
    xp = array_api_compat.array_namespace(chain.fields)
    closes = xp.stack(
        [like(chain.packing.last, chain.fields), xp.flip(like(chain.packing.first, chain.fields))]
    )
    if _moderate(chain):
        odds = xp.exp(_cut(chain.fields))
        messages = _odds_messages(xp.stack([odds, xp.flip(odds)]), closes, chain.coupling)
        odds = odds * messages[0, :] * xp.flip(messages[1, :])
        return odds / (1 + odds)
    messages = _log_messages(xp.stack([chain.fields, xp.flip(chain.fields)]), closes, chain.coupling)
    return sigmoid(messages[0, :] + chain.fields + xp.flip(messages[1, :]))


def log_growth(chain: Chain) -> Array:
    """log(1 + t_i), float64 [T]: its sum over a sequence is log Z over the labeling that prunes everything."""
    xp = array_api_compat.array_namespace(chain.fields)
    closes = like(chain.packing.last, chain.fields)
    if _moderate(chain):
        messages = xp.log(_odds_messages(xp.exp(_cut(chain.fields)), closes, chain.coupling))
    else:
        messages = _log_messages(chain.fields, closes, chain.coupling)
    ahead = messages + chain.fields
    return xp.logaddexp(ahead, xp.zeros_like(ahead))


def _moderate(chain: Chain) -> bool:
    """Whether messages stay within e^±64, so that odds can be used as they are."""
    return bool(abs(chain.coupling) <= MOST_LOG_ODDS)


def _cut(fields: Array) -> Array:
    """Fields, cut off where it no longer matters."""
    xp = array_api_compat.array_namespace(fields)
    return xp.clip(fields, -_MOST_FIELD, _MOST_FIELD)


def _odds_messages(odds: Array, closes: Array, coupling: Array) -> Array:
    """Messages into each token as odds, from e^h and whether a token closes its sequence, all [..., T]."""
    xp = array_api_compat.array_namespace(odds)
    one = xp.ones_like(odds)
    ends = xp.stack([one, xp.where(closes, one, xp.exp(coupling))])
    return scan(OddsMaps(xp, ends, odds), one[..., :1, None])


def _log_messages(fields: Array, closes: Array, coupling: Array) -> Array:
    """`_odds_messages` in the logarithm."""
    xp = array_api_compat.array_namespace(fields)
    zero = xp.zeros_like(fields)
    ends = xp.stack([zero, xp.where(closes, zero, coupling)])
    return scan(LogMaps(xp, ends, fields), zero[..., :1, None])
