"""Logistic regression with a penalty, by Newton's method."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ROUNDS = 30


def logistic_regression(
    features: NDArray[np.float64], positive: NDArray[np.bool_], counts: NDArray[np.float64], ridge: float
) -> tuple[NDArray[np.float64], float]:
    """Return weights [F] and bias of the likeliest logistic regression.

    Args:
        features: [N, F], one row an example.
        positive: [N], what is to be told.
        counts: [N], how much each example counts.
        ridge: how much the squared weights of the standardized features count.
    """
    centre, spread = features.mean(axis=0), features.std(axis=0) + 1e-6
    inputs = np.column_stack([(features - centre) / spread, np.ones(len(features))])
    penalty = np.diag([*[ridge] * features.shape[1], 0.0])
    weights = np.zeros(inputs.shape[1])
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (counts * (positive - chance)) - penalty @ weights
        curve = (inputs * (counts * chance * (1 - chance))[:, None]).T @ inputs + penalty
        step = np.linalg.solve(curve, slope)
        weights += step
        if np.abs(step).max() < 1e-8:
            break
    scaled: NDArray[np.float64] = weights[:-1] / spread
    return scaled, float(weights[-1] - scaled @ centre)
