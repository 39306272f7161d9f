"""The numbers of several ranges as one array, without a loop. Knows numbers only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def ranges(firsts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers int64 [sum of lengths] from each of `firsts` [R] on, one range after another."""
    steps: NDArray[np.int64] = firsts - np.cumsum(lengths) + lengths
    numbers: NDArray[np.int64] = np.repeat(steps, lengths) + np.arange(lengths.sum())
    return numbers
