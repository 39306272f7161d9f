"""The linear-chain CRF over two labels: what is asked of a packed batch.

score(y) = start[y_1] + Σ_i e_i[y_i] + Σ_{i>1} transitions[y_{i-1}, y_i] + end[y_n],  P(y | x) = exp(score(y)) / Z
(LaMR paper, section 3.2; Lafferty et al. 2001). Labels: 0 = prune, 1 = keep.

Forward-backward: the message into token i says how all earlier (or all later) tokens weigh its label: the odds by which
they favour keep. Token i passes on (1 + t·e^J) / (1 + t), where t = message·e^h_i; after the last token of a sequence
the message is 1 again. Backward is the same recursion over the reversed batch. Where messages stay within e^±64, odds
can be used as they are; else they are taken in the logarithm.

Viterbi: where neighbours attract (J >= 0) the message into the next token, by how much the best prefix that keeps it
beats the best that prunes it, is clamp(message + h_i + J, 0, J). Going back, d_i = message + h_i decides: token i is
kept if d_i >= 0, pruned if d_i < -J, and in between takes the label of its successor. Fields are taken as whole
multiples of 2^-28 nats. All sums are then exact in float64, so the order in which maps are composed, and thus where a
sequence lies in its batch, can't change a label; and a tie is a tie.

All of it computes in float64. Marginals are float64 for float64 emissions, else float32."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lamr_model.crf.chain import Chain, LinearChainCrf, Packing
from lamr_model.crf.layers import Array, sigmoid
from lamr_model.crf.maps import (
    MOST_FIELD,
    MOST_LOG_FIELD,
    MOST_LOG_ODDS,
    UNITS_PER_NAT,
    ClampMaps,
    LabelMaps,
    LogMaps,
    OddsMaps,
    scan,
)

_MOST_AT_ONCE = 1 << 12
"""Tokens of chains that are taken together: numpy's calls take most of their time, and a cache holds their maps."""


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
        ValueError: shapes that don't fit, empty sequences, NaN or infinite emissions."""
    return best_labels(_chain(emissions, cu_seqlens, crf))


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


def best_labels(chain: Chain) -> npt.NDArray[np.uint8]:
    """The best labels, [T]; ties as `viterbi` says."""
    first, last = chain.packing.first, chain.packing.last
    coupling = float(np.rint(chain.coupling * UNITS_PER_NAT))
    fields = np.rint(_within(chain.fields, MOST_FIELD) * UNITS_PER_NAT)
    repels = coupling < 0
    if repels:
        # Relabel odd tokens, so that the coupling changes its sign: with y = 1 - z there, h y = h - h z, and the term
        # J y y' of each neighbour becomes J y' - J z y'.
        fields[1::2] *= -1
        fields[::2] += coupling * (2.0 - first - last)[::2]
        coupling = -coupling
    ahead = fields + coupling
    ends = np.stack([np.zeros_like(ahead), np.where(last, 0, coupling)])
    ahead += scan(ClampMaps(ends, ahead), np.zeros(1))
    if repels:
        ahead[1::2] -= 1  # a tie must keep the label that was turned, hence prune
    certain, follows = ahead >= coupling, (ahead >= 0) & ~last
    back = LabelMaps(certain[::-1], follows[::-1])
    labels: npt.NDArray[np.bool_] = certain | (follows & scan(back, np.zeros(1, dtype=np.bool_))[::-1])
    if repels:
        labels[1::2] ^= True
    return labels.view(np.uint8)


def keep_probability(chain: Chain) -> Floats:
    """P(y_i = keep), [T]."""
    return _both_ways(chain)[1]


def keep_probabilities(chains: Sequence[Chain]) -> Floats:
    """What `keep_probability` returns of each of K chains over the same tokens, [K, T]; of few tokens all at once."""
    packing, coupling = chains[0].packing, np.array([[each.coupling] for each in chains])
    if packing.tokens > _MOST_AT_ONCE or np.abs(coupling).max() > MOST_LOG_ODDS:
        return np.stack([keep_probability(each) for each in chains])
    fields = np.stack([each.fields for each in chains])
    closes = np.stack([packing.last, packing.first[::-1]])[:, None]
    forward, backward = _messages_in_odds(np.stack([fields, fields[:, ::-1]]), closes, coupling)
    return sigmoid(forward + fields + backward[:, ::-1])


def expectations(chain: Chain) -> tuple[float, Floats, float]:
    """What a likelihood and its derivatives are made of.

    Returns:
        Σ log Z over the labelings that prune everything; and its derivatives by fields and coupling: P(y_i = keep),
        [T], and Σ P(y_{i-1} = y_i = keep)."""
    forward, keep = _both_ways(chain)
    ahead, last = forward + chain.fields, chain.packing.last
    pairs = (np.roll(keep, -1) * sigmoid(ahead + chain.coupling))[~last].sum()
    return float(np.logaddexp(0, ahead).sum()), keep, float(pairs)


def _both_ways(chain: Chain) -> tuple[Floats, Floats]:
    """Forward messages into each token in log-odds, and P(y_i = keep), [T] each."""
    messages = _messages_in_odds if abs(chain.coupling) <= MOST_LOG_ODDS else _messages
    forward = messages(chain.fields, chain.packing.last, chain.coupling)
    backward = messages(chain.fields[::-1], chain.packing.first[::-1], chain.coupling)[::-1]
    return forward, sigmoid(forward + chain.fields + backward)


def _messages(fields: Floats, closes: npt.NDArray[np.bool_], coupling: float) -> Floats:
    """Messages into each token in log-odds, [T], from h and whether a token closes its sequence."""
    ends = np.stack([np.zeros_like(fields), np.where(closes, 0, coupling)])
    return scan(LogMaps(ends, fields), np.zeros(1))


def _messages_in_odds(fields: Floats, closes: npt.NDArray[np.bool_], coupling: npt.ArrayLike) -> Floats:
    """What `_messages` returns, [..., T] for several chains, for couplings within ±`MOST_LOG_ODDS`."""
    ends = np.stack([np.ones_like(fields), np.where(closes, 1, np.exp(coupling))])
    return np.log(
        scan(OddsMaps(ends, np.exp(_within(fields, MOST_LOG_FIELD))), np.ones((*fields.shape[:-1], 1)))
    )


def _within(values: Floats, most: float) -> Floats:
    """`values` cut off at ±`most`."""
    return np.minimum(np.maximum(values, -most), most)
