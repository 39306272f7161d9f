"""The linear-chain CRF over two labels: what is asked of a packed batch.

score(y) = start[y_1] + Σ_i e_i[y_i] + Σ_{i>1} transitions[y_{i-1}, y_i] + end[y_n],  P(y | x) = exp(score(y)) / Z
(LaMR paper, section 3.2; Lafferty et al. 2001). Labels: 0 = prune, 1 = keep.

All of it computes in float64. Marginals are float64 for float64 emissions, else float32.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lamr_decoding import rows, sum_product
from lamr_decoding.chain import Chain, LinearChainCrf
from lamr_decoding.packing import Array, Packing


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
    keep = sum_product.keep_probability(_chain(emissions, cu_seqlens, crf))
    return keep.astype(np.float64 if emissions.dtype == np.float64 else np.float32, copy=False)


def _chain(emissions: Array, cu_seqlens: npt.ArrayLike, crf: LinearChainCrf) -> Chain:
    if not isinstance(emissions, np.ndarray):
        raise ValueError(f"emissions must be an array, not {type(emissions).__name__}")
    if not (np.issubdtype(emissions.dtype, np.floating) or np.issubdtype(emissions.dtype, np.integer)):
        raise ValueError(f"emissions must be real numbers, not {emissions.dtype}")
    if emissions.ndim != 2 or emissions.shape[1] != 2:
        raise ValueError(f"emissions must have shape [T, 2], not {list(emissions.shape)}")
    return Chain.of(emissions, Packing.of(cu_seqlens, len(emissions)), crf)
