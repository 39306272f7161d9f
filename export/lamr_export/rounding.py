"""Weights as whole numbers of levels, rounded so that the errors of a product cancel.

When each weight is rounded by itself, every input channel makes an error, and the errors of channels that go up and
down together add up. Here channels are rounded one after another, and the channels still to come take back the error of
each, as far as the observed inputs allow: optimal brain quantization in the form of GPTQ (Frantar et al. 2022,
algorithm 1). It costs nothing when the product runs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

# This share of the mean second moment is added to every channel's, because channels that the samples hardly moved may
# move later.
DAMPING = 0.01
_BLOCK = 128  # channels whose errors are handed on together


def cancelling_levels(weight: Floats, scale: Floats, gram: Floats, most: int) -> NDArray[np.int8]:
    """Levels `[C, out]` whose products with the observed inputs come near to those of the weight.

    Args:
        weight: `[C, out]`.
        scale: `[out]`, the value of one level.
        gram: `[C, C]`, the sum of x^T x over observed inputs x `[1, C]`.
        most: the largest magnitude of a level.
    """
    channels = weight.shape[0]
    gram = gram.astype(np.float64)
    mean = max(float(np.diag(gram).mean()), 1e-12)
    gram[np.diag_indices(channels)] += DAMPING * mean
    # The channels that matter most are rounded first, while all others can still adapt.
    order = np.argsort(-np.diag(gram), kind="stable")
    # Row c of the factor says how the channels after c make up for an error of c.
    answers = np.linalg.cholesky(np.linalg.inv(gram[np.ix_(order, order)])).T
    left = weight[order].astype(np.float64)
    levels = np.empty_like(left)
    for start in range(0, channels, _BLOCK):
        stop = min(start + _BLOCK, channels)
        errors = np.empty((stop - start, weight.shape[1]))
        for channel in range(start, stop):
            levels[channel] = np.clip(np.rint(left[channel] / scale), -most, most)
            errors[channel - start] = (left[channel] - levels[channel] * scale) / answers[channel, channel]
            left[channel + 1 : stop] -= np.outer(
                answers[channel, channel + 1 : stop], errors[channel - start]
            )
        left[stop:] -= answers[start:stop, stop:].T @ errors
    result = np.empty(weight.shape, np.int8)
    result[order] = levels
    return result
