"""`EncoderReading`: what an encoder says of lines, by whatever chunks of a document it has read; and `ScoreFusion`: the
log-odds of lines by that and by the line model.

A small convolutional network over lines weighs what the encoder says against the line model's log-odds and the forms of
lines. Lines that weren't read have nothing of the encoder, and go by the others. The module knows no
chunks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from lamr_base.arrays import Float32Array, Float64Array, logit
from lamr_base.records import dataclass
from lamr_postprocess.layout import LineLayout
from lamr_postprocess.lines import TokenLines
from numpy.typing import NDArray

from lamr_model.names import KEEP_PROB, RELEVANCE
from lamr_model.rules import DEPENDENCY, SEMANTIC
from lamr_model.scoring.line_model import QueryLines
from lamr_model.scoring.merging import Averages, Outputs, zeros_by_column

RUBRICS = (SEMANTIC, DEPENDENCY)
"""The rubrics that are read; an encoder without them has no line model."""
ENCODED = len(RUBRICS) + 2
"""The outputs that are read: the marginals of these rubrics, the relevance and the marginal of the fused chain."""
# The least spread that log-odds are divided by: a file whose parts are all alike has no ranking to be blown up.
_LEAST_SPREAD = 0.1
_CONTEXTS = 3  # a line's own state, the mean over its block, the mean over the file


def encoded_logits(outputs: Outputs, rubrics: Sequence[str]) -> Float64Array:
    """Return the log-odds float64 [m, 4] of a model's outputs for m tokens."""
    assert outputs.rubric_prob is not None
    columns = zeros_by_column(len(outputs.keep), ENCODED)
    for place, name in enumerate(RUBRICS):
        columns[:, place] = logit(outputs.rubric_prob[:, rubrics.index(name)])
    columns[:, -2], columns[:, -1] = logit(outputs.relevance), logit(outputs.keep_prob)
    return columns


