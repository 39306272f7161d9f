"""An int8 encoder for CPUs whose answers don't depend on what else is in the batch.

Activations become integers by *constant* scales from runs on sample batches, one for each channel, because a few
channels of a transformer, always the same ones, are ten times louder than the rest. Where a product narrows, these are
multiplied in float32 beside it, as in LLM.int8() (Dettmers et al. 2022). Where constants would lose too much, or
nothing was calibrated, each token's row is divided by its largest magnitude. Usual dynamic quantization makes a
request's result depend on its neighbours in a packed batch, and its error was twice ours
(docs/lab/model.md)."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import GraphProto, ModelProto, TensorProto, helper

from lamr_export.grouped_attention import group_attention
from lamr_export.integer_graph import (
    ACTIVATION_LEVELS,
    TABLE_LEVELS,
    FittedActivation,
    Floats,
    IntegerGraph,
    Scale,
    constant_matrix,
    weight_scale,
    without_outliers,
)
from lamr_export.onnx_graph import copy_of, use_microsoft_operators

Feed = Mapping[str, NDArray[np.generic]]

SAMPLE_ROWS = 64  # rows of a batch that errors are measured on
MARGIN = 1.1  # unseen files reach a little further than those that calibrate
# How far a channel's loudness goes into its scale. At 1 every channel uses all levels, but the weights of loud channels
# drown the others; at 0 all channels have one scale. The best value is searched for each product.
BALANCES = (0.35, 0.5, 0.65, 0.8)
# A channel is an outlier if it reaches this much further than all but a fiftieth of the channels.
OUTLIER_RATIO = 1.5
MOST_OUTLIERS = 8
_ORDINARY = 0.98
# least share of the loudest channel, because a channel that samples hardly moved may move later
_QUIET = 1e-3


@dataclass(frozen=True)
class Observed:
    """The values that one activation took on sample batches."""

    low: Floats  # float32 `[C]`, the bounds of every channel
    high: Floats
    rows: Floats  # float32 `[n, C]`, some of the rows
    gram: Floats  # float32 `[C, C]`, the sum of x^T x over all rows x that aren't from probes

    @property
    def reach(self) -> Floats:
        """The largest magnitude of every channel, `[C]`."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def without(self, channels: NDArray[np.int64]) -> Observed:
        """The same activation with some channels at zero."""
        if not channels.size:
            return self
        low, high, rows, gram = (part.copy() for part in (self.low, self.high, self.rows, self.gram))
        low[channels], high[channels], rows[:, channels] = 0, 0, 0
        gram[channels], gram[:, channels] = 0, 0
        return Observed(low, high, rows, gram)


def observe(
    model: ModelProto, names: Sequence[str], feeds: Iterable[Feed], probes: Iterable[Feed] = ()
) -> dict[str, Observed]:
    """Run a graph on sample batches, and keep bounds, some rows and second moments of values inside it. Shapes: `names`
    float `[..., C]`."""
    watched = copy_of(model)
    outside = {value.name for value in (*watched.graph.output, *watched.graph.input)}
    watched.graph.output.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names if name not in outside
    )
    observed: dict[str, Observed] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "watched.onnx")
        onnx.save_model(watched, file, save_as_external_data=True, location="watched.data")
        session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
        inside = [name for name in names if name not in {node.name for node in session.get_inputs()}]

        def values(feed: Feed) -> Iterator[tuple[str, Floats]]:
            """Name and rows `[n, C]` of each value."""
            outputs = session.run(inside, dict(feed)) if inside else []  # no name would mean every output
            by_name = {**feed, **dict(zip(inside, outputs, strict=True))}
            for name in names:
                table = np.asarray(by_name[name], np.float32)
                yield name, table.reshape(-1, table.shape[-1])

        for feed in feeds:
            for name, table in values(feed):
                new = _observed(table)
                observed[name] = _joined(observed[name], new) if name in observed else new
        if len(observed) < len(names):
            raise ValueError("there is no batch to observe activations on")
        for feed in probes:
            for name, table in values(feed):
                observed[name] = _widened(observed[name], table)
    return observed


def outlier_channels(observed: Observed) -> NDArray[np.int64]:
    """The few channels of an activation that integers serve badly, ascending; often none. In transformers a few
    channels of a wide layer are several times as loud as any other, often for the first token alone (Sun et al. 2024,
    "Massive activations"). Whatever scale they get, either their own small values or all other weights lose digits."""
    reach = observed.reach
    loudest = np.argsort(-reach, kind="stable")[:MOST_OUTLIERS]
    outliers: NDArray[np.int64] = np.sort(
        loudest[reach[loudest] > OUTLIER_RATIO * np.quantile(reach, _ORDINARY)]
    )
    return outliers


