"""An int8 encoder for CPUs whose answers don't depend on what else is in the batch.

The module decides how each product's activations become integers, whichever way sample batches call for:

- *constant*: scales that are found beforehand (`activation_scales`), one for each channel. Where a product narrows
  (the second of a feed-forward block), channels that are much louder than the rest are multiplied in float32 beside
  it, as in LLM.int8() (Dettmers et al. 2022), but always the same ones.
- *by row*, where constants would lose too much or nothing was calibrated: each token's row is divided by its largest
  magnitude.

The usual dynamic quantization takes one scale for the whole tensor instead. In a packed batch that makes a request's
result depend on its neighbours, and its error was twice ours (docs/lab/model.md). How the graph is written is
`integer_graph`'s business.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from onnx import GraphProto, ModelProto

from lamr_export.activation_scales import (
    Feed,
    Floats,
    Observed,
    Scale,
    fit_scale,
    observe,
    outlier_channels,
    relative_error,
)
from lamr_export.grouped_attention import group_attention
from lamr_export.integer_graph import (
    TABLE_LEVELS,
    FittedActivation,
    IntegerGraph,
    constant_matrix,
    weight_scale,
    without_outliers,
)
from lamr_export.onnx_graph import use_microsoft_operators

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
    """The best constant scale, or None where rows differ so much that it would lose too much."""
    scale, error = fit_scale(observed, weight, _rounded_weight)
    largest = np.maximum(np.abs(observed.rows).max(axis=1, keepdims=True), 1e-12)
    by_row = (
        np.rint(observed.rows / largest * TABLE_LEVELS) * (largest / TABLE_LEVELS) @ _rounded_weight(weight)
    )
    return scale if error <= WORTH * relative_error(by_row, observed.rows @ weight) else None


def _rounded_weight(weight: Floats) -> Floats:
    scale = weight_scale(weight)
    return np.rint(weight / scale) * scale
