"""Replaces written-out attention in an encoder's graph by onnxruntime's fused operator for CPUs, in two groups.

`MultiHeadAttention` (com.microsoft) keeps scores out of memory only without a mask; `attention` exports masks as
components of queries and keys. Sequences are sorted by length. The first ones are padded to the longest of them and the
others to the longest of all; the graph finds the cut with the fewest scores. Other attention is left as it
is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources

from lamr_model.names import CU_SEQLENS
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, helper
from onnx.parser import parse_function

from lamr_export.onnx_graph import GraphIndex, constant, copy_of, replace_nodes, use_microsoft_operators

_FILE = resources.files("lamr_export") / "templates" / "grouped_attention.onnxtxt"
_GROUPS, _QUERY_MASK, _KEY_MASK, _ATTENTION = (
    parse_function(each + "\n}") for each in _FILE.read_text(encoding="utf-8").split("\n}\n")[:-1]
)


@dataclass(frozen=True)
class _Attention:
    """One attention, by the names of its inputs and its output."""

    query: str  # rows `[T, heads * d]`, before they are padded
    key: str
    value: str
    scale: str  # the factor on the queries
    query_mask: str  # `[B, L, 1, c]`
    key_mask: str
    slots: str  # `[B, L]`, the token of each padded slot
    to_packed: str  # `[T]`, `PackedLayout.to_packed`
    rows: str  # the shape `[-1, heads * d]`, a constant
    out: str  # `[T, heads * d]`
    heads: int  # the number of heads


def group_attention(model: ModelProto) -> ModelProto:
    """The same graph with attention fused, in two groups. The argument is not changed."""
    result = copy_of(model)
    graph = result.graph
    attentions = {one.out: one for one in _attentions(graph)}
    if len({(one.slots, one.to_packed) for one in attentions.values()}) != 1:
        return result  # there is none, or batches have several layouts, which nothing here exports
    nodes: dict[str, NodeProto] = {}  # by first output, because several attentions share some nodes
    for node in graph.node:
        one = attentions.get(node.output[0])
        for new in [node] if one is None else _grouped(one):
            nodes.setdefault(new.output[0], new)
    replace_nodes(graph, list(nodes.values()))
    use_microsoft_operators(result)
    return result


def _attentions(model: GraphProto) -> Iterator[_Attention]:
    graph = GraphIndex(model)
    shapes = {
        value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in model.value_info
    }
    for softmax in model.node:
        if softmax.op_type != "Softmax":
            continue
        scores = graph.up(softmax.input[0], "MatMul")
        out = graph.down(softmax.output[0], "MatMul", "Transpose", "Reshape", "Gather")
        if not (scores and out):
            continue
        query = graph.up(scores[0].input[0], "Transpose", "Concat", "Mul", "Reshape", "Gather")
        key = graph.up(scores[0].input[1], "Transpose", "Concat", "Reshape", "Gather")
        value = graph.up(out[0].input[1], "Transpose", "Reshape", "Gather")
        if not (query and key and value) or len({one[-1].input[1] for one in (query, key, value)}) > 1:
            continue
        query_mask, key_mask = (graph.up(one[1].input[1], "Expand") for one in (query, key))
        layout = shapes.get(value[0].input[0], [])
        if not (query_mask and key_mask and len(layout) == 4 and layout[2]):
            continue
        slots = value[-1].input[1]
        while reshape := graph.up(slots, "Reshape"):
            slots = reshape[0].input[0]
        yield _Attention(
            query=query[-1].input[0],
            key=key[-1].input[0],
            value=value[-1].input[0],
            scale=query[2].input[1],
            query_mask=query_mask[0].input[0],
            key_mask=key_mask[0].input[0],
            slots=slots,
            to_packed=out[3].input[1],
            rows=out[2].input[1],
            out=out[3].output[0],
            heads=layout[2],
        )


def _grouped(one: _Attention) -> list[NodeProto]:
    heads = f"groups/heads_{one.heads}"
    masks = f"{one.query_mask}/{one.heads}", f"{one.key_mask}/{one.heads}"
    packed = {"to_packed": one.to_packed, "spread": f"{heads}/spread"}
    layout = {"slots": one.slots, "cumulative_lengths": CU_SEQLENS, "to_packed": one.to_packed}
    names = {
        **{name: getattr(one, name) for name in ("query", "key", "value", "scale", "rows", "out")},
        **{name: f"groups/{name}" for name in _GROUPS.output},
        "heads": f"{heads}/split",
        "query_mask": f"{masks[0]}/query_mask",
        "key_mask": f"{masks[1]}/key_mask",
    }
    return [
        *_inlined(_GROUPS, layout, "groups"),
        constant(f"{heads}/split", [0, one.heads, -1]),
        constant(f"{heads}/spread", [1, one.heads, 1]),
        *_inlined(_QUERY_MASK, {**packed, "mask": one.query_mask}, masks[0]),
        *_inlined(_KEY_MASK, {**packed, "mask": one.key_mask}, masks[1]),
        *_inlined(_ATTENTION, names, one.out, num_heads=one.heads),
    ]


def _inlined(
    function: FunctionProto, names: Mapping[str, str], prefix: str, **attributes: int
) -> list[NodeProto]:
    nodes = []
    for node in function.node:
        copy = NodeProto()
        copy.CopyFrom(node)
        for values in (copy.input, copy.output):
            values[:] = [names.get(name, f"{prefix}/{name}") for name in values]
        if copy.domain:
            copy.attribute.extend(helper.make_attribute(*one) for one in attributes.items())
        nodes.append(copy)
    return nodes
