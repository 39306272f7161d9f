"""The linear-chain CRF over two labels: what is asked of a packed batch.

score(y) = start[y_1] + Σ_i e_i[y_i] + Σ_{i>1} transitions[y_{i-1}, y_i] + end[y_n],  P(y | x) = exp(score(y)) / Z
(LaMR paper, section 3.2; Lafferty et al. 2001). Labels: 0 = prune, 1 = keep.

Forward-backward: the message into token i says how all earlier (or all later) tokens weigh its label: the odds by which
they favour keep. Token i passes on (1 + t·e^J) / (1 + t), where t = message·e^h_i; after the last token of a sequence
the message is 1 again. Backward is the same recursion over the reversed batch. Where messages stay within e^±64, odds
can be used as they are (`lamr_decoding.rows`); else they are taken in the logarithm.

All of it computes in float64. Marginals are float64 for float64 emissions, else float32.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lamr_decoding import rows
from lamr_decoding.chain import Chain, LinearChainCrf, Packing
from lamr_decoding.layers import Array, sigmoid
from lamr_decoding.maps import MOST_LOG_ODDS, LogMaps, scan


def viterbi(emissions: Array, cu_seqlens: npt.ArrayLike, crf: LinearChainCrf) -> npt.NDArray[np.uint8]:
    """The best labeling of each sequence, uint8 [T].

    Ties: where two best labelings differ last, the one that keeps wins (so a chain without preference is kept
    whole). Potentials are compared as multiples of 2^-28 nats, exactly, so that a sequence's labels don't
    depend on its neighbours in the batch.

    Args:
        emissions: [T, 2], log-potentials of prune and keep.
        cu_seqlens: [B+1] integers, see `Packing`.
        crf: its potentials.

    Raises:
        ValueError: shapes that don't fit, empty sequences, NaN or infinite emissions.
    """
    return rows.best_labels(_chain(emissions, cu_seqlens, crf))


def marginals(emissions: Array, cu_seqlens: npt.ArrayLike, crf: LinearChainCrf) -> Array:
    """P(y_i = keep | x) of each token, [T], by forward-backward; arguments and errors as `viterbi`."""
    keep = keep_probability(_chain(emissions, cu_seqlens, crf))
    return keep.astype(np.float64 if emissions.dtype == np.float64 else np.float32, copy=False)


def _chain(emissions: Array, cu_seqlens: npt.ArrayLike, crf: LinearChainCrf) -> Chain:
    if not isinstance(emissions, np.ndarray):
        raise ValueError(f"emissions must be an array, not {type(emissions).__name__}")
    if not (np.issubdtype(emissions.dtype, np.floating) or np.issubdtype(emissions.dtype, np.integer)):
        raise ValueError(f"emissions must be real numbers, not {emissions.dtype}")
    if emissions.ndim != 2 or emissions.shape[1] != 2:
        raise ValueError(f"emissions must have shape [T, 2], not {list(emissions.shape)}")
    return Chain.of(emissions, Packing.of(cu_seqlens, len(emissions)), crf)


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
