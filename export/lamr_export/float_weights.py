"""The float weights that an integer graph stands for: what `integer_graph` does to a model's weights, undone.

Rounding isn't undone, so a recovered model answers much as the integer graph does, and it can be trained on. The module
knows graphs of `quantize_encoder` and the parameter names that the exporter leaves on biases and tables; it knows no
architecture.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, numpy_helper

from lamr_export.errors import ExportError

FloatArray = NDArray[np.float32]

_MODEL = "model."
"""What the exporter puts before a parameter's name."""
_LEVELS = "/q"


def float_weights(encoder: ModelProto) -> dict[str, FloatArray]:
    """Every parameter of an int8 encoder by its name in the model, in the parameter's own shape.

    Raises:
        ExportError: the graph has no integer weights, or a product whose parameter nothing names.
    """
    graph = encoder.graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    weights = {
        name.removeprefix(_MODEL): value.astype(np.float32)
        for name, value in constants.items()
        if name.startswith(_MODEL) and "/" not in name
    }
    levels = [name.removesuffix(_LEVELS) for name in constants if name.endswith(_LEVELS)]
    if not levels:
        raise ExportError("the encoder has no int8 weights; only an int8 repository can be turned back")
    products = {node.input[1].removesuffix(_LEVELS): node for node in graph.node if len(node.input) > 1}
    tables = {node.input[0].removesuffix(_LEVELS) for node in graph.node if node.op_type == "Gather"}
    for name in levels:
        values = _matrix(name, constants, products)
        # A product holds its matrix as `[in, out]`, the transpose of `nn.Linear`'s.
        weights[_parameter(name, products)] = values if name in tables else np.ascontiguousarray(values.T)
    for name, value in constants.items():
        if name.endswith("/half"):
            weights[name.removeprefix(_MODEL).removesuffix("/half")] = value.astype(np.float32)
    return weights


def _parameter(name: str, products: dict[str, NodeProto]) -> str:
    """The parameter of an integer weight: its own name, or that of the bias that its product adds."""
    if name.startswith(_MODEL):
        return name.removeprefix(_MODEL)
    node = products.get(name)
    biases = [] if node is None else [each for each in node.input if re.fullmatch(r"model\..*\.bias", each)]
    if len(biases) != 1:
        raise ExportError(f"the encoder's weight {name} has no name; export the model again")
    return biases[0].removeprefix(_MODEL).removesuffix("bias") + "weight"


def _matrix(
    name: str, constants: dict[str, NDArray[np.generic]], products: dict[str, NodeProto]
) -> FloatArray:
    """An integer weight as floats: levels times scale, divided by what its activation is scaled with."""
    scale = constants[f"{name}/scale"].astype(np.float32)
    values: FloatArray = constants[name + _LEVELS].astype(np.float32) * scale
    node = products.get(name)
    read = None if node is None else node.input[0].removesuffix(_LEVELS)
    if f"{read}/inverse" in constants:
        values *= constants[f"{read}/inverse"].astype(np.float32)[:, None]
    if f"{name}/loud" in constants:
        values[constants[f"{read}/loud"].astype(np.int64)] = constants[f"{name}/loud"]
    return values
