"""Probabilities as log-odds and back: what scores are added and averaged in. Knows numbers only."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

# A marginal of exactly 0 or 1 has no logit; float32 sums are no finer than this anyway.
_EPSILON = 1e-6


def logit(p: ArrayLike) -> NDArray[np.float64]:
    """Log-odds of probabilities of any shape, finite at 0 and 1."""
    clipped = np.minimum(np.maximum(np.asarray(p, np.float64), _EPSILON), 1 - _EPSILON)
    logits: NDArray[np.float64] = np.log(clipped) - np.log1p(-clipped)
    return logits


def sigmoid(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of log-odds of any shape."""
    found: NDArray[np.float64] = 1 / (1 + np.exp(-logits))
    return found
