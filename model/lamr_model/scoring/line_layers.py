"""`LineLayers`: layers over lines, which give each line a state by what it holds and what stands around it.

A line is worth something for its neighbours, its block, the line that heads it, the lines that it heads, the line that
defines a name it uses, and those that use a name it defines. The module knows numbers and places; it knows neither what
an input means nor what becomes of a state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
from lamr_base.arrays import Float32Array, SegmentedRows, stable_order, sums_of_segments
from lamr_base.records import dataclass
from numpy.typing import NDArray

from lamr_model.crf.layers import product
from lamr_model.scoring.line_inputs import Positions

RELATIONS = 4
"""The line that heads a line, the lines that it heads, the lines that use its names, those that define what it uses."""
_LINES_AT_ONCE = 1024
"""Their states and what is added to them stay in a core's second-level cache."""


def stretches(count: int) -> Iterator[tuple[int, int]]:
    """Yield the first and one-past-last of as many positions as are looked at together."""
    return ((first, min(first + _LINES_AT_ONCE, count)) for first in range(0, count, _LINES_AT_ONCE))


@dataclass(frozen=True, eq=False)
class Relations:
    """Which positions tell which others something; each relation is a mean over sources.

    Attributes:
        sources: for each relation, int64 [n], positions in the order of their targets.
        targets: for each relation, int64 [t], positions that are told something, ascending.
        starts: for each relation, int64 [t], where each target's sources begin.
        inverse: for each relation, the number of the relation that leads back."""

    sources: tuple[NDArray[np.int64], ...]
    targets: tuple[NDArray[np.int64], ...]
    starts: tuple[NDArray[np.int64], ...]
    inverse = (1, 0, 3, 2)

    @classmethod
    def of(cls, positions: Positions, defined: NDArray[np.int64], using: NDArray[np.int64]) -> Relations:
        """Return the relations of lines. `defined`, `using`: int64 [u] both, the positions that define a name and use
        it."""
        inside = np.flatnonzero(positions.header >= 0)
        header = positions.header[inside]
        pairs = ((header, inside), (inside, header), (using, defined), (defined, using))
        parts = [_grouped(source, target) for source, target in pairs]
        return cls(*zip(*parts, strict=True))

    @cached_property
    def _parts(self) -> list[tuple[NDArray[np.int64] | None, list[_Told]]]:
        """Of each relation its targets; and where its distinct sources are fewer, these, which are multiplied first."""
        parts: list[tuple[NDArray[np.int64] | None, list[_Told]]] = []
        for source, target, start, back in zip(
            self.sources, self.targets, self.starts, self.inverse, strict=True
        ):
            given = self.targets[back]
            early = len(given) < len(target)
            rows = np.searchsorted(given, source) if early else source
            stops = np.append(start, len(source))
            told = [
                _Told(
                    target[first:last],
                    SegmentedRows.of(rows[stops[first] : stops[last]], np.diff(stops[first : last + 1])),
                    np.diff(stops[first : last + 1]).astype(np.float32)[:, None],
                )
                for first, last in stretches(len(target))
            ]
            parts.append((given if early else None, told))
        return parts

    def add(self, states: Float32Array, told: Float32Array, sums: Float32Array) -> None:
        """Add to sums [I, W], in place, the mean of the sources' states [I, W] times each relation's part of
        `told`."""
        width = sums.shape[1]
        for number, (given, parts) in enumerate(self._parts):
            weights = told[:, number * width : (number + 1) * width]
            table = states if given is None else product(states.take(given, axis=0), weights)
            for part in parts:
                means = part.rows.sums(table)
                means /= part.sizes
                sums[part.targets] += product(means, weights) if given is None else means


@dataclass(frozen=True, eq=False)
class _Told:
    """T positions that are told something, the rows that tell each, and how many these are, float32 [T, 1]."""

    targets: NDArray[np.int64]
    rows: SegmentedRows
    sizes: Float32Array


def _grouped(
    source: NDArray[np.int64], target: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    order = stable_order(target)
    ordered = target[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    return source[order], ordered[starts], starts


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer: h + relu(C(h) + c), where C reads neighbours, means over blocks and over the file, and relations."""

    stride: int  # how many lines the neighbours that are read lie apart
    # own, block, file: [2 reach + 1, W, W], what each neighbour's state, its block's mean and the file's mean are
    # multiplied by
    own: Float32Array
    block: Float32Array
    file: Float32Array
    told: Float32Array  # [W, 4 W], what states are multiplied by for each of `RELATIONS`
    bias: Float32Array  # [W]

    def __call__(self, states: Float32Array, positions: Positions, relations: Relations) -> Float32Array:
        """Return states float32 [I, W] from states, without the relu's residual."""
        count, reach = len(states), len(self.own) // 2
        starts = positions.block_starts
        sizes = np.diff(np.append(starts, count)).astype(np.float32)[:, None]
        of_block = sums_of_segments(states, starts) / sizes
        of_file = states.mean(axis=0, dtype=np.float32)
        shared = [
            product(of_block, block) + of_file @ file
            for block, file in zip(self.block, self.file, strict=True)
        ]
        sums = np.empty_like(states)
        for first, last in stretches(count):
            sums[first:last] = self.bias
            for step, own in enumerate(self.own):
                away = (step - reach) * self.stride
                source = slice(max(0, first + away), min(count, last + away))
                if source.start >= source.stop:
                    continue
                part = product(states[source], own)
                part += shared[step].take(positions.blocks[source], axis=0)
                sums[source.start - away : source.stop - away] += part
        relations.add(states, self.told, sums)
        return sums


@dataclass(frozen=True, eq=False)
class LineLayers:
    """The layers, and what stands before and after them.

    Attributes:
        first: float32 [N, W], from the N inputs of a line to its first state.
        bias: float32 [W].
        layers: the layers.
        last: float32 [W + N, P], what of states and inputs stands beside the states at the end.
        last_bias: float32 [P].

    Raises:
        ValueError: shapes don't fit together, or a weight isn't finite."""

    first: Float32Array
    bias: Float32Array
    layers: tuple[Layer, ...]
    last: Float32Array
    last_bias: Float32Array

    def __post_init__(self) -> None:
        inputs, width = self.first.shape
        square = (len(self.layers[0].own), width, width) if self.layers else ()
        shapes = [
            (self.first, (inputs, width)),
            (self.bias, (width,)),
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
        self, inputs: Iterable[Float32Array], positions: Positions, relations: Relations
    ) -> Iterator[Float32Array]:
        """Yield the fused states float32 [n, W + P] of one stretch of lines after another. `inputs`: float32 [n, N]
        of each stretch; those of all lines take too much memory."""
        width, last = len(self.bias), 0
        states = np.empty((len(positions), width), np.float32)
        beside: list[Float32Array] = []
        for part in inputs:
            both = product(part, self._inward)
            first, last = last, last + len(part)
            np.maximum(both[:, :width] + self.bias, 0, out=states[first:last])
            beside.append(both[:, width:].copy())
        for layer in self.layers:
            sums = layer(states, positions, relations)
            states += np.maximum(sums, 0, out=sums)
        last = 0
        for told in beside:
            first, last = last, last + len(told)
            fused = np.concatenate([states[first:last], told], axis=1)
            fused[:, width:] += product(states[first:last], self.last[:width]) + self.last_bias
            yield fused

    @cached_property
    def _inward(self) -> Float32Array:
        """What inputs are multiplied by, float32 [N, W + P]: for the first state, and for what stands beside."""
        return np.concatenate([self.first, self.last[len(self.bias) :]], axis=1)
