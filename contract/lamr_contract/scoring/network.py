"""`LineNetwork`: a small convolutional network over a document's lines, which gives each of them log-odds.

What a line is worth depends on the lines around it: those before and after, its block, the line that heads it, and the
rest of the file. The network reads the features of all lines and gives each one log-odds. The module knows features as
numbers, and line layouts; it knows neither what a feature means nor how the weights were trained.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from lamr_postprocess.layout import LineLayout
from numpy.typing import NDArray

from lamr_contract.arrays import Float32Array, Float64Array

_CONTEXTS = 3  # a line's own state, the mean over its block, the mean over the file


@dataclass(frozen=True, eq=False)
class LineNetwork:
    """The network and its weights.

    With the features x [L, F] of L lines and their first states h = relu(x A + a), [L, width], each layer adds
    relu(C(h) + c) to h. C is a convolution over lines of the states, the means over blocks and the mean over the file;
    it reads `reach` lines before and after each line, `strides[i]` lines apart. In place of blank lines and beyond the
    ends it reads zeros, so that blank lines at the end change nothing, and means are those of the other lines. The
    log-odds are [h, x] o. Networks that began differently rank better together than one does, so there may be several
    members; the log-odds are their mean.

    Attributes:
        features: the names of the F features, in their order (`features`).
        reach: how many lines before and after each line a layer reads.
        strides: for each layer, how far apart these lines are.
        width: the numbers that a line's state has.
        weights: float16 [members, n], each row the weights of one member: A, a, then C and c of each layer, then o.
            They have the shapes [F, width], [width], [(2 reach + 1) 3 width, width], [width] and [width + F].

    Raises:
        ValueError: the weights aren't as many as the sizes say, or one isn't finite; or a size is less than 1.
    """

    features: tuple[str, ...]
    reach: int
    strides: tuple[int, ...]
    width: int
    weights: NDArray[np.float16]

    def __post_init__(self) -> None:
        members = self.weights.shape[0] if self.weights.ndim == 2 else 0
        if min(self.width, self.reach, *self.strides, len(self.features), members) < 1:
            raise ValueError(
                "a network of lines needs at least one feature and member, a width, a reach and strides of 1 or more"
            )
        _ = self.members

    @classmethod
    def of(
        cls, features: Sequence[str], reach: int, strides: Sequence[int], *members: Sequence[NDArray[Any]]
    ) -> LineNetwork:
        """Return the network of members' parameters, in the order and the shapes that `weights` has them."""
        rows = [np.concatenate([np.ravel(part) for part in parameters]) for parameters in members]
        width = int(np.shape(members[0][1])[0])
        return cls(tuple(features), reach, tuple(strides), width, np.stack(rows).astype(np.float16))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what `from_arrays` reads: the features' names as UTF-8, the sizes and the weights."""
        return {
            "features": text_array(self.features),
            "sizes": np.array([self.width, self.reach, *self.strides], np.int64),
            "weights": self.weights,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> LineNetwork:
        """Return the network that `to_arrays` has made arrays of.

        Raises:
            KeyError: an array is missing.
            ValueError: see the class.
        """
        width, reach, *strides = arrays["sizes"].tolist()
        weights = arrays["weights"].astype(np.float16)
        return cls(array_text(arrays["features"]), reach, tuple(strides), width, weights)

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
        times the memory.
        """
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


def text_array(texts: Iterable[str]) -> NDArray[np.uint8]:
    """Return texts without line ends as an array of their UTF-8, a newline between two."""
    return np.frombuffer("\n".join(texts).encode(), np.uint8)


def array_text(array: NDArray[Any]) -> tuple[str, ...]:
    """Return the texts that `text_array` has made an array of.

    Raises:
        ValueError: the array isn't UTF-8.
    """
    return tuple(array.astype(np.uint8).tobytes().decode("utf-8").split("\n"))
