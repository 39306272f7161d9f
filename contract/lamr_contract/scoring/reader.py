"""`Reader`: what lines are worth once an encoder has read some of them.

A network over lines weighs what the encoder says against the line model's log-odds and the forms of lines. Lines that
weren't read have nothing of the encoder, and go by the others. The module knows features by name; it knows no chunks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lamr_contract.arrays import Float64Array
from lamr_contract.names import KEEP_PROB, RELEVANCE
from lamr_contract.scoring.encoder_reading import RUBRICS, EncoderReading
from lamr_contract.scoring.line_model import AskedLines
from lamr_contract.scoring.network import LineNetwork
from lamr_contract.scoring.rules import SEMANTIC

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
