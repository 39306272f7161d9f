"""The linear-chain CRF over two labels: its parameters, and what is asked of a packed batch.

score(y) = start[y_1] + Σ_i e_i[y_i] + Σ_{i>1} transitions[y_{i-1}, y_i] + end[y_n],  P(y | x) = exp(score(y)) / Z
(LaMR paper, section 3.2; Lafferty et al. 2001). Labels: 0 = prune, 1 = keep.

This module knows the model and checks its inputs; the passes over the chain are in `sum_product` and
`max_product`. All of it takes numpy arrays or torch tensors of one device and answers in kind; it computes in
float64 and returns float64 for float64 emissions, else float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import array_api_compat

from lamr_decoding import max_product, sum_product
from lamr_decoding.packing import Array, Packing, like

# Potentials of a CRF beyond this are a broken checkpoint; the exact arithmetic of `max_product` counts on it.
MOST_POTENTIAL = max_product.MOST_POTENTIAL


@dataclass(frozen=True)
class LinearChainCrf:
    """Log-potentials that don't depend on the token.

    Attributes:
        transitions: [2, 2], from label (row) to label (column).
        start: [2], of the first token's label.
        end: [2], of the last token's label.

    Raises:
        ValueError: a wrong shape, or a potential that isn't finite or exceeds ±`MOST_POTENTIAL`.
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
            xp = array_api_compat.array_namespace(values)
            # A comparison with NaN is false, so this catches NaN and infinities as well.
            if not bool(xp.all(xp.abs(values) <= MOST_POTENTIAL)):
                raise ValueError(
                    f"CRF {name} must be finite and within ±{MOST_POTENTIAL:.0f}; retrain or re-export"
                )


class _Wide(NamedTuple):
    """A `LinearChainCrf` in float64, in the namespace and on the device of the emissions."""

    transitions: Array
    start: Array
    end: Array


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
    emissions, packing = _checked(emissions, cu_seqlens)
    return max_product.labels(margins(emissions, packing, crf), packing, _wide(crf, emissions))


def marginals(emissions: Array, cu_seqlens: Any, crf: LinearChainCrf) -> Array:
    """P(y_i = keep | x) of each token, [T], by forward-backward; arguments and errors as `viterbi`."""
    emissions, packing = _checked(emissions, cu_seqlens)
    keep = sum_product.keep_probability(margins(emissions, packing, crf), packing, _wide(crf, emissions))
    return _as(keep, emissions)


def log_partition(emissions: Array, cu_seqlens: Any, crf: LinearChainCrf) -> Array:
    """log Z of each sequence, [B]; arguments and errors as `viterbi`. Differentiable for torch."""
    emissions, packing = _checked(emissions, cu_seqlens)
    return _as(_log_partition(emissions, packing, crf), emissions)


def path_score(emissions: Array, labels: Array, cu_seqlens: Any, crf: LinearChainCrf) -> Array:
    """score(y) of the labeling `labels` ([T], 0 or 1) of each sequence, [B]. Differentiable for torch.

    Raises:
        ValueError: as `viterbi`, or labels of another shape or other than 0 and 1.
    """
    emissions, packing = _checked(emissions, cu_seqlens)
    return _as(_path_score(emissions, labels, packing, crf), emissions)


def nll(emissions: Array, labels: Array, cu_seqlens: Any, crf: LinearChainCrf) -> Array:
    """-log P(y | x) of each sequence, [B] (paper, section 3.3). Differentiable for torch; errors as `path_score`."""
    emissions, packing = _checked(emissions, cu_seqlens)
    score = _path_score(emissions, labels, packing, crf)
    return _as(_log_partition(emissions, packing, crf) - score, emissions)


def margins(emissions: Array, packing: Packing, crf: LinearChainCrf) -> Array:
    """How far keep is ahead of prune at each token, float64 [T], with start and end folded in."""
    xp = array_api_compat.array_namespace(emissions)
    wide = _wide(crf, emissions)
    first = xp.astype(like(packing.first, emissions), xp.float64)
    last = xp.astype(like(packing.last, emissions), xp.float64)
    ahead = xp.astype(emissions[:, 1], xp.float64) - xp.astype(emissions[:, 0], xp.float64)
    return ahead + first * (wide.start[1] - wide.start[0]) + last * (wide.end[1] - wide.end[0])


def _log_partition(emissions: Array, packing: Packing, crf: LinearChainCrf) -> Array:
    wide = _wide(crf, emissions)
    growth = sum_product.log_growth(margins(emissions, packing, crf), packing, wide)
    xp = array_api_compat.array_namespace(emissions)
    steps = like(packing.lengths - 1, emissions)
    never_keep = packing.sums(xp.astype(emissions[:, 0], xp.float64)) + steps * wide.transitions[0, 0]
    return never_keep + wide.start[0] + wide.end[0] + packing.sums(growth)


def _path_score(emissions: Array, labels: Array, packing: Packing, crf: LinearChainCrf) -> Array:
    wide = _wide(crf, emissions)
    xp = array_api_compat.array_namespace(emissions)
    if not array_api_compat.is_array_api_obj(labels) or tuple(labels.shape) != (packing.tokens,):
        raise ValueError(f"labels must be an array of shape [{packing.tokens}], one label a token")
    keep = labels == 1
    if not bool(xp.all(keep | (labels == 0))):
        raise ValueError("labels must be 0 (prune) or 1 (keep); a packed batch has no padding to mark")
    first, last = like(packing.first, emissions), like(packing.last, emissions)
    transitions = wide.transitions
    after_prune = xp.where(keep, transitions[0, 1], transitions[0, 0])
    after_keep = xp.where(keep, transitions[1, 1], transitions[1, 0])
    from_before = xp.where(xp.roll(keep, 1), after_keep, after_prune)
    score = xp.where(first, xp.where(keep, wide.start[1], wide.start[0]), from_before)
    score = score + xp.where(keep, emissions[:, 1], emissions[:, 0])
    score = score + xp.where(last, xp.where(keep, wide.end[1], wide.end[0]), xp.zeros_like(score))
    return packing.sums(score)


def _checked(emissions: Array, cu_seqlens: Any) -> tuple[Array, Packing]:
    if not array_api_compat.is_array_api_obj(emissions):
        raise ValueError(f"emissions must be an array, not {type(emissions).__name__}")
    if emissions.ndim != 2 or emissions.shape[1] != 2:
        raise ValueError(f"emissions must have shape [T, 2], not {list(emissions.shape)}")
    xp = array_api_compat.array_namespace(emissions)
    finite = xp.isfinite(emissions)
    if not bool(xp.all(finite)):
        at = int(xp.argmin(xp.astype(xp.reshape(finite, (-1,)), xp.uint8))) // 2
        raise ValueError(
            f"emissions must be finite; token {at} has {float(emissions[at, 0])} and {float(emissions[at, 1])}: "
            "look for overflow in the encoder (float16?) or broken weights"
        )
    return emissions, Packing.of(cu_seqlens, int(emissions.shape[0]))


def _wide(crf: LinearChainCrf, other: Array) -> _Wide:
    """The CRF in float64, beside `other`; keeps torch's graph."""
    xp = array_api_compat.array_namespace(other)
    parts = (like(part, other) for part in (crf.transitions, crf.start, crf.end))
    return _Wide(*(xp.astype(part, xp.float64) for part in parts))


def _as(result: Array, emissions: Array) -> Array:
    xp = array_api_compat.array_namespace(emissions)
    return xp.astype(result, xp.float64 if emissions.dtype == xp.float64 else xp.float32)
