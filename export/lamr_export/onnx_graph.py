"""An ONNX graph's nodes: found by what they make and read, and put in place of those that were there.

Knows graphs; knows nothing of what their nodes compute.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike
from onnx import GraphProto, NodeProto, helper, numpy_helper


class GraphIndex:
    """Who makes and who reads each value of a graph.

    Attributes:
        makers: the node that makes a value, by its name.
        readers: the nodes that read it, in the graph's order, one that reads it twice twice.
    """

    def __init__(self, graph: GraphProto) -> None:
        self.makers = {name: node for node in graph.node for name in node.output}
        self.readers: dict[str, list[NodeProto]] = {}
        for node in graph.node:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)

    def up(self, name: str, *kinds: str) -> list[NodeProto]:
        """The makers of a value, along first inputs, if they are of these kinds; else none."""
        found: list[NodeProto] = []
        for kind in kinds:
            node = self.makers.get(name)
            if node is None or node.op_type != kind:
                return []
            found.append(node)
            name = node.input[0]
        return found

    def down(self, name: str, *kinds: str) -> list[NodeProto]:
        """The only readers of a value, one after the other, if they are of these kinds; else none."""
        found: list[NodeProto] = []
        for kind in kinds:
            readers = self.readers.get(name, [])
            if len(readers) != 1 or readers[0].op_type != kind:
                return []
            found.append(readers[0])
            name = readers[0].output[0]
        return found


def constant(name: str, value: ArrayLike) -> NodeProto:
    """The node that makes a constant of that name."""
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(value), name))


def replace_nodes(graph: GraphProto, nodes: Sequence[NodeProto], reshaped: Collection[str] = ()) -> None:
    """Give a graph those of `nodes` that its outputs depend on.

    The shapes that it notes of values that are gone, or `reshaped`, are forgotten.
    """
    wanted = {value.name for value in graph.output}
    alive = []
    for node in reversed(nodes):
        if wanted.intersection(node.output):
            wanted.update(node.input)
            alive.append(node)
    made = {name for node in alive for name in node.output}.difference(reshaped)
    shapes = [value for value in graph.value_info if value.name in made]
    del graph.node[:], graph.value_info[:]
    graph.node.extend(reversed(alive))
    graph.value_info.extend(shapes)
