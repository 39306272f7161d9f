"""How much of each function the fine stage keeps: more of those that tell more about the question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from lamr_contract.arrays import Float64Array

WHOLE = 0.999
"""A function with such a share is kept whole."""


def rates(
    scores: Sequence[float], lines: Sequence[int], ratio: float, beta: float, min_lines: int
) -> Float64Array:
    """Return the share of each of n functions that is kept, float64 `[n]`, from 0 to 1.

    Short functions are kept whole. The others share what remains of the lines: each gets the mean share times 1 - beta
    to 1 + beta, from the least to the best score, and all are scaled so that the sum fits.

    Args:
        scores: how much each tells about the question.
        lines: of each.
        ratio: the share of all lines that is aimed at.
        beta: how far shares differ, from 0 to 1.
        min_lines: functions with fewer lines are short.
    """
    count, value = np.asarray(lines, np.int64), np.asarray(scores, np.float64)
    large = count >= min_lines
    result = np.ones(len(count))
    target = max(0, int(count.sum() * ratio) - int(count[~large].sum()))
    whole = int(count[large].sum())
    if target >= whole:
        return result
    result[large] = _shared(value[large], count[large].astype(np.float64), target, beta)
    return result


def _shared(scores: Float64Array, lines: Float64Array, target: int, beta: float) -> Float64Array:
    """Return the shares of functions which have more lines together than is aimed at."""
    mean = target / lines.sum()
    finite = np.isfinite(scores)
    least, best = (scores[finite].min(), scores[finite].max()) if finite.any() else (0.0, 0.0)
    if least == best:
        return np.full(len(scores), mean)
    rank = np.where(finite, (np.where(finite, scores, least) - least) / (best - least), 0.0)
    shares: Float64Array = np.clip(mean * (1 + beta * (rank - 0.5) * 2), 0.0, 1.0)
    kept = float(shares @ lines)
    return np.clip(shares * (target / kept), 0.0, 1.0) if kept > 0 and abs(kept - target) > 1 else shares
