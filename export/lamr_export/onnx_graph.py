"""An ONNX graph's nodes: which ones make and read a value, and how others take their place."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from onnx import GraphProto, ModelProto, NodeProto, helper, numpy_helper

MICROSOFT = "com.microsoft"


class GraphIndex:
    """The nodes that make and read each value of a graph."""

    def __init__(self, graph: GraphProto) -> None:
        self.makers = {name: node for node in graph.node for name in node.output}
        self.readers: dict[str, list[NodeProto]] = {}
        for node in graph.node:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)

    def up(self, name: str, *kinds: str) -> list[NodeProto]:
        """The maker of a value, the maker of its first input, and so on, if they are of these kinds; else none."""
        makers: list[NodeProto] = []
        for kind in kinds:
            node = self.makers.get(name)
            if node is None or node.op_type != kind:
                return []
            makers.append(node)
            name = node.input[0]
        return makers

    def down(self, name: str, *kinds: str) -> list[NodeProto]:
        """The only reader of a value, the only one of its output, and so on, if they are of these kinds; else none."""
        chain: list[NodeProto] = []
        for kind in kinds:
            readers = self.readers.get(name, [])
            if len(readers) != 1 or readers[0].op_type != kind:
                return []
            chain.append(readers[0])
            name = readers[0].output[0]
        return chain


def copy_of(model: ModelProto) -> ModelProto:
    """The same model again, which can be changed without changing the given one."""
    result = ModelProto()
    result.CopyFrom(model)
    return result


def use_microsoft_operators(model: ModelProto) -> None:
    """Let a model hold onnxruntime's own operators. More calls change nothing."""
    if all(entry.domain != MICROSOFT for entry in model.opset_import):
        model.opset_import.append(helper.make_opsetid(MICROSOFT, 1))


def constant(name: str, value: ArrayLike) -> NodeProto:
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(value), name))


def replace_nodes(graph: GraphProto, nodes: Sequence[NodeProto]) -> None:
    """Replace a graph's nodes by those of `nodes` that its outputs depend on. The graph forgets the noted shapes of
    values that are gone."""
    needed = {value.name for value in graph.output}
    alive = []
    for node in reversed(nodes):
        if needed.intersection(node.output):
            needed.update(node.input)
            alive.append(node)
    values = {name for node in alive for name in node.output}
    shapes = [value for value in graph.value_info if value.name in values]
    del graph.node[:], graph.value_info[:]
    graph.node.extend(reversed(alive))
    graph.value_info.extend(shapes)
