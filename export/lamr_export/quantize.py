"""An int8 encoder whose answers don't depend on what else is in the batch.

Weights are int8 with one scale an output channel. Activations are quantized when the graph runs, each token's row
by its own largest magnitude: the row is divided by it, quantized with the constant scale 1/127, and multiplied
back after the product. The usual dynamic quantization takes one scale for the whole tensor instead; in a packed
batch that makes a request's result depend on its neighbours, and its error was twice ours (docs/model.md).

The graph keeps to standard operators (QuantizeLinear, DequantizeLinear around MatMul); onnxruntime fuses each
group into one integer product when it loads the file. This module knows ONNX graphs and no model.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

# Seven bits for weights: with eight, processors without VNNI saturate the sums of two products (255 * 127 * 2 is
# beyond int16), which costs more accuracy than the bit. Seven are the same everywhere.
WEIGHT_LEVELS = 63
TABLE_LEVELS = 127
SMALLEST_SIDE = 16  # narrower matrices gain nothing
LONG_VECTOR = 4096
_HALF_NORMAL = 6.2e-5  # smallest scale that float16 holds without losing digits

_SCALE, _ZERO, _TINY, _LAST_AXIS = "q_scale", "q_zero", "q_tiny", "q_last_axis"


def quantize_encoder(model: ModelProto) -> ModelProto:
    """The same graph with int8 weights, embeddings included; the argument stays as it is."""
    result = ModelProto()
    result.CopyFrom(model)
    _Quantizer(result.graph).rewrite()
    return result


class _Quantizer:
    """Rewrites one graph; nodes come out in order, and weights that nothing reads any more are dropped."""

    def __init__(self, graph: GraphProto) -> None:
        self.graph = graph
        self.weights = {tensor.name: tensor for tensor in graph.initializer}
        self.nodes: list[NodeProto] = []
        self.constants: dict[str, TensorProto] = {}
        self.rows: dict[str, tuple[str, str]] = {}
        self._constant(_SCALE, np.float32(1 / TABLE_LEVELS))
        self._constant(_ZERO, np.uint8(128))
        self._constant(_TINY, np.float32(1e-12))
        self._constant(_LAST_AXIS, np.array([-1], np.int64))

    def rewrite(self) -> None:
        for node in self.graph.node:
            weight = self._weight_of(node)
            if self._reads_long_vector(node):
                self._halved(node)
            elif weight is None:
                self.nodes.append(node)
            elif node.op_type == "Gather":
                self._embedding(node, weight)
            else:
                self._product(node, weight)
        del self.graph.node[:]
        self.graph.node.extend(self.nodes)
        used = {name for node in self.graph.node for name in node.input}
        kept = [
            tensor for tensor in (*self.weights.values(), *self.constants.values()) if tensor.name in used
        ]
        del self.graph.initializer[:]
        self.graph.initializer.extend(kept)

    def _weight_of(self, node: NodeProto) -> NDArray[np.float32] | None:
        """The constant matrix that a node multiplies by ([in, out]) or looks up in ([rows, width]), if there is one."""
        place = {"MatMul": 1, "Gemm": 1, "Gather": 0}.get(node.op_type)
        tensor = None if place is None else self.weights.get(node.input[place])
        if tensor is None or tensor.data_type != TensorProto.FLOAT or len(tensor.dims) != 2:
            return None
        if min(tensor.dims) < SMALLEST_SIDE:
            return None
        values: NDArray[np.float32] = numpy_helper.to_array(tensor)
        return values.T if _attribute(node, "transB") else values

    def _reads_long_vector(self, node: NodeProto) -> bool:
        tensor = self.weights.get(node.input[0]) if node.op_type == "Gather" else None
        return (
            tensor is not None
            and tensor.data_type == TensorProto.FLOAT
            and len(tensor.dims) == 1
            and tensor.dims[0] >= LONG_VECTOR
        )

    def _halved(self, node: NodeProto) -> None:
        """A look-up in a vector of one weight a vocabulary entry, stored in half precision."""
        name, out = node.input[0], node.output[0]
        self._constant(f"{name}/half", numpy_helper.to_array(self.weights[name]).astype(np.float16))
        self._add("Gather", [f"{name}/half", node.input[1]], f"{out}/half")
        self._add("Cast", [f"{out}/half"], out, to=TensorProto.FLOAT)

    def _product(self, node: NodeProto, weight: NDArray[np.float32]) -> None:
        rows, largest = self._quantized_rows(node.input[0])
        name, out = node.input[1], node.output[0]
        scale = np.maximum(np.abs(weight).max(axis=0), 1e-12) / WEIGHT_LEVELS
        self._constant(f"{name}/q", np.rint(weight / scale).astype(np.int8))
        self._constant(f"{name}/scale", scale.astype(np.float32))
        self._constant(f"{name}/zero", np.zeros(scale.shape, np.int8))
        self._add("DequantizeLinear", [f"{name}/q", f"{name}/scale", f"{name}/zero"], f"{out}/w", axis=1)
        self._add("MatMul", [rows, f"{out}/w"], f"{out}/unit")
        biased = node.op_type == "Gemm" and len(node.input) > 2
        self._add("Mul", [f"{out}/unit", largest], f"{out}/product" if biased else out)
        if biased:
            self._add("Add", [f"{out}/product", node.input[2]], out)

    def _quantized_rows(self, x: str) -> tuple[str, str]:
        """Names of a tensor's quantized rows, each divided by its largest magnitude, and of those magnitudes."""
        if x not in self.rows:
            rows, largest = f"{x}/rows", f"{x}/largest"
            self._add("Abs", [x], f"{x}/abs")
            self._add("ReduceMax", [f"{x}/abs", _LAST_AXIS], f"{x}/max", keepdims=1)
            self._add("Max", [f"{x}/max", _TINY], largest)
            self._add("Div", [x, largest], f"{x}/unit")
            self._add("QuantizeLinear", [f"{x}/unit", _SCALE, _ZERO], f"{x}/q")
            self._add("DequantizeLinear", [f"{x}/q", _SCALE, _ZERO], rows)
            self.rows[x] = rows, largest
        return self.rows[x]

    def _embedding(self, node: NodeProto, table: NDArray[np.float32]) -> None:
        """One scale a row, stored in half precision; the rows are rounded with the stored scale."""
        name, out = node.input[0], node.output[0]
        largest = np.abs(table).max(axis=1, keepdims=True)
        scale = np.maximum(largest / TABLE_LEVELS, _HALF_NORMAL).astype(np.float16)
        levels = np.clip(np.rint(table / scale.astype(np.float32)), -TABLE_LEVELS, TABLE_LEVELS)
        self._constant(f"{name}/q", levels.astype(np.int8))
        self._constant(f"{name}/scale", scale)
        for part in ("q", "scale"):
            self._add("Gather", [f"{name}/{part}", node.input[1]], f"{out}/{part}")
            self._add("Cast", [f"{out}/{part}"], f"{out}/{part}_float", to=TensorProto.FLOAT)
        self._add("Mul", [f"{out}/q_float", f"{out}/scale_float"], out)

    def _add(self, kind: str, inputs: list[str], output: str, **attributes: int) -> None:
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))

    def _constant(self, name: str, values: NDArray[np.generic] | np.generic) -> None:
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.asarray(values), name)


def _attribute(node: NodeProto, name: str) -> int:
    found: Iterator[int] = (attribute.i for attribute in node.attribute if attribute.name == name)
    return next(found, 0)
