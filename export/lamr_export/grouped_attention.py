"""Attention written out in an encoder's graph, replaced by onnxruntime's fused operator for CPUs, in two groups.

On the CPU `MultiHeadAttention` (com.microsoft) keeps scores out of memory only where there is no mask. There is none
here, because `attention` exports masks as components of queries and keys.

Sequences are sorted by length. The first ones are padded to the longest of them and the others to the longest of all,
and the graph itself finds the cut with the fewest scores. A single sequence, or sequences of one length, stay one
group, and the other group is a single slot. This is for CPUs: on a GPU the groups' sizes would have to come back to the
host. Attention of another form (a causal one) is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lamr_model.names import CU_SEQLENS
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, helper
from onnx.parser import parse_function

from lamr_export.onnx_graph import GraphIndex, constant, copy_of, replace_nodes, use_microsoft_operators

# For each group's slots, their tokens and keys; for each token, its slot, where the two groups lie one after the other.
_GROUPS = parse_function("""
<domain: "lamr", opset_import: ["": 20]>
groups (slots, cumulative_lengths, to_packed) => (short_tokens, short_keys, long_tokens, long_keys, to_groups)
{
    none = Constant <value_int = 0> ()
    single = Constant <value_int = 1> ()
    zero = Constant <value_ints = [0]> ()
    one = Constant <value_ints = [1]> ()
    last = Constant <value_ints = [-1]> ()
    end = Constant <value_ints = [9223372036854775807]> ()

    # B, L, and the sequences' lengths, at most L.
    count = Shape <end = 1> (slots)
    longest = Shape <start = 1> (slots)
    bounds = Cast <to = 7> (cumulative_lengths)
    starts = Slice (bounds, zero, last)
    ends = Slice (bounds, one, end)
    given = Sub (ends, starts)
    lengths = Min (given, longest)
    sorted, order = TopK <largest = 0> (lengths, count)

    # The number of scores if the first n sequences are short, for n from 1 to B. Of equal choices the last is taken, so
    # that one length is one group. The numbers are float64, because onnxruntime 1.19 has no ArgMin of int64.
    ones = Expand (one, count)
    numbers = CumSum (ones, none)
    others = Sub (count, numbers)
    short_square = Mul (sorted, sorted)
    short_scores = Mul (numbers, short_square)
    long_square = Mul (longest, longest)
    long_scores = Mul (others, long_square)
    scores = Add (short_scores, long_scores)
    exact_scores = Cast <to = 11> (scores)
    cut = ArgMin <axis = 0, select_last_index = 1> (exact_scores)
    short = Add (cut, one)
    short_length = Gather (sorted, cut)
    short_order = Slice (order, zero, short)

    # Where all are short, the long group is a single slot that nothing reads: onnxruntime 1.19 crashes on an empty one.
    all_but_one = Sub (count, one)
    before_long = Min (short, all_but_one)
    long_order = Slice (order, before_long, end)
    all_short = Equal (short, count)
    long_length = Where (all_short, one, longest)

    # Keys past a sequence's end are the row after the last token, which the mask hides from all.
    longest_number = Squeeze (longest)
    slot = Range (none, longest_number, single)
    length_column = Unsqueeze (lengths, one)
    is_held = Less (slot, length_column)
    tokens = Shape (to_packed)
    keys = Where (is_held, slots, tokens)
    short_tokens_wide = Gather (slots, short_order)
    short_tokens = Slice (short_tokens_wide, zero, short_length, one)
    short_keys_wide = Gather (keys, short_order)
    short_keys = Slice (short_keys_wide, zero, short_length, one)
    long_tokens_wide = Gather (slots, long_order)
    long_tokens = Slice (long_tokens_wide, zero, long_length, one)
    long_keys_wide = Gather (keys, long_order)
    long_keys = Slice (long_keys_wide, zero, long_length, one)

    # The n-th sequence begins after n short ones, or after all short ones and the long ones before it.
    ordered, rank = TopK <largest = 0> (order, count)
    begin_if_short = Mul (rank, short_length)
    short_slots = Mul (short, short_length)
    long_rank = Sub (rank, short)
    long_offset = Mul (long_rank, longest)
    begin_if_long = Add (short_slots, long_offset)
    is_short = Less (rank, short)
    begin = Where (is_short, begin_if_short, begin_if_long)
    sequence = Div (to_packed, longest)
    position = Mod (to_packed, longest)
    first = Gather (begin, sequence)
    to_groups = Add (first, position)
}
""")

# A mask's components of tokens and heads `[T, heads, c]`, out of those of padded slots `[B, L, 1, c]`.
_QUERY_MASK = parse_function("""
<domain: "lamr", opset_import: ["": 20]>
query_mask (mask, to_packed, spread) => (query_mask)
{
    middle = Constant <value_ints = [1]> ()
    of_slots = Flatten <axis = 2> (mask)
    of_tokens = Gather (of_slots, to_packed)
    of_heads = Unsqueeze (of_tokens, middle)
    query_mask = Expand (of_heads, spread)
}
""")

# The same, and those of a row after the last token that nothing sees.
_KEY_MASK = parse_function("""
<domain: "lamr", opset_import: ["": 20]>
key_mask (mask, to_packed, spread) => (key_mask)
{
    middle = Constant <value_ints = [1]> ()
    one_row = Constant <value_ints = [0, 0, 1, 0]> ()
    lowest = Constant <value_float = -3.4028234e38> ()
    of_slots = Flatten <axis = 2> (mask)
    of_tokens = Gather (of_slots, to_packed)
    of_rows = Pad (of_tokens, one_row, lowest)
    of_heads = Unsqueeze (of_rows, middle)
    key_mask = Expand (of_heads, spread)
}
""")

_ATTENTION = parse_function("""
<domain: "lamr", opset_import: ["": 20, "com.microsoft": 1]>
attention (query, key, value, scale, query_mask, key_mask, heads, rows,
           short_tokens, short_keys, long_tokens, long_keys, to_groups) => (out)
{
    joined = Constant <value_ints = [0, -1]> ()
    one_row = Constant <value_ints = [0, 0, 1, 0]> ()

    query_scaled = Mul (query, scale)
    query_heads = Reshape (query_scaled, heads)
    query_masked = Concat <axis = -1> (query_heads, query_mask)
    query_rows = Reshape (query_masked, joined)
    key_and_row = Pad (key, one_row)
    key_heads = Reshape (key_and_row, heads)
    key_masked = Concat <axis = -1> (key_heads, key_mask)
    key_rows = Reshape (key_masked, joined)

    short_query = Gather (query_rows, short_tokens)
    short_key = Gather (key_rows, short_keys)
    short_value = Gather (value, short_tokens)
    short_out = com.microsoft.MultiHeadAttention <scale = 1.0> (short_query, short_key, short_value)
    short_rows = Reshape (short_out, rows)

    long_query = Gather (query_rows, long_tokens)
    long_key = Gather (key_rows, long_keys)
    long_value = Gather (value, long_tokens)
    long_out = com.microsoft.MultiHeadAttention <scale = 1.0> (long_query, long_key, long_value)
    long_rows = Reshape (long_out, rows)

    both = Concat <axis = 0> (short_rows, long_rows)
    out = Gather (both, to_groups)
}
""")


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
    """Every attention of the form that `attention.packed_attention` exports."""
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
    """The nodes of one attention, including those that it shares with others."""
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
    """A function's nodes, ready for a graph."""
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
