"""`LineLayers`: layers over lines, which give each line a state by what it holds and what stands around it.

A line is worth something for its neighbours, its block, the line that heads it, the lines that it heads, the line that
defines a name it uses, and those that use a name it defines. The module knows numbers and places; it knows neither what
an input means nor what becomes of a state.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lamr_contract.arrays import Float32Array
from lamr_contract.scoring.line_inputs import Positions

RELATIONS = 4
"""The line that heads a line, the lines that it heads, the lines that use its names, those that define what it uses."""


@dataclass(frozen=True, eq=False)
class Relations:
    """Which positions tell which others something; each relation is a mean over sources.

    Attributes:
        sources: for each relation, int64 [n], positions in the order of their targets.
        targets: for each relation, int64 [t], positions that are told something.
        starts: for each relation, int64 [t], where each target's sources begin.
    """

    sources: tuple[NDArray[np.int64], ...]
    targets: tuple[NDArray[np.int64], ...]
    starts: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, positions: Positions, defined: NDArray[np.int64], using: NDArray[np.int64]) -> Relations:
        """Return the relations of lines.

        Args:
            positions: the lines.
            defined, using: int64 [u] both, the positions that define a name and use it.
        """
        inside = np.flatnonzero(positions.header >= 0)
        header = positions.header[inside]
        pairs = ((header, inside), (inside, header), (using, defined), (defined, using))
        parts = [_grouped(source, target) for source, target in pairs]
        return cls(*zip(*parts, strict=True))

    def add(self, told: Float32Array, sums: Float32Array) -> None:
        """Add to sums [I, W], in place, what positions are told by each relation's own part of `told` [I, 4 W]."""
        width = sums.shape[1]
        for number, (source, target, start) in enumerate(
            zip(self.sources, self.targets, self.starts, strict=True)
        ):
            if not len(source):
                continue
            part = told[:, number * width : (number + 1) * width]
            counts = np.diff(np.append(start, len(source)))[:, None]
            sums[target] += np.add.reduceat(part[source], start, axis=0) / counts.astype(np.float32)


def _grouped(
    source: NDArray[np.int64], target: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    order = np.argsort(target, kind="stable")
    ordered = target[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    return source[order], ordered[starts], starts


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer: h + relu(C(h) + c), where C reads neighbours, means over blocks and over the file, and relations.

    Attributes:
        stride: how many lines the neighbours that are read lie apart.
        own, block, file: float32 [2 reach + 1, W, W], what each neighbour's state, its block's mean and the file's mean
            are multiplied by.
        told: float32 [W, 4 W], what states are multiplied by for each of `RELATIONS`.
        bias: float32 [W].
    """

    stride: int
    own: Float32Array
    block: Float32Array
    file: Float32Array
    told: Float32Array
    bias: Float32Array

    def __call__(self, states: Float32Array, positions: Positions, relations: Relations) -> Float32Array:
        """Return states float32 [I, W] from states, without the relu's residual."""
        count = len(states)
        starts = positions.block_starts
        sizes = np.diff(np.append(starts, count)).astype(np.float32)[:, None]
        of_block = np.add.reduceat(states, starts, axis=0) / sizes
        of_file = states.mean(axis=0, dtype=np.float32)
        sums = np.repeat(self.bias[None], count, axis=0)
        reach = len(self.own) // 2
        for step in range(len(self.own)):
            away = (step - reach) * self.stride
            first, last = max(0, -away), count - max(0, away)  # targets whose neighbour is there
            if first >= last:
                continue
            shared = of_block @ self.block[step] + of_file @ self.file[step]
            source = slice(first + away, last + away)
            sums[first:last] += states[source] @ self.own[step]
            sums[first:last] += shared[positions.blocks[source]]
        relations.add(states @ self.told, sums)
        return sums


@dataclass(frozen=True, eq=False)
class LineLayers:
    """The layers, and what stands before and after them.

    Attributes:
        first: float32 [N, W], from the N inputs of a line to its first state.
        bias: float32 [W].
        read: float32 [E, W], from what the encoder says of a line, if it has read it.
        layers: the layers.
        last: float32 [W + N, P], what of states and inputs stands beside the states at the end.
        last_bias: float32 [P].

    Raises:
        ValueError: shapes don't fit together, or a weight isn't finite.
    """

    first: Float32Array
    bias: Float32Array
    read: Float32Array
    layers: tuple[Layer, ...]
    last: Float32Array
    last_bias: Float32Array

    def __post_init__(self) -> None:
        inputs, width = self.first.shape
        square = (len(self.layers[0].own), width, width) if self.layers else ()
        shapes = [
            (self.first, (inputs, width)),
            (self.bias, (width,)),
            (self.read, (self.read.shape[0], width)),
            (self.last, (width + inputs, len(self.last_bias))),
            (self.last_bias, (len(self.last_bias),)),
            *(
                (values, shape)
                for layer in self.layers
                for values, shape in (
                    *((each, square) for each in (layer.own, layer.block, layer.file)),
                    (layer.told, (width, RELATIONS * width)),
                    (layer.bias, (width,)),
                )
            ),
        ]
        for values, shape in shapes:
            if values.shape != shape:
                raise ValueError(f"a layer of lines has shape {list(values.shape)}, not {list(shape)}")
            if not np.isfinite(values).all():
                raise ValueError("a weight of the layers over lines isn't finite")

    @cached_property
    def width(self) -> int:
        """P + W, the numbers of a line's fused state."""
        return int(self.first.shape[1] + len(self.last_bias))

    def states(
        self,
        inputs: Float32Array,
        positions: Positions,
        relations: Relations,
        read: Float32Array | None = None,
    ) -> Float32Array:
        """Return the fused states float32 [I, W + P].

        Args:
            inputs: float32 [I, N].
            positions, relations: of the lines.
            read: float32 [I, E], what the encoder says of each line, 0 where it hasn't read; None for nothing read.
        """
        states = inputs @ self.first + self.bias
        if read is not None:
            states += read @ self.read
        np.maximum(states, 0, out=states)
        for layer in self.layers:
            states = states + np.maximum(layer(states, positions, relations), 0)
        width = states.shape[1]
        beside = states @ self.last[:width] + inputs @ self.last[width:] + self.last_bias
        return np.concatenate([states, beside], axis=1)
