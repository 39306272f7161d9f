"""Probabilities as log-odds and back: scores are added and averaged as log-odds. Knows numbers only."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lamr_contract.arrays import Float64Array

# A marginal of exactly 0 or 1 has no logit; float32 sums are no finer than this anyway.
_EPSILON = 1e-6


def logit(p: ArrayLike) -> Float64Array:
    """Return the log-odds of probabilities of any shape; they are finite at 0 and 1."""
    clipped = np.minimum(np.maximum(np.asarray(p, np.float64), _EPSILON), 1 - _EPSILON)
    logits: Float64Array = np.log(clipped) - np.log1p(-clipped)
    return logits


def sigmoid(logits: Float64Array) -> Float64Array:
    """Return the probabilities of log-odds of any shape."""
    probabilities: Float64Array = 1 / (1 + np.exp(-logits))
    return probabilities
