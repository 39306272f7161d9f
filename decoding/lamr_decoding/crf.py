"""The linear-chain CRF over two labels: its parameters, and what is asked of a packed batch.

score(y) = start[y_1] + Σ_i e_i[y_i] + Σ_{i>1} transitions[y_{i-1}, y_i] + end[y_n],  P(y | x) = exp(score(y)) / Z
(LaMR paper, section 3.2; Lafferty et al. 2001). Labels: 0 = prune, 1 = keep.

All of it takes numpy arrays or torch tensors of one device and answers in kind; it computes in float64 and returns
float64 for float64 emissions, else float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import array_api_compat

from lamr_decoding import max_product, sum_product
from lamr_decoding.chain import Chain
from lamr_decoding.maps import MOST_POTENTIAL
from lamr_decoding.namespaces import namespace_of
from lamr_decoding.packing import Array, Packing, like


@dataclass(frozen=True)
class LinearChainCrf:
    """Log-potentials that don't depend on the token.

    Attributes:
        transitions: [2, 2], from label (row) to label (column).
        start: [2], of the first token's label.
        end: [2], of the last token's label.

    Raises:
        ValueError: a wrong shape, or a potential that isn't finite or exceeds ±32768: a broken
            checkpoint.
    """

    transitions: Array
    start: Array
    end: Array

    def __post_init__(self) -> None:
        for name, shape in (("transitions", (2, 2)), ("start", (2,)), ("end", (2,))):
            values = getattr(self, name)
            if not array_api_compat.is_array_api_obj(values):
                raise ValueError(f"CRF {name} must be an array, not {type(values).__name__}")
            if tuple(values.shape) != shape:
                raise ValueError(f"CRF {name} must have shape {list(shape)}, not {list(values.shape)}")
            xp = namespace_of(values)
            # A comparison with NaN is false, so this catches NaN and infinities as well.
            if not bool(xp.all(xp.abs(values) <= MOST_POTENTIAL)):
                raise ValueError(
                    f"CRF {name} must be finite and within ±{MOST_POTENTIAL:.0f}; retrain or re-export"
                )


def viterbi(emissions: Array, cu_seqlens: Any, crf: LinearChainCrf) -> Array:
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
    return like(max_product.labels(_chain(emissions, cu_seqlens, crf).plain()), emissions)


def marginals(emissions: Array, cu_seqlens: Any, crf: LinearChainCrf) -> Array:
    """P(y_i = keep | x) of each token, [T], by forward-backward; arguments and errors as `viterbi`."""
    keep = sum_product.keep_probability(_chain(emissions, cu_seqlens, crf).plain())
    return _as(like(keep, emissions), emissions)


def nll(emissions: Array, labels: Array, cu_seqlens: Any, crf: LinearChainCrf) -> Array:
    """-log P(y | x) of each sequence, [B] (paper, section 3.3), y = `labels` ([T], 0 or 1). Torch may derive it once.

    Raises:
        ValueError: as `viterbi`, or labels of another shape or other than 0 and 1.
    """
    chain = _chain(emissions, cu_seqlens, crf)
    score = chain.scores(_kept(labels, chain))  # like log_growth, relative to pruning everything
    return _as(sum_product.log_growth(chain) - score, emissions)


def _chain(emissions: Array, cu_seqlens: Any, crf: LinearChainCrf) -> Chain:
    if not array_api_compat.is_array_api_obj(emissions):
        raise ValueError(f"emissions must be an array, not {type(emissions).__name__}")
    xp = namespace_of(emissions)
    if not xp.isdtype(emissions.dtype, ("real floating", "integral")):
        raise ValueError(f"emissions must be real numbers, not {emissions.dtype}")
    if emissions.ndim != 2 or emissions.shape[1] != 2:
        raise ValueError(f"emissions must have shape [T, 2], not {list(emissions.shape)}")
    return Chain.of(emissions, Packing.of(cu_seqlens, int(emissions.shape[0])), crf)


def _kept(labels: Array, chain: Chain) -> Array:
    tokens = chain.packing.tokens
    if not array_api_compat.is_array_api_obj(labels) or tuple(labels.shape) != (tokens,):
        raise ValueError(f"labels must be an array of shape [{tokens}], one label a token")
    keep = labels == 1
    xp = namespace_of(labels)
    if not bool(xp.all(keep | (labels == 0))):
        raise ValueError("labels must be 0 (prune) or 1 (keep); a packed batch has no padding to mark")
    return like(keep, chain.fields)


def _as(result: Array, emissions: Array) -> Array:
    xp = namespace_of(emissions)
    return xp.astype(result, xp.float64 if emissions.dtype == xp.float64 else xp.float32)
