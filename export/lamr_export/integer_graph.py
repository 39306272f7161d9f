"""An encoder's graph with integer products: the nodes that replace each product, look-up and constant.

Weights are int8 with one scale for each output channel, rounded by GPTQ (Frantar et al. 2022, algorithm 1), so that
errors cancel on sample batches. A product with a *constant* scale for each channel of its activation is
`MatMulIntegerToFloat`, an operator that every build of onnxruntime has for the CPU. A product *by row* divides each
token's row by its largest magnitude; onnxruntime fuses QuantizeLinear and DequantizeLinear around its
MatMul."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

from lamr_export.onnx_graph import MICROSOFT, GraphIndex

Floats = NDArray[np.float32]

# This share of the mean second moment is added to every channel's, because channels that the samples hardly moved may
# move later.
DAMPING = 0.01
_BLOCK = 128  # channels whose errors are handed on together


def gptq_levels(weight: Floats, scale: Floats, gram: Floats, most: int) -> NDArray[np.int8]:
    """Levels `[C, out]` whose products with the observed inputs come near to those of the weight. Shapes: `weight` `[C,
    out]`, `scale` `[out]`, `gram` `[C, C]`."""
    channels = weight.shape[0]
    gram = gram.astype(np.float64)
    mean = max(float(np.diag(gram).mean()), 1e-12)
    gram[np.diag_indices(channels)] += DAMPING * mean
    # The channels that matter most are rounded first, while all others can still adapt.
    order = np.argsort(-np.diag(gram), kind="stable")
    # Row c of the factor says how the channels after c make up for an error of c.
    answers = np.linalg.cholesky(np.linalg.inv(gram[np.ix_(order, order)])).T
    left = weight[order].astype(np.float64)
    levels = np.empty_like(left)
    for start in range(0, channels, _BLOCK):
        stop = min(start + _BLOCK, channels)
        errors = np.empty((stop - start, weight.shape[1]))
        for channel in range(start, stop):
            levels[channel] = np.clip(np.rint(left[channel] / scale), -most, most)
            errors[channel - start] = (left[channel] - levels[channel] * scale) / answers[channel, channel]
            left[channel + 1 : stop] -= np.outer(
                answers[channel, channel + 1 : stop], errors[channel - start]
            )
        left[stop:] -= answers[start:stop, stop:].T @ errors
    result = np.empty(weight.shape, np.int8)
    result[order] = levels
    return result


# Seven bits for weights: with eight, processors without VNNI saturate the sums of two products (255 * 127 * 2 is
# beyond int16), which costs more accuracy than the bit. Seven are the same everywhere.
WEIGHT_LEVELS = 63
TABLE_LEVELS = 127
ACTIVATION_LEVELS = 255
SMALLEST_SIDE = 16  # narrower matrices gain nothing
LONG_VECTOR = 4096
_HALF_NORMAL = 6.2e-5  # smallest scale that float16 holds without losing digits

_SCALE, _ZERO, _TINY, _LAST_AXIS, _ONE = "q_scale", "q_zero", "q_tiny", "q_last_axis", "q_one"


@dataclass(frozen=True)
class Scale:
    """The levels of an activation. A value x of channel c is stored as round(x / scale[c]) + zero, in [0, 255]."""

    scale: Floats
    zero: int

    def rounded(self, values: Floats) -> Floats:
        """`values` `[n, C]` as the levels represent them."""
        levels = np.clip(np.rint(values / self.scale) + self.zero, 0, ACTIVATION_LEVELS)
        return ((levels - self.zero) * self.scale).astype(np.float32)


@dataclass(frozen=True)
class FittedActivation:
    """How an activation becomes integers, as sample batches say."""

    scale: Scale | None  # its constant scale; None for scales by row
    gram: Floats  # `Observed.gram`
    outliers: NDArray[np.int64]  # the channels that are multiplied in float32; scale and gram leave them out


def without_outliers(weight: Floats, outliers: NDArray[np.int64]) -> Floats:
    """A weight `[C, out]` without what it reads from outlier channels."""
    quiet = weight.copy()
    quiet[outliers] = 0
    return quiet


def weight_scale(weight: Floats) -> Floats:
    """The value of one level for each output channel, float32 `[out]`."""
    return np.maximum(np.abs(weight).max(axis=0), 1e-12) / np.float32(WEIGHT_LEVELS)


def constant_matrix(node: NodeProto, tensors: dict[str, TensorProto]) -> Floats | None:
    """The constant matrix that a node multiplies by (`[in, out]`) or looks up in (`[rows, width]`), if there is one."""
    place = {"MatMul": 1, "Gemm": 1, "Gather": 0}.get(node.op_type)
    tensor = None if place is None else tensors.get(node.input[place])
    if tensor is None or tensor.data_type != TensorProto.FLOAT or len(tensor.dims) != 2:
        return None
    if min(tensor.dims) < SMALLEST_SIDE:
        return None
    values: Floats = numpy_helper.to_array(tensor)
    return values.T if any(each.name == "transB" and each.i for each in node.attribute) else values


class IntegerGraph:
    """One graph while it is rewritten. Nodes stay in order, and weights that nothing reads any more are dropped."""

    def __init__(self, graph: GraphProto, fitted: dict[str, FittedActivation]) -> None:
        self.graph, self.fitted = graph, fitted
        self.weights = {tensor.name: tensor for tensor in graph.initializer}
        self.nodes: list[NodeProto] = []
        self.constants: dict[str, TensorProto] = {}
        self.rows: dict[str, tuple[str, str]] = {}
        self.levels: dict[str, str] = {}
        self.readers = GraphIndex(graph).readers
        self.merged: set[str] = set()  # outputs of sums that a product has taken in
        self._constant(_SCALE, np.float32(1 / TABLE_LEVELS))
        self._constant(_ZERO, np.uint8(128))
        self._constant(_TINY, np.float32(1e-12))
        self._constant(_ONE, np.float32(1))
        self._constant(_LAST_AXIS, np.array([-1], np.int64))

    def rewrite(self) -> None:
        """Give the graph integer products, and look-ups in integer tables."""
        for node in self.graph.node:
            weight = constant_matrix(node, self.weights)
            if node.output[0] in self.merged:
                continue
            if self._reads_long_vector(node):
                self._halved(node)
            elif weight is None:
                # onnxruntime doesn't fuse this sum with the norm after it: the fused operator takes six times as long
                # on CPUs as the two do (benchmarks/encoder.py).
                readers = self.readers.get(node.output[0], []) if node.op_type == "Add" else []
                normed = any(reader.op_type == "LayerNormalization" for reader in readers)
                self.nodes.append(helper.make_node("Sum", [*node.input], [*node.output]) if normed else node)
            elif node.op_type == "Gather":
                self._embedding(node, weight)
            elif node.input[0] in self.fitted and self.fitted[node.input[0]].scale is not None:
                self._constant_product(node, weight, self.fitted[node.input[0]])
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

    def _constant_product(self, node: NodeProto, weight: Floats, fitted: FittedActivation) -> None:
        levels, outliers = fitted.scale, fitted.outliers
        assert levels is not None
        name, (bias, out) = node.input[1], self._bias(node)
        quiet = without_outliers(weight, outliers)
        self._weight(name, quiet * levels.scale[:, None], fitted.gram / np.outer(levels.scale, levels.scale))
        inputs = [
            self._levels(node.input[0], levels),
            f"{name}/q",
            _ONE,
            f"{name}/scale",
            f"q_zero_{levels.zero}",
            f"{name}/zero",
            *bias,
        ]
        product = f"{out}/quiet" if outliers.size else out
        self.nodes.append(helper.make_node("MatMulIntegerToFloat", inputs, [product], domain=MICROSOFT))
        if outliers.size:
            self._constant(f"{name}/loud", weight[outliers])
            self._add("MatMul", [self._outliers(node.input[0], outliers), f"{name}/loud"], f"{out}/loud")
            self._add("Add", [product, f"{out}/loud"], out)

    def _outliers(self, x: str, channels: NDArray[np.int64]) -> str:
        if f"{x}/loud" not in self.constants:
            self._constant(f"{x}/loud", channels)
            self._add("Gather", [x, f"{x}/loud"], f"{x}/loud_values", axis=-1)
        return f"{x}/loud_values"

    def _weight(self, name: str, weight: Floats, gram: Floats | None) -> None:
        """Make constants of a weight's levels, scale and zero. Without a `gram` each weight is rounded by itself."""
        scale = weight_scale(weight)
        levels = (
            np.rint(weight / scale).astype(np.int8)
            if gram is None
            else gptq_levels(weight, scale, gram, WEIGHT_LEVELS)
        )
        self._constant(f"{name}/q", levels)
        self._constant(f"{name}/scale", scale)
        self._constant(f"{name}/zero", np.zeros(scale.shape, np.int8))

    def _levels(self, x: str, levels: Scale) -> str:
        if x not in self.levels:
            self.levels[x] = f"{x}/q"
            self._constant(f"{x}/inverse", (1 / levels.scale).astype(np.float32))
            self._constant(f"q_zero_{levels.zero}", np.uint8(levels.zero))
            self._add("Mul", [x, f"{x}/inverse"], f"{x}/scaled")
            self._add("QuantizeLinear", [f"{x}/scaled", _ONE, f"q_zero_{levels.zero}"], f"{x}/q")
        return self.levels[x]

    def _bias(self, node: NodeProto) -> tuple[list[str], str]:
        if node.op_type == "Gemm":
            return list(node.input[2:]), node.output[0]
        readers = self.readers.get(node.output[0], [])
        if len(readers) == 1 and readers[0].op_type == "Add":
            for name in readers[0].input:
                if name in self.weights and len(self.weights[name].dims) == 1:
                    self.merged.add(readers[0].output[0])
                    return [name], readers[0].output[0]
        return [], node.output[0]

    def _reads_long_vector(self, node: NodeProto) -> bool:
        tensor = self.weights.get(node.input[0]) if node.op_type == "Gather" else None
        return (
            tensor is not None
            and tensor.data_type == TensorProto.FLOAT
            and len(tensor.dims) == 1
            and tensor.dims[0] >= LONG_VECTOR
        )

    def _halved(self, node: NodeProto) -> None:
        name, out = node.input[0], node.output[0]
        self._constant(f"{name}/half", numpy_helper.to_array(self.weights[name]).astype(np.float16))
        self._add("Gather", [f"{name}/half", node.input[1]], f"{out}/half")
        self._add("Cast", [f"{out}/half"], out, to=TensorProto.FLOAT)

    def _product(self, node: NodeProto, weight: Floats) -> None:
        rows, largest = self._quantized_rows(node.input[0])
        name, out = node.input[1], node.output[0]
        fitted = self.fitted.get(node.input[0])
        self._weight(name, weight, None if fitted is None else fitted.gram)
        self._add("DequantizeLinear", [f"{name}/q", f"{name}/scale", f"{name}/zero"], f"{out}/w", axis=1)
        self._add("MatMul", [rows, f"{out}/w"], f"{out}/unit")
        biased = node.op_type == "Gemm" and len(node.input) > 2
        self._add("Mul", [f"{out}/unit", largest], f"{out}/product" if biased else out)
        if biased:
            self._add("Add", [f"{out}/product", node.input[2]], out)

    def _quantized_rows(self, x: str) -> tuple[str, str]:
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

    def _embedding(self, node: NodeProto, table: Floats) -> None:
        """A look-up in a table with a scale for each row, in half precision. Rows are rounded with the stored scale."""
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

    def _add(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> None:
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))

    def _constant(self, name: str, values: NDArray[np.generic] | np.generic) -> None:
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.asarray(values), name)