def fit_scale(
    observed: Observed, weight: Floats, round_weight: Callable[[Floats], Floats]
) -> tuple[Scale, float]:
    """The scale whose product with a weight comes nearest to the exact one, and its `relative_error`. Shapes: `weight`
    `[C, out]`."""
    exact = observed.rows @ weight
    candidates = []
    for balance in BALANCES:
        scale = _scale(observed, balance)
        stored = round_weight(weight * scale.scale[:, None])
        product = (scale.rounded(observed.rows) / scale.scale) @ stored
        candidates.append((scale, relative_error(product, exact)))
    return min(candidates, key=lambda pair: pair[1])


def relative_error(product: Floats, exact: Floats) -> float:
    """The mean over rows of the error's norm relative to the row's, so that loud rows don't outvote quiet ones."""
    size = np.maximum(np.linalg.norm(exact, axis=1), 1e-12)
    return float((np.linalg.norm(product - exact, axis=1) / size).mean())


def _scale(observed: Observed, balance: float) -> Scale:
    low, high = np.minimum(observed.low, 0) * MARGIN, np.maximum(observed.high, 0) * MARGIN
    loudness = observed.reach * MARGIN
    shape = np.maximum(loudness, max(float(loudness.max()), 1e-12) * _QUIET) ** balance
    below, above = float((-low / shape).max()), float((high / shape).max())
    step = (below + above) / ACTIVATION_LEVELS
    return Scale((shape * step).astype(np.float32), round(below / step))


def _observed(table: Floats) -> Observed:
    every = max(1, len(table) // SAMPLE_ROWS)
    return Observed(table.min(axis=0), table.max(axis=0), table[::every].copy(), table.T @ table)


def _widened(one: Observed, table: Floats) -> Observed:
    low, high = np.minimum(one.low, table.min(axis=0)), np.maximum(one.high, table.max(axis=0))
    return replace(one, low=low, high=high)


def _joined(one: Observed, other: Observed) -> Observed:
    np.add(one.gram, other.gram, out=one.gram)
    return Observed(
        low=np.minimum(one.low, other.low),
        high=np.maximum(one.high, other.high),
        rows=np.concatenate([one.rows, other.rows]),
        gram=one.gram,
    )


# Constant scales are taken when their error on the samples is at most this many times that of scales by row, which
# cost a fifth of the encoder's time (benchmarks/encoder.py).
WORTH = 3.0
# Outlier channels are multiplied apart where the result is this much narrower than what is read: it costs a pass over
# the result, 1 % of the encoder's time there and 10 % and more if all products had it.
NARROWING = 3


def quantize_encoder(
    model: ModelProto, feeds: Iterable[Feed] = (), probes: Iterable[Feed] = ()
) -> ModelProto:
    """The same graph with int8 weights and embeddings, and with fused attention in two groups of like length."""
    result = group_attention(model)
    samples = list(feeds)
    weights = _readers(model.graph)
    observed = observe(model, list(weights), samples, probes) if samples else {}
    fitted = {name: _fit(activation, weights[name]) for name, activation in observed.items()}
    IntegerGraph(result.graph, fitted).rewrite()
    if fitted:
        use_microsoft_operators(result)
    return result


def _readers(graph: GraphProto) -> dict[str, Floats]:
    """For each activation's name, the weights `[C, out]` of all products that read it, side by side."""
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    readers: dict[str, list[Floats]] = {}
    for node in graph.node:
        weight = constant_matrix(node, tensors)
        if weight is not None and node.op_type != "Gather":
            readers.setdefault(node.input[0], []).append(weight)
    return {name: np.concatenate(parts, axis=1) for name, parts in readers.items()}


def _fit(observed: Observed, weight: Floats) -> FittedActivation:
    """How an activation becomes integers, given the weights `[C, out]` of all products that read it."""
    outliers = (
        outlier_channels(observed)
        if NARROWING * weight.shape[1] <= weight.shape[0]
        else np.zeros(0, np.int64)
    )
    rest = observed.without(outliers)
    scale = _constant_scale(rest, without_outliers(weight, outliers))
    if scale is None:
        return FittedActivation(None, observed.gram, outliers[:0])
    return FittedActivation(scale, rest.gram, outliers)


def _constant_scale(observed: Observed, weight: Floats) -> Scale | None:
    scale, error = fit_scale(observed, weight, _rounded_weight)
    largest = np.maximum(np.abs(observed.rows).max(axis=1, keepdims=True), 1e-12)
    by_row = (
        np.rint(observed.rows / largest * TABLE_LEVELS) * (largest / TABLE_LEVELS) @ _rounded_weight(weight)
    )
    return scale if error <= WORTH * relative_error(by_row, observed.rows @ weight) else None


def _rounded_weight(weight: Floats) -> Floats:
    scale = weight_scale(weight)
    return np.rint(weight / scale) * scale
