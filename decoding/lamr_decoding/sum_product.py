"""Forward-backward over a packed batch.

The message into token i says how all earlier (or all later) tokens weigh its label: the odds by which they favour keep.
Token i passes on (1 + t·e^J) / (1 + t), where t = message·e^h_i; after the last token of a sequence the message is 1
again. Backward is the same recursion over the reversed batch.
"""

from __future__ import annotations

import array_api_compat

from lamr_decoding import rows
from lamr_decoding.chain import Chain
from lamr_decoding.layers import sigmoid
from lamr_decoding.maps import MOST_LOG_FIELD, MOST_LOG_ODDS, LogMaps, OddsMaps
from lamr_decoding.namespaces import namespace_of
from lamr_decoding.packing import Array, like
from lamr_decoding.scan import scan


def log_growth(chain: Chain) -> Array:
    """log Z of each sequence over the labeling that prunes everything, [B].

    Differentiable for torch, once: its derivatives are the expectations of what fields and coupling multiply,
    P(y_i = 1) and Σ P(y_{i-1} = y_i = 1), which forward-backward gives without a graph.
    """
    plain = chain.plain()
    if not chain.differentiable:
        return like(plain.packing.sums(_softplus(_log_forward(plain) + plain.fields)), chain.fields)
    log_forward, keep = _forward_backward(plain)
    ahead = log_forward + plain.fields
    xp = namespace_of(ahead)
    onward = xp.astype(like(~plain.packing.last, keep), xp.float64)
    pairs = xp.roll(keep, -1) * sigmoid(ahead + plain.coupling) * onward
    growth = like(plain.packing.sums(_softplus(ahead)), chain.fields)
    fields, coupling = chain.fields - chain.fields.detach(), chain.coupling - chain.coupling.detach()
    return growth + chain.packing.sums(fields * like(keep, fields) + coupling * like(pairs, fields))


def keep_probability(chain: Chain) -> Array:
    """P(y_i = keep), float64 [T]. Not differentiable."""
    if _moderate(chain) and array_api_compat.is_numpy_array(chain.fields):
        return rows.keep_probability(chain.fields, chain.packing, float(chain.coupling))
    return _forward_backward(chain)[1]


def _forward_backward(chain: Chain) -> tuple[Array, Array]:
    """Forward messages into each token in log-odds, and P(y_i = keep), [T] each."""
    xp = namespace_of(chain.fields)
    if _moderate(chain) and array_api_compat.is_numpy_array(chain.fields):
        forward, keep = rows.forward_backward(chain.fields, chain.packing, float(chain.coupling))
        return xp.log(forward), keep
    closes = xp.stack(
        [like(chain.packing.last, chain.fields), xp.flip(like(chain.packing.first, chain.fields))]
    )
    if _moderate(chain):
        odds = xp.exp(_cut(chain.fields))
        messages = _odds_messages(xp.stack([odds, xp.flip(odds)]), closes, chain.coupling)
        odds = odds * messages[0, :] * xp.flip(messages[1, :])
        return xp.log(messages[0, :]), odds / (1 + odds)
    messages = _log_messages(xp.stack([chain.fields, xp.flip(chain.fields)]), closes, chain.coupling)
    return messages[0, :], sigmoid(messages[0, :] + chain.fields + xp.flip(messages[1, :]))


def _log_forward(chain: Chain) -> Array:
    """Forward messages into each token in log-odds, [T]."""
    xp = namespace_of(chain.fields)
    closes = like(chain.packing.last, chain.fields)
    if not _moderate(chain):
        return _log_messages(chain.fields, closes, chain.coupling)
    if array_api_compat.is_numpy_array(chain.fields):
        return xp.log(rows.forward_messages(chain.fields, chain.packing, float(chain.coupling)))
    return xp.log(_odds_messages(xp.exp(_cut(chain.fields)), closes, chain.coupling))


def _softplus(values: Array) -> Array:
    """log(1 + e^x)."""
    xp = namespace_of(values)
    # To 1e-16 in all, which is as much as sums of these hold; numpy's logaddexp and log1p are four times slower.
    return xp.maximum(values, xp.zeros_like(values)) + xp.log(1 + xp.exp(-xp.abs(values)))


def _moderate(chain: Chain) -> bool:
    """Whether messages stay within e^±64, so that odds can be used as they are."""
    return bool(abs(chain.coupling) <= MOST_LOG_ODDS)


def _cut(fields: Array) -> Array:
    """Fields, cut off where it no longer matters."""
    xp = namespace_of(fields)
    return xp.clip(fields, -MOST_LOG_FIELD, MOST_LOG_FIELD)


def _odds_messages(odds: Array, closes: Array, coupling: Array) -> Array:
    """Messages into each token as odds, from e^h and whether a token closes its sequence, all [..., T]."""
    xp = namespace_of(odds)
    one = xp.ones_like(odds)
    ends = xp.stack([one, xp.where(closes, one, xp.exp(coupling))])
    return scan(OddsMaps(xp, ends, odds), one[..., :1])


def _log_messages(fields: Array, closes: Array, coupling: Array) -> Array:
    """`_odds_messages` in the logarithm."""
    xp = namespace_of(fields)
    zero = xp.zeros_like(fields)
    ends = xp.stack([zero, xp.where(closes, zero, coupling)])
    return scan(LogMaps(xp, ends, fields), zero[..., :1])