@dataclass(frozen=True, eq=False)
class EncoderReading:
    """What an encoder says of L lines."""

    logits: Float64Array  # [L, 4], the means of `encoded_logits` over each line's tokens that were read
    read: NDArray[np.bool_]  # [L], of which lines any token was read

    @classmethod
    def of(cls, averages: Averages, lines: TokenLines) -> EncoderReading:
        """Return the reading of lines."""
        share = lines.means(averages.read.astype(np.float64)).astype(np.float64)
        read = share > 0
        means = np.stack([lines.means(averages.values[:, place]) for place in range(ENCODED)], axis=1)
        return cls(means.astype(np.float64) / np.where(read, share, 1.0)[:, None], read)

    @property
    def compared(self) -> Float64Array:
        """The log-odds float64 [L, 4] less their means over the lines that were read, in units of their spreads.

        What counts is how a line compares with the rest of its file. Lines that weren't read have 0."""
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
class ScoreFusion:
    """The network over lines and its weights.

    With `FEATURES` x [L, F] of L lines and their first states h = relu(x A + a), [L, width], each layer adds
    relu(C(h) + c) to h. C is a convolution over lines of the states, the means over blocks and the mean over the file;
    it reads `reach` lines before and after each line, `strides[i]` lines apart. In place of blank lines and beyond the
    ends it reads zeros, so that blank lines at the end change nothing, and means are those of the other lines. The
    log-odds are [h, x] o. Networks that began differently rank better together than one does, so there may be several
    members; the log-odds are their mean.

    Attributes:
        reach: how many lines before and after each line a layer reads.
        strides: for each layer, how far apart these lines are.
        width: the numbers that a line's state has.
        weights: float16 [members, n], each row the weights of one member: A, a, then C and c of each layer, then o.
            They have the shapes [F, width], [width], [(2 reach + 1) 3 width, width], [width] and [width + F].

    Raises:
        ValueError: the weights aren't as many as the sizes say, or one isn't finite; or a size is less than
            1."""

    reach: int
    strides: tuple[int, ...]
    width: int
    weights: NDArray[np.float16]

    def __post_init__(self) -> None:
        members = self.weights.shape[0] if self.weights.ndim == 2 else 0
        if min(self.width, self.reach, *self.strides, members) < 1:
            raise ValueError(
                "a network of lines needs at least one member, a width, a reach and strides of 1 or more"
            )
        _ = self.members

    @classmethod
    def of(cls, reach: int, strides: Sequence[int], *members: Sequence[NDArray[Any]]) -> ScoreFusion:
        """Return the network of members' parameters, in the order and the shapes that `weights` has them."""
        rows = [np.concatenate([np.ravel(part) for part in parameters]) for parameters in members]
        width = int(np.shape(members[0][1])[0])
        return cls(reach, tuple(strides), width, np.stack(rows).astype(np.float16))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what `from_arrays` reads: the features' names as UTF-8, the sizes and the weights."""
        return {
            "features": np.frombuffer("\n".join(FEATURES).encode(), np.uint8),
            "sizes": np.array([self.width, self.reach, *self.strides], np.int64),
            "weights": self.weights,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> ScoreFusion:
        """Return the network that `to_arrays` has made arrays of. Raises `KeyError`: an array is missing. Raises
        `ValueError`: the network reads other features; or see the class."""
        features = arrays["features"].astype(np.uint8).tobytes().decode("utf-8").split("\n")
        if features != list(FEATURES):
            raise ValueError(f"the network reads {features}, not {list(FEATURES)}")
        width, reach, *strides = arrays["sizes"].tolist()
        return cls(reach, tuple(strides), width, arrays["weights"].astype(np.float16))

    def logits(self, asked: QueryLines, lines: Float64Array, reading: EncoderReading) -> Float64Array:
        """Return the log-odds of L lines, float64 [L]. `lines`: float64 [L], the line model's log-odds."""
        if not len(lines):
            return np.zeros(0)
        values = features_of_lines(asked, lines, reading).astype(np.float32)
        layout = asked.positions.layout
        inked: Float32Array = (~layout.blank).astype(np.float32)[:, None]
        odds = [self._odds(values, inked, layout, iter(member)) for member in self.members]
        mean: Float64Array = np.mean(odds, axis=0, dtype=np.float64)
        return mean

    def _odds(
        self,
        values: Float32Array,
        inked: Float32Array,
        layout: LineLayout,
        parameters: Iterator[Float32Array],
    ) -> Float32Array:
        """Return the log-odds [L] of the member with these parameters."""
        states: Float32Array = _rectified(values @ next(parameters) + next(parameters))
        for stride in self.strides:
            read = _with_means(states, inked, layout) * inked
            convolved = self._convolved(read, next(parameters), stride)
            states = states + _rectified(convolved + next(parameters))
        odds: Float32Array = np.concatenate([states, values], axis=1) @ next(parameters)
        return odds

    def _convolved(self, values: Float32Array, weights: Float32Array, stride: int) -> Float32Array:
        """Return the convolution over lines, [L, W] to [L, width], with weights [(2 reach + 1) W, width].

        The lines that are read are weighed one distance at a time, because all of them together would take several
        times the memory."""
        lines, margin = len(values), self.reach * stride
        padded = np.pad(values, ((margin, margin), (0, 0)))
        sums = np.zeros((lines, self.width), np.float32)
        for step, part in enumerate(np.split(weights, 2 * self.reach + 1)):
            sums += padded[step * stride : step * stride + lines] @ part
        return sums

    @cached_property
    def members(self) -> list[list[Float32Array]]:
        """Each member's parameters, in the shapes that `weights` tells."""
        shapes = list(self._shapes())
        sizes = [math.prod(shape) for shape in shapes]
        if self.weights.shape[1] != sum(sizes):
            raise ValueError(f"the network of lines has {self.weights.shape[1]} weights, not {sum(sizes)}")
        values = self.weights.astype(np.float32)
        if not np.isfinite(values).all():
            raise ValueError("a weight of the network of lines isn't finite")
        cuts = np.cumsum(sizes)[:-1]
        return [
            [part.reshape(shape) for part, shape in zip(np.split(member, cuts), shapes, strict=True)]
            for member in values
        ]

    def _shapes(self) -> Iterator[tuple[int, ...]]:
        """The shapes of a member's parameters."""
        count, width = len(FEATURES), self.width
        yield from ((count, width), (width,))
        for _ in self.strides:
            yield from (((2 * self.reach + 1) * _CONTEXTS * width, width), (width,))
        yield (width + count,)


def _rectified(values: Float32Array) -> Float32Array:
    rectified: Float32Array = np.maximum(values, 0)
    return rectified


def _with_means(states: Float32Array, inked: Float32Array, layout: LineLayout) -> Float32Array:
    """Return states [L, width] with the means over each line's block and over the file, [L, 3 width]. `states`:
    float32 [L, width]. `inked`: float32 [L, 1], 0 for blank lines."""
    shown = states * inked
    starts = layout.block_starts
    of_block = np.add.reduceat(shown, starts) / np.maximum(np.add.reduceat(inked, starts), 1)
    of_file = shown.sum(axis=0) / max(float(inked.sum()), 1.0)
    return np.concatenate([states, of_block[layout.blocks], np.broadcast_to(of_file, states.shape)], axis=1)


def features_of_lines(asked: QueryLines, lines: Float64Array, reading: EncoderReading) -> Float64Array:
    """Return `FEATURES` of L lines, float64 [L, F]; those of blank lines are 0. See `ScoreFusion.logits`."""
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
