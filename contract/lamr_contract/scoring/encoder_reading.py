"""What an encoder says of lines, as the line model reads it: four log-odds a line, and whether it was read at all.

The module knows a model's outputs for tokens, and the lines of tokens; what the numbers are worth, the line model
knows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from lamr_postprocess.lines import TokenLines

from lamr_contract.arrays import Float32Array, Float64Array
from lamr_contract.scoring.merging import Averages, Outputs, zeros_by_column
from lamr_contract.scoring.odds import logit
from lamr_contract.scoring.rules import DEPENDENCY, SEMANTIC

RUBRICS = (SEMANTIC, DEPENDENCY)
"""The rubrics that the line model reads; an encoder without them can't be read by it."""
ENCODED = len(RUBRICS) + 2
"""The outputs that are read: the marginals of these rubrics, the relevance and the marginal of the fused chain."""
READ = ENCODED + 1
"""E, the numbers of a line: those of the outputs, and 1 for a line that was read."""
_SCALE, _MOST = 4.0, 3.0  # log-odds are divided by the first, and then bounded


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


def encoder_reading(averages: Averages, lines: TokenLines) -> Float32Array:
    """Return what is known of L lines, float32 [L, 5]; 0 for those of which no token was read.

    Args:
        averages: the means of `encoded_logits` over chunks.
        lines: the lines of the tokens.
    """
    read = lines.means(averages.read.astype(np.float64))
    held = read > 0
    reading = np.zeros((len(read), READ), np.float32)
    for place in range(ENCODED):
        means = lines.means(averages.values[:, place])
        reading[held, place] = np.clip(means[held] / read[held] / _SCALE, -_MOST, _MOST)
    reading[held, -1] = 1.0
    return reading
