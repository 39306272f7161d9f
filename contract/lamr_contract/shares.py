"""Shares of evidence: how much of what speaks for a document's lines lies in lines that score no better than one.

A threshold on log-odds keeps about as much of every file. But where a few lines stand out, these are the answer, and
where all are nearly alike, more of them are needed. A line's evidence is exp(log-odds / spread), and its share is that
of all lines that score at most as much, so a threshold of 0.4 keeps the best lines with six tenths of the evidence: few
where they stand out, many where nothing does. Top-p sampling (Holtzman et al. 2020) cuts its candidates so. The
order of lines stays. This module knows scores of lines; it knows no text and no model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lamr_contract.arrays import Float64Array
from lamr_contract.odds import logit


def evidence_shares(scores: Float64Array, counted: NDArray[np.bool_], spread: float) -> Float64Array:
    """Return each line's share of the evidence, float64 [L] in [0, 1]; the best line has 1.

    Args:
        scores: float64 [L], in [0, 1].
        counted: bool [L], the lines that evidence is summed over; others get the share of a line that scores as much.
        spread: how many units of log-odds lie between a line and one with e times its evidence; above 0.
    """
    if not counted.any():
        return np.asarray(scores, np.float64)
    logits = logit(scores)
    ordered = np.sort(logits[counted])
    held = np.cumsum(np.exp((ordered - ordered[-1]) / spread))
    before = np.searchsorted(ordered, logits, side="right")
    shares: Float64Array = np.append(0.0, held)[before] / held[-1]
    return shares
