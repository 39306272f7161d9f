"""`LineNetwork`: a small convolutional network over a document's lines, in place of a regression over each of them.

What a line is worth depends on the lines around it: those before and after, its block, the line that heads it, and the
rest of the file. The network reads the features of all lines and gives each one log-odds. The module knows features as
numbers, and line layouts; it knows neither what a feature means nor how the weights were trained.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamr_contract.arrays import Float32Array, Float64Array
from lamr_contract.layout import LineLayout

_STORED = np.dtype("<f2")
_CONTEXTS = 3  # a line's own state, the mean over its block, the mean over the file


@dataclass(frozen=True)
class LineNetwork:
    """The network and its weights.

    With the features x [L, F] of L lines and their first states h = relu(x A + a), [L, width], each layer adds
    relu(C(h) + c) to h. C is a convolution over lines of the states, the means over blocks and the mean over the file;
    it reads `reach` lines before and after each line, `strides[i]` lines apart. In place of blank lines and beyond the
    ends it reads zeros, so that blank lines at the end change nothing, and means are those of the other lines. The
    log-odds are [h, x] o. Networks that began differently rank better together than one does, so there may be several
    `members`; the log-odds are their mean.

    Attributes:
        features: the names of the F features, in their order (`lamr_contract.scoring.features`).
        width: the numbers that a line's state has.
        reach: how many lines before and after each line a layer reads.
        strides: for each layer, how far apart these lines are.
        weights: A, a, then C and c of each layer, then o, of one member after another, as float16 in base64. They have
            the shapes [F, width], [width], [(2 reach + 1) 3 width, width], [width] and [width + F].
        members: how many networks there are.

    Raises:
        ValueError: the weights aren't base64, aren't as many as the sizes say, or one isn't finite; or a size is less
            than 1.
    """

    features: tuple[str, ...]
    width: int
    reach: int
    strides: tuple[int, ...]
    weights: str
    members: int = 1

    def __post_init__(self) -> None:
        if min(self.width, self.reach, *self.strides, len(self.features), self.members) < 1:
            raise ValueError(
                "a network of lines needs at least one feature and member, a width, a reach and strides of 1 or more"
            )
        _ = self._parameters

    @classmethod
    def of(
        cls, features: Sequence[str], reach: int, strides: Sequence[int], *members: Sequence[NDArray[Any]]
    ) -> LineNetwork:
        """Return the network of members' parameters, in the order and the shapes that `weights` has them."""
        parts = [np.asarray(part, np.float64).ravel() for parameters in members for part in parameters]
        stored = base64.b64encode(np.concatenate(parts).astype(_STORED).tobytes()).decode("ascii")
        width = int(np.shape(members[0][1])[0])
        return cls(tuple(features), width, reach, tuple(strides), stored, len(members))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> LineNetwork:
        """Return the network that `dataclasses.asdict` has made a dictionary of.

        Raises:
            TypeError: a field is missing, unknown or no list.
            ValueError: see the class.
        """
        lists = {"features": tuple(data["features"]), "strides": tuple(data["strides"])}
        return cls(**{**data, **lists})

    def logits(self, features: Float64Array | Float32Array, layout: LineLayout) -> Float64Array:
        """Return the log-odds float64 [L] of lines.

        Args:
            features: float64 or float32 [L, F]; the network computes in float32.
            layout: the L lines.
        """
        if not len(features):
            return np.zeros(0)
        values = np.asarray(features, np.float32)
        inked: Float32Array = (~layout.blank).astype(np.float32)[:, None]
        parameters = iter(self._parameters)
        odds = [self._odds(values, inked, layout, parameters) for _ in range(self.members)]
        mean: Float64Array = np.mean(odds, axis=0, dtype=np.float64)
        return mean

    def _odds(
        self,
        values: Float32Array,
        inked: Float32Array,
        layout: LineLayout,
        parameters: Iterator[Float32Array],
    ) -> Float32Array:
        """Return the log-odds [L] of the member whose parameters come next."""
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
        times the memory.
        """
        lines, margin = len(values), self.reach * stride
        padded = np.pad(values, ((margin, margin), (0, 0)))
        sums = np.zeros((lines, self.width), np.float32)
        for step, part in enumerate(np.split(weights, 2 * self.reach + 1)):
            sums += padded[step * stride : step * stride + lines] @ part
        return sums

    @cached_property
    def _parameters(self) -> tuple[Float32Array, ...]:
        try:
            stored = np.frombuffer(base64.b64decode(self.weights, validate=True), _STORED)
        except (binascii.Error, ValueError) as error:
            raise ValueError(f"the weights of a network of lines can't be read ({error})") from error
        shapes = list(self._shapes())
        sizes = [int(np.prod(shape)) for shape in shapes]
        if len(stored) != self.members * sum(sizes):
            raise ValueError(
                f"the network of lines has {len(stored)} weights, not {self.members * sum(sizes)}"
            )
        values = stored.astype(np.float32)
        if not np.isfinite(values).all():
            raise ValueError("a weight of the network of lines isn't finite")
        parts = np.split(values, np.cumsum(sizes * self.members)[:-1])
        return tuple(part.reshape(shape) for part, shape in zip(parts, shapes * self.members, strict=True))

    def _shapes(self) -> Iterator[tuple[int, ...]]:
        """The shapes of a member's parameters."""
        count, width = len(self.features), self.width
        yield from ((count, width), (width,))
        for _ in self.strides:
            yield from (((2 * self.reach + 1) * _CONTEXTS * width, width), (width,))
        yield (width + count,)


def _rectified(values: Float32Array) -> Float32Array:
    rectified: Float32Array = np.maximum(values, 0)
    return rectified


def _with_means(states: Float32Array, inked: Float32Array, layout: LineLayout) -> Float32Array:
    """Return states [L, width] with the means over each line's block and over the file, [L, 3 width].

    Args:
        states: float32 [L, width].
        inked: float32 [L, 1], 0 for blank lines.
        layout: the L lines.
    """
    shown = states * inked
    starts = layout.block_starts
    of_block = np.add.reduceat(shown, starts) / np.maximum(np.add.reduceat(inked, starts), 1)
    of_file = shown.sum(axis=0) / max(float(inked.sum()), 1.0)
    return np.concatenate([states, of_block[layout.blocks], np.broadcast_to(of_file, states.shape)], axis=1)
