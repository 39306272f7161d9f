"""Attention written out in an encoder's graph, replaced by onnxruntime's fused operator for CPUs.

On the CPU `MultiHeadAttention` (com.microsoft) keeps scores out of memory only where there is no mask. There is none
here, because `attention` exports masks as components of queries and keys. Attention with a mask of another kind (a
causal one) is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from onnx import GraphProto, ModelProto, NodeProto, helper

from lamr_export.onnx_graph import (
    MICROSOFT,
    GraphIndex,
    constant,
    copy_of,
    replace_nodes,
    use_microsoft_operators,
)


@dataclass(frozen=True)
class _Attention:
    """One attention: the names of its inputs `[B, L, heads, d]` and its output, which becomes `[B, L, heads * d]`."""

    query: str
    key: str
    value: str
    heads: int
    out: str


def fuse_attention(model: ModelProto) -> ModelProto:
    """The same graph with fused attention. The argument is not changed."""
    result = copy_of(model)
    graph = result.graph
    attentions = {one.out: one for one in _attentions(graph)}
    if not attentions:
        return result
    nodes: list[NodeProto] = [constant("mha_rows", [0, 0, -1])]
    for node in graph.node:
        one = attentions.get(node.output[0])
        nodes += [node] if one is None else _fused(one)
    replace_nodes(graph, nodes, reshaped=attentions)
    use_microsoft_operators(result)
    return result


def _attentions(graph: GraphProto) -> Iterator[_Attention]:
    """Every attention of the form that `attention.packed_attention` exports."""
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
