"""Attention written out in an encoder's graph, replaced by onnxruntime's fused operator for CPUs.

`MultiHeadAttention` (com.microsoft) never writes all scores to memory, but on the CPU it does so only without a mask.
So the mask goes into the product of queries and keys: every query gets one more component, 1, and every key one more,
0 where its slot holds a token and the lowest number where it doesn't. Knows the graph that `attention` exports;
attention with a mask of another kind (a causal one) is left as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, helper, numpy_helper

MICROSOFT = "com.microsoft"


@dataclass(frozen=True)
class _Attention:
    """One attention: names of its inputs `[B, L, heads, d]`, its mask `[B, 1, 1, L]`, and the nodes it is made of."""

    query: str
    key: str
    value: str
    mask: str
    heads: int
    scale: float
    softmax: NodeProto
    last: NodeProto
    nodes: tuple[NodeProto, ...]


def fuse_attention(model: ModelProto) -> ModelProto:
    """The same graph with fused attention; the argument stays as it is."""
    result = ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    search = _Search(graph)
    found = [
        one
        for node in graph.node
        if node.op_type == "Softmax" and (one := search.attention(node)) is not None
    ]
    if not found:
        return result
    replaced = {one.last.output[0]: one for one in found}
    dropped = {node.output[0] for one in found for node in one.nodes}
    nodes: list[NodeProto] = [_constant("mha_rows", np.array([0, 0, -1])), *_extra_constants()]
    prepared: set[tuple[str, int]] = set()
    for node in graph.node:
        one = replaced.get(node.output[0])
        if one is not None:
            if (one.mask, one.heads) not in prepared:
                prepared.add((one.mask, one.heads))
                nodes += _extra_components(one)
            nodes += _fused(one)
        elif node.output[0] not in dropped:
            nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    shapes = [value for value in graph.value_info if value.name not in dropped | replaced.keys()]
    del graph.value_info[:]
    graph.value_info.extend(shapes)
    if all(entry.domain != MICROSOFT for entry in result.opset_import):
        result.opset_import.append(helper.make_opsetid(MICROSOFT, 1))
    return result


class _Search:
    """Who makes and who reads each value of a graph."""

    def __init__(self, graph: GraphProto) -> None:
        self.makers = {name: node for node in graph.node for name in node.output}
        self.readers: dict[str, list[NodeProto]] = {}
        for node in graph.node:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)
        self.constants = {tensor.name: tensor for tensor in graph.initializer}
        self.shapes = {
            value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            for value in graph.value_info
        }

    def attention(self, softmax: NodeProto) -> _Attention | None:
        """The attention around a softmax, if it is of the form that `attention.packed_attention` exports."""
        biased = self._maker(softmax.input[0], "Add")
        scores = biased and self._maker(biased.input[0], "MatMul")
        scaled = scores and self._maker(scores.input[0], "Mul")
        query = scaled and self._maker(scaled.input[0], "Transpose")
        key = scores and self._maker(scores.input[1], "Transpose")
        product = self._reader(softmax.output[0], "MatMul")
        value = product and self._maker(product.input[1], "Transpose")
        last = product and self._reader(product.output[0], "Transpose")
        if not (biased and scores and scaled and query and key and product and value and last):
            return None
        mask, layout = self.shapes.get(biased.input[1], []), self.shapes.get(query.input[0], [])
        factor = self.constants.get(scaled.input[1])
        if len(mask) != 4 or mask[1:3] != [1, 1] or len(layout) != 4 or not layout[2] or factor is None:
            return None
        return _Attention(
            query=query.input[0],
            key=key.input[0],
            value=value.input[0],
            mask=biased.input[1],
            heads=layout[2],
            scale=float(numpy_helper.to_array(factor)),
            softmax=softmax,
            last=last,
            nodes=(biased, scores, scaled, query, key, product, value, softmax),
        )

    def _maker(self, name: str, kind: str) -> NodeProto | None:
        """The node that makes a value which nothing else reads."""
        node = self.makers.get(name)
        alone = len(self.readers.get(name, [])) == 1
        return node if node is not None and node.op_type == kind and alone else None

    def _reader(self, name: str, kind: str) -> NodeProto | None:
        readers = self.readers.get(name, [])
        return readers[0] if len(readers) == 1 and readers[0].op_type == kind else None


def _extra_constants() -> list[NodeProto]:
    return [_constant("mha_none", np.float32(0)), _constant("mha_one", np.float32(1))]


def _extra_components(one: _Attention) -> list[NodeProto]:
    """The additional component of keys and of queries, `[B, L, heads, 1]` each."""
    name = f"{one.mask}/{one.heads}"
    return [
        _constant(f"{name}/shape", np.array([1, 1, one.heads, 1])),
        helper.make_node("Transpose", [one.mask], [f"{name}/column"], perm=[0, 3, 1, 2]),
        helper.make_node("Expand", [f"{name}/column", f"{name}/shape"], [f"{name}/keys"]),
        helper.make_node("Mul", [f"{name}/keys", "mha_none"], [f"{name}/zeros"]),
        helper.make_node("Add", [f"{name}/zeros", "mha_one"], [f"{name}/queries"]),
    ]


def _fused(one: _Attention) -> list[NodeProto]:
    name, extra = one.last.output[0], f"{one.mask}/{one.heads}"
    return [
        helper.make_node("Concat", [one.query, f"{extra}/queries"], [f"{name}/q4"], axis=3),
        helper.make_node("Concat", [one.key, f"{extra}/keys"], [f"{name}/k4"], axis=3),
        helper.make_node("Reshape", [f"{name}/q4", "mha_rows"], [f"{name}/q"]),
        helper.make_node("Reshape", [f"{name}/k4", "mha_rows"], [f"{name}/k"]),
        helper.make_node("Reshape", [one.value, "mha_rows"], [f"{name}/v"]),
        helper.make_node(
            "MultiHeadAttention",
            [f"{name}/q", f"{name}/k", f"{name}/v"],
            [name],
            domain=MICROSOFT,
            num_heads=one.heads,
            scale=one.scale,
        ),
    ]


def _constant(name: str, value: np.ndarray | np.generic) -> NodeProto:
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(value), name))
