"""Fits how much of a file the fused chain keeps: a bias on the emissions for keep, so that Viterbi's path decides.

The likelihood of labels that are mostly 0 teaches a chain to keep next to nothing: few tokens are likelier gold than
not. The order of the emissions is right all the same, so a constant brings the path to the share of tokens that a
pruner should keep. It is added to each rubric's emissions, and reaches the fused ones whole since a gate's weights sum
to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from lamr_decoding import LinearChainCrf, viterbi
from numpy.typing import NDArray

WIDEST = 24.0
"""The bias lies between this and its negative; at both ends emissions say nothing any more."""


@dataclass(frozen=True, eq=False)
class Margins:
    """The fused emissions of one whole file, without a bias.

    Attributes:
        values: float32 `[m]`, the emission of keep less that of prune, of the code tokens of all chunks.
        bounds: int64 `[B + 1]`, where each chunk's tokens begin and the last one's end.
    """

    values: NDArray[np.float32]
    bounds: NDArray[np.int64]

    def kept(self, crf: LinearChainCrf, bias: float) -> float:
        """Return the share of tokens on Viterbi's path."""
        emissions = np.stack([np.zeros_like(self.values), self.values + np.float32(bias)], axis=1)
        return float(viterbi(emissions, self.bounds, crf).mean())


def fit_keep_bias(files: Sequence[Margins], crf: LinearChainCrf, share: float) -> float:
    """Return the bias at which the paths keep a share of the tokens, as a mean over files; found by bisection."""
    return bisect(lambda bias: float(np.mean([file.kept(crf, bias) for file in files])), share)


def bisect(kept: Callable[[float], float], share: float) -> float:
    """Return the bias between -`WIDEST` and `WIDEST` at which a growing function reaches a share, to 0.006."""
    low, high = -WIDEST, WIDEST
    for _ in range(13):
        middle = (low + high) / 2
        low, high = (middle, high) if kept(middle) < share else (low, middle)
    return round((low + high) / 2, 3)
