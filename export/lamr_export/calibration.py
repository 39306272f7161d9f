"""Constant scales for activations, found by running the encoder on sample batches.

A constant scale costs nothing when the graph runs and can't make one request depend on another. Each channel gets its
own, since a few channels of a transformer are ten times louder than the rest, always the same ones. Knows ONNX graphs
and how to look inside one; what a scale is used for is `quantize`'s business.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper

Feed = Mapping[str, NDArray[np.generic]]
Floats = NDArray[np.float32]

SAMPLE_ROWS = 64  # of a batch, that errors are measured on
MARGIN = 1.1  # files that nobody showed us reach a little further than those that calibrate
# How far a channel's loudness goes into its scale: at 1 every channel uses all levels, but the loud ones' weights
# drown the others'; at 0 there is one scale. The best is searched for each product.
BALANCES = (0.35, 0.5, 0.65, 0.8)
_LEVELS = 255
_QUIET = 1e-3  # of the loudest channel; a channel that samples hardly moved may move later


@dataclass(frozen=True)
class Observed:
    """What was seen of one activation: float32 `[C]` bounds of every channel, and sample rows `[n, C]`."""

    low: Floats
    high: Floats
    rows: Floats


@dataclass(frozen=True)
class Scale:
    """Levels of an activation: a value x of channel c is stored as round(x / scale[c]) + zero, in [0, 255]."""

    scale: Floats
    zero: int

    def rounded(self, values: Floats) -> Floats:
        """`values` `[n, C]` as the levels represent them."""
        levels = np.clip(np.rint(values / self.scale) + self.zero, 0, _LEVELS)
        return ((levels - self.zero) * self.scale).astype(np.float32)


def observe(model: ModelProto, names: Sequence[str], feeds: Iterable[Feed]) -> dict[str, Observed]:
    """Run a graph on sample batches and keep bounds and some rows of values inside it.

    Args:
        model: a graph whose inputs the feeds give.
        names: values inside it, float `[..., C]`.
        feeds: inputs by name, one dictionary a batch.

    Raises:
        ValueError: there is no batch.
    """
    watched = ModelProto()
    watched.CopyFrom(model)
    outside = {value.name for value in (*watched.graph.output, *watched.graph.input)}
    watched.graph.output.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names if name not in outside
    )
    seen: dict[str, list[Observed]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "watched.onnx")
        onnx.save_model(watched, file, save_as_external_data=True, location="watched.data")
        session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
        inside = [name for name in names if name not in {node.name for node in session.get_inputs()}]
        for feed in feeds:
            made = session.run(inside, dict(feed)) if inside else []  # no name would mean every output
            values = {**feed, **dict(zip(inside, made, strict=True))}
            for name in names:
                seen[name].append(_observed(np.asarray(values[name], np.float32)))
    return {name: _together(parts) for name, parts in seen.items()}


def fit_scale(
    observed: Observed, weight: Floats, round_weight: Callable[[Floats], Floats]
) -> tuple[Scale, float]:
    """The scale whose product with a weight comes nearest to the exact one, and its `relative_error`.

    Args:
        observed: the activation.
        weight: `[C, out]`, of all products that read it.
        round_weight: a weight as it would be stored.
    """
    exact = observed.rows @ weight
    found = []
    for balance in BALANCES:
        scale = _scale(observed, balance)
        stored = round_weight(weight * scale.scale[:, None])
        product = (scale.rounded(observed.rows) / scale.scale) @ stored
        found.append((scale, relative_error(product, exact)))
    return min(found, key=lambda pair: pair[1])


def relative_error(product: Floats, exact: Floats) -> float:
    """Mean over rows of the error's norm relative to the row's: a loud row doesn't outvote the quiet ones."""
    size = np.maximum(np.linalg.norm(exact, axis=1), 1e-12)
    return float((np.linalg.norm(product - exact, axis=1) / size).mean())


def _scale(observed: Observed, balance: float) -> Scale:
    low, high = np.minimum(observed.low, 0) * MARGIN, np.maximum(observed.high, 0) * MARGIN
    loudness = np.maximum(high, -low)
    shape = np.maximum(loudness, max(float(loudness.max()), 1e-12) * _QUIET) ** balance
    below, above = float((-low / shape).max()), float((high / shape).max())
    step = (below + above) / _LEVELS
    return Scale((shape * step).astype(np.float32), round(below / step))


def _observed(values: Floats) -> Observed:
    table = values.reshape(-1, values.shape[-1])
    every = max(1, len(table) // SAMPLE_ROWS)
    return Observed(table.min(axis=0), table.max(axis=0), table[::every].copy())


def _together(parts: list[Observed]) -> Observed:
    if not parts:
        raise ValueError("there is no batch to observe activations on")
    return Observed(
        low=np.min([part.low for part in parts], axis=0),
        high=np.max([part.high for part in parts], axis=0),
        rows=np.concatenate([part.rows for part in parts]),
    )
