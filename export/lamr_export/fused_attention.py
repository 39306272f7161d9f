"""Attention written out in an encoder's graph, replaced by onnxruntime's fused operator for CPUs.

`MultiHeadAttention` (com.microsoft) never writes all scores to memory, but on the CPU it does so only without a mask.
`attention` exports masks as components of queries and keys, so there is none. Knows the graph that is made there;
attention with a mask of another kind (a causal one) is left as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, helper, numpy_helper

MICROSOFT = "com.microsoft"


@dataclass(frozen=True)
class _Attention:
    """One attention: names of its inputs `[B, L, heads, d]`, and the nodes it is made of."""

    query: str
    key: str
    value: str
    heads: int
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
    nodes: list[NodeProto] = [_constant("mha_rows", np.array([0, 0, -1]))]
    for node in graph.node:
        one = replaced.get(node.output[0])
        if one is not None:
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
        self.shapes = {
            value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            for value in graph.value_info
        }

    def attention(self, softmax: NodeProto) -> _Attention | None:
        """The attention around a softmax, if it is of the form that `attention.packed_attention` exports."""
        scores = self._maker(softmax.input[0], "MatMul")
        query = scores and self._maker(scores.input[0], "Transpose")
        key = scores and self._maker(scores.input[1], "Transpose")
        product = self._reader(softmax.output[0], "MatMul")
        value = product and self._maker(product.input[1], "Transpose")
        last = product and self._reader(product.output[0], "Transpose")
        if not (scores and query and key and product and value and last):
            return None
        layout = self.shapes.get(value.input[0], [])
        if len(layout) != 4 or not layout[2]:
            return None
        return _Attention(
            query=query.input[0],
            key=key.input[0],
            value=value.input[0],
            heads=layout[2],
            last=last,
            nodes=(scores, query, key, product, value, softmax),
        )

    def _maker(self, name: str, kind: str) -> NodeProto | None:
        """The node that makes a value which nothing else reads."""
        node = self.makers.get(name)
        alone = len(self.readers.get(name, [])) == 1
        return node if node is not None and node.op_type == kind and alone else None

    def _reader(self, name: str, kind: str) -> NodeProto | None:
        readers = self.readers.get(name, [])
        return readers[0] if len(readers) == 1 and readers[0].op_type == kind else None


def _fused(one: _Attention) -> list[NodeProto]:
    name = one.last.output[0]
    return [
        *(
            helper.make_node("Reshape", [source, "mha_rows"], [f"{name}/{letter}"])
            for letter, source in zip("qkv", (one.query, one.key, one.value), strict=True)
        ),
        helper.make_node(
            "MultiHeadAttention",
            [f"{name}/q", f"{name}/k", f"{name}/v"],
            [name],
            domain=MICROSOFT,
            num_heads=one.heads,
            scale=1.0,
        ),
    ]


def _constant(name: str, value: np.ndarray | np.generic) -> NodeProto:
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(value), name))
