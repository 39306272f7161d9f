"""Forward-backward over a packed batch.

The message into token i says how all earlier (or all later) tokens weigh its label: the odds by which they favour keep.
Token i passes on (1 + t·e^J) / (1 + t), where t = message·e^h_i; after the last token of a sequence the message is 1
again. Backward is the same recursion over the reversed batch. Where messages stay within e^±64, odds can be used as
they are (`lamr_decoding.rows`); else they are taken in the logarithm.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lamr_decoding import rows
from lamr_decoding.chain import Chain
from lamr_decoding.layers import sigmoid
from lamr_decoding.maps import MOST_LOG_ODDS, LogMaps, scan

Floats = npt.NDArray[np.float64]


def keep_probability(chain: Chain) -> Floats:
    """P(y_i = keep), [T]."""
    return rows.keep_probability(chain) if _moderate(chain) else _in_logarithms(chain)[1]


def expectations(chain: Chain) -> tuple[float, Floats, float]:
    """What a likelihood and its derivatives are made of.

    Returns:
        Σ log Z over the labelings that prune everything; and its derivatives by fields and coupling: P(y_i = keep),
        [T], and Σ P(y_{i-1} = y_i = keep).
    """
    if _moderate(chain):
        forward, keep = rows.forward_backward(chain)
        forward = np.log(forward)
    else:
        forward, keep = _in_logarithms(chain)
    ahead, last = forward + chain.fields, chain.packing.last
    pairs = (np.roll(keep, -1) * sigmoid(ahead + chain.coupling))[~last].sum()
    return float(np.logaddexp(0, ahead).sum()), keep, float(pairs)


def _moderate(chain: Chain) -> bool:
    return abs(chain.coupling) <= MOST_LOG_ODDS


def _in_logarithms(chain: Chain) -> tuple[Floats, Floats]:
    """Forward messages into each token in log-odds, and P(y_i = keep), [T] each."""
    forward = _messages(chain.fields, chain.packing.last, chain.coupling)
    backward = _messages(chain.fields[::-1], chain.packing.first[::-1], chain.coupling)[::-1]
    return forward, sigmoid(forward + chain.fields + backward)


def _messages(fields: Floats, closes: npt.NDArray[np.bool_], coupling: float) -> Floats:
    """Messages into each token in log-odds, [T], from h and whether a token closes its sequence."""
    ends = np.stack([np.zeros_like(fields), np.where(closes, 0, coupling)])
    return scan(LogMaps(ends, fields), np.zeros(1))
