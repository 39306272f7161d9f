"""An encoder that reads query and code apart, as two graphs: one reads a part, the other brings the parts together.

A *part* is what attends to itself alone: the query up to the first separator, or the code with its headers. Its states
depend on nothing else, so whoever has kept them can leave out the first graph. Both graphs are cut out of `model.onnx`
as it was written, with the same nodes, and their weights are places in that file."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx
from lamr_model.encoder.part_spec import PartSpec
from lamr_model.names import (
    ENCODER_INPUTS,
    ENCODER_OUTPUTS,
    FUSION_FILE,
    ONNX_DATA_FILE,
    ONNX_FILE,
    PART_FILE,
    STATES,
)
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from lamr_export.errors import ExportError
from lamr_export.onnx_graph import GraphIndex, constant
from lamr_export.onnx_tracing import TOKENS

_BACKBONE = "model.backbone."
_SMALL = 1024  # Bytes of a tensor that stands in a graph itself
_ON_THE_WAY = {"Gather", "Squeeze", "Reshape"}  # What takes the batch axis off the backbone's last states


@dataclass(frozen=True)
class _Cut:
    """The values between the two graphs, float32 `[T, width]` each: the layers' joined states and the last layer's."""

    names: tuple[str, str]
    widths: tuple[int, int]


def write_parts(folder: Path, separator: int) -> None:
    """Write the two graphs of a `model.onnx`, and what says to which file they belong, beside it. A model whose weights
    lie in a file of their own gets none."""
    if (folder / ONNX_DATA_FILE).exists():
        return
    data = (folder / ONNX_FILE).read_bytes()
    model = onnx.load_from_string(data)
    cut = _cut(model.graph)
    for name, graph in ((PART_FILE, _part(model, cut)), (FUSION_FILE, _fusion(model, cut))):
        _refer(graph, data)
        onnx.save_model(graph, folder / name)
    spec = PartSpec(hashlib.sha256(data).hexdigest(), separator)
    spec.save(folder)


def _cut(graph: GraphProto) -> _Cut:
    index = GraphIndex(graph)
    last = _last_states(graph, index)
    layers = next((node for node in index.readers[last] if node.op_type == "Concat"), None)
    if layers is None:
        raise ExportError(
            "the encoder joins no layers, so query and code can't be read one without the other"
        )
    joined = _end_of(layers.output[0], graph, index)
    shapes = {value.name: value.type.tensor_type.shape.dim for value in graph.value_info}
    widths = [shapes[name][-1].dim_value if name in shapes else 0 for name in (joined, last)]
    if not all(widths):
        raise ExportError(f"the encoder doesn't say how wide its states {joined} and {last} are")
    return _Cut((joined, last), (widths[0], widths[1]))


def _last_states(graph: GraphProto, index: GraphIndex) -> str:
    """The backbone's last states, `[T, hidden]`."""
    norms = [
        node.output[0]
        for node in graph.node
        if node.op_type == "LayerNormalization" and node.input[1].startswith(_BACKBONE)
    ]
    if not norms:
        raise ExportError("the encoder's backbone ends with no LayerNormalization")
    name: str = norms[-1]
    while len(readers := index.readers[name]) == 1 and readers[0].op_type in _ON_THE_WAY:
        name = readers[0].output[0]
    return name


def _end_of(name: str, graph: GraphProto, index: GraphIndex) -> str:
    """The last value that is computed of this one and of constants alone."""
    known = {name, *(tensor.name for tensor in graph.initializer), ""}
    known |= {node.output[0] for node in graph.node if node.op_type == "Constant"}
    own = {name}
    for node in graph.node:
        if own.intersection(node.input) and known.issuperset(node.input):
            known.update(node.output)
            own.update(node.output)
    ends = [value for value in own if any(not own.issuperset(n.output) for n in index.readers.get(value, []))]
    if len(ends) != 1:
        raise ExportError(
            f"the joined layers are read in {len(ends)} places, so the encoder can't be cut there"
        )
    return ends[0]


def _part(model: ModelProto, cut: _Cut) -> ModelProto:
    halves = [
        helper.make_node("Cast", [name], [f"{name}/half"], to=TensorProto.FLOAT16) for name in cut.names
    ]
    join = helper.make_node("Concat", [f"{name}/half" for name in cut.names], [STATES], axis=1)
    return _graph(model, [*model.graph.node, *halves, join], (), [_states(cut)])


def _fusion(model: ModelProto, cut: _Cut) -> ModelProto:
    halves = [f"{name}/half" for name in cut.names]
    apart = [
        constant(f"{STATES}/widths", list(cut.widths)),
        helper.make_node("Split", [STATES, f"{STATES}/widths"], halves, axis=1),
        *(
            helper.make_node("Cast", [half], [name], to=TensorProto.FLOAT)
            for half, name in zip(halves, cut.names, strict=True)
        ),
    ]
    rest = [node for node in model.graph.node if not set(cut.names).intersection(node.output)]
    outputs = [value for value in model.graph.output if value.name in ENCODER_OUTPUTS]
    result = _graph(model, [*apart, *rest], [_states(cut)], outputs)
    if any(tensor.name.startswith(_BACKBONE) for tensor in result.graph.initializer):
        raise ExportError(
            "something of the backbone is read behind its last layer, so the encoder can't be cut"
        )
    return result


def _states(cut: _Cut) -> ValueInfoProto:
    return helper.make_tensor_value_info(STATES, TensorProto.FLOAT16, [TOKENS, sum(cut.widths)])


def _graph(
    model: ModelProto,
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
) -> ModelProto:
    needed = {value.name for value in outputs}
    alive = []
    for node in reversed(nodes):
        if needed.intersection(node.output):
            needed.update(node.input)
            alive.append(node)
    made = {name for node in alive for name in node.output}
    given = [value for value in model.graph.input if value.name in ENCODER_INPUTS and value.name in needed]
    graph = helper.make_graph(
        alive[::-1],
        model.graph.name,
        [*given, *inputs],
        list(outputs),
        [tensor for tensor in model.graph.initializer if tensor.name in needed],
        value_info=[value for value in model.graph.value_info if value.name in made],
    )
    result = helper.make_model(graph, opset_imports=list(model.opset_import), ir_version=model.ir_version)
    result.producer_name = model.producer_name
    return result


def _refer(model: ModelProto, data: bytes) -> None:
    """Replace the model's weights by their places in the file that they are from, whose content is given."""
    at = 0
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) < _SMALL:
            continue
        at = data.find(tensor.raw_data, at)
        place = {"location": ONNX_FILE, "offset": at, "length": len(tensor.raw_data)}
        at += len(tensor.raw_data)
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
