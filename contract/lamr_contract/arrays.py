"""The type of most arrays here, and the numbers of several ranges as one array. Knows numbers only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float32Array = NDArray[np.float32]
Float64Array = NDArray[np.float64]


def ranges(firsts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of several ranges, one range after another, without a loop.

    Args:
        firsts: int64 [R], the first number of each range.
        lengths: int64 [R], how many numbers each range has.

    Returns:
        int64 [sum of lengths].
    """
    steps: NDArray[np.int64] = firsts - np.cumsum(lengths) + lengths
    numbers: NDArray[np.int64] = np.repeat(steps, lengths) + np.arange(lengths.sum())
    return numbers
