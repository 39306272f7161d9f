"""`EncoderReading`: what an encoder says of lines, by whatever chunks of a document it has read.

The module knows a model's outputs for tokens, and the lines of tokens. What the numbers are worth,
`reader` knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from lamr_postprocess.lines import TokenLines
from numpy.typing import NDArray

from lamr_contract.arrays import Float64Array, logit
from lamr_contract.scoring.merging import Averages, Outputs, zeros_by_column
from lamr_contract.scoring.rules import DEPENDENCY, SEMANTIC

RUBRICS = (SEMANTIC, DEPENDENCY)
"""The rubrics that are read; an encoder without them has no line model."""
ENCODED = len(RUBRICS) + 2
"""The outputs that are read: the marginals of these rubrics, the relevance and the marginal of the fused chain."""
# The least spread that log-odds are divided by: a file whose parts are all alike has no ranking to be blown up.
_LEAST_SPREAD = 0.1


def encoded_logits(outputs: Outputs, rubrics: Sequence[str]) -> Float64Array:
    """Return the log-odds float64 [m, 4] of a model's outputs for m tokens.

    Args:
        outputs: they have `rubric_prob`.
        rubrics: the names of the model's rubrics, in the order of the K axis.
    """
    assert outputs.rubric_prob is not None
    columns = zeros_by_column(len(outputs.keep), ENCODED)
    for place, name in enumerate(RUBRICS):
        columns[:, place] = logit(outputs.rubric_prob[:, rubrics.index(name)])
    columns[:, -2], columns[:, -1] = logit(outputs.relevance), logit(outputs.keep_prob)
    return columns


@dataclass(frozen=True, eq=False)
class EncoderReading:
    """What an encoder says of L lines.

    Attributes:
        logits: float64 [L, 4], the means of `encoded_logits` over each line's tokens that were read.
        read: bool [L], of which lines any token was read.
    """

    logits: Float64Array
    read: NDArray[np.bool_]

    @classmethod
    def of(cls, averages: Averages, lines: TokenLines) -> EncoderReading:
        """Return the reading of lines.

        Args:
            averages: the means of `encoded_logits` over chunks.
            lines: the lines of the tokens.
        """
        share = lines.means(averages.read.astype(np.float64)).astype(np.float64)
        read = share > 0
        means = np.stack([lines.means(averages.values[:, place]) for place in range(ENCODED)], axis=1)
        return cls(means.astype(np.float64) / np.where(read, share, 1.0)[:, None], read)

    @property
    def compared(self) -> Float64Array:
        """The log-odds float64 [L, 4] less their means over the lines that were read, in units of their spreads.

        What counts is how a line compares with the rest of its file. Lines that weren't read have 0.
        """
        read = self.read[:, None].astype(np.float64)
        count = max(1.0, float(read.sum()))
        mean = (self.logits * read).sum(axis=0) / count
        spread = np.sqrt((((self.logits - mean) * read) ** 2).sum(axis=0) / count)
        compared: Float64Array = (self.logits - mean) / (spread + _LEAST_SPREAD) * read
        return compared
