"""Attention written out in an encoder's graph, replaced by onnxruntime's fused operator for CPUs.

`MultiHeadAttention` (com.microsoft) never writes all scores to memory, but on the CPU it does so only without a mask.
`attention` exports masks as components of queries and keys, so there is none. Knows the graph that is made there;
attention with a mask of another kind (a causal one) is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from onnx import GraphProto, ModelProto, NodeProto, helper

from lamr_export.onnx_graph import GraphIndex, constant, replace_nodes

MICROSOFT = "com.microsoft"


@dataclass(frozen=True)
class _Attention:
    """One attention: names of its inputs `[B, L, heads, d]` and of its output, which becomes `[B, L, heads * d]`."""

    query: str
    key: str
    value: str
    heads: int
    out: str


def fuse_attention(model: ModelProto) -> ModelProto:
    """The same graph with fused attention; the argument stays as it is."""
    result = ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    found = {one.out: one for one in _attentions(graph)}
    if not found:
        return result
    nodes: list[NodeProto] = [constant("mha_rows", [0, 0, -1])]
    for node in graph.node:
        one = found.get(node.output[0])
        nodes += [node] if one is None else _fused(one)
    replace_nodes(graph, nodes, reshaped=found)
    if all(entry.domain != MICROSOFT for entry in result.opset_import):
        result.opset_import.append(helper.make_opsetid(MICROSOFT, 1))
    return result


def _attentions(graph: GraphProto) -> Iterator[_Attention]:
    """All that are of the form that `attention.packed_attention` exports, by their softmax."""
    index = GraphIndex(graph)
    shapes = {
        value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in graph.value_info
    }
    for softmax in graph.node:
        if softmax.op_type != "Softmax":
            continue
        scores = index.up(softmax.input[0], "MatMul")
        out = index.down(softmax.output[0], "MatMul", "Transpose")
        if not (scores and out):
            continue
        sources = [index.up(name, "Transpose") for name in (*scores[0].input, out[0].input[1])]
        if not all(sources):
            continue
        query, key, value = (source[0].input[0] for source in sources)
        layout = shapes.get(value, [])
        if len(layout) == 4 and layout[2]:
            yield _Attention(query, key, value, heads=layout[2], out=out[1].output[0])


def _fused(one: _Attention) -> list[NodeProto]:
    name = one.out
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
