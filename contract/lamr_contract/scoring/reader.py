"""`EncoderReading`: what an encoder says of lines, by whatever chunks of a document it has read; and `Reader`: what
lines are worth then.

A network over lines weighs what the encoder says against the line model's log-odds and the forms of lines. Lines that
weren't read have nothing of the encoder, and go by the others. The module knows features by name; it knows no chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from lamr_postprocess.lines import TokenLines
from numpy.typing import NDArray

from lamr_contract.arrays import Float64Array, logit
from lamr_contract.names import KEEP_PROB, RELEVANCE
from lamr_contract.scoring.line_model import AskedLines
from lamr_contract.scoring.merging import Averages, Outputs, zeros_by_column
from lamr_contract.scoring.network import LineNetwork
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


ENCODER_OUTPUTS = (*RUBRICS, RELEVANCE, KEEP_PROB)
LINES = "lines"
"""The feature that is the line model's log-odds."""
ABOVE, BELOW = "above.", "below."
"""Each begins the name of a feature that is taken of the line that heads the line, or as the mean over the lines that
it heads itself; 0 where there is none."""
FEATURES = (
    *(*ENCODER_OUTPUTS, "windows", "around", "passages", "rare"),
    *("comment", "marks", "imports", "length", "repeats", "indent", "opening", "begins"),
    *(ABOVE + name for name in (SEMANTIC, RELEVANCE, KEEP_PROB, "windows", "around", "passages", "rare")),
    *(BELOW + name for name in (SEMANTIC, "around", "rare")),
    *(LINES, "asks"),
)
"""What the network reads of a line."""


@dataclass(frozen=True, eq=False)
class Reader:
    """The network, and how it takes the line model's log-odds.

    Attributes:
        network: it reads `FEATURES`.
        scale, shift: the line model's log-odds are multiplied by the first, and the second is added.

    Raises:
        ValueError: the network reads other features.
    """

    network: LineNetwork
    scale: float = 1.0
    shift: float = 0.0

    def __post_init__(self) -> None:
        if self.network.features != FEATURES:
            raise ValueError(f"the network reads {list(self.network.features)}, not {list(FEATURES)}")

    def logits(self, asked: AskedLines, lines: Float64Array, reading: EncoderReading) -> Float64Array:
        """Return the log-odds of L lines, float64 [L].

        Args:
            asked: the query and the lines, as the line model read them.
            lines: float64 [L], the line model's log-odds.
            reading: what the encoder says.
        """
        features = features_of_lines(asked, self.scale * lines + self.shift, reading)
        return self.network.logits(features, asked.positions.layout)


def features_of_lines(asked: AskedLines, lines: Float64Array, reading: EncoderReading) -> Float64Array:
    """Return `FEATURES` of L lines, float64 [L, F]; those of blank lines are 0. Arguments are those of `logits`."""
    positions = asked.positions
    inked = positions.lines
    known = dict(zip(ENCODER_OUTPUTS, reading.compared[inked].T, strict=True))
    known[LINES] = lines[inked]

    def column(name: str) -> Float64Array:
        if name.startswith(ABOVE):
            return positions.above(column(name.removeprefix(ABOVE)))
        if name.startswith(BELOW):
            return positions.below(column(name.removeprefix(BELOW)))
        return known[name] if name in known else asked.column(name).astype(np.float64)

    features = np.zeros((len(positions.layout.blank), len(FEATURES)))
    features[inked] = np.stack([column(name) for name in FEATURES], axis=1)
    return features
