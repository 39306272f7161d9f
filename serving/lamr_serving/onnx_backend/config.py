"""The part of Triton's model configuration that an onnxruntime backend acts on, from `args["model_config"]`.

A model whose configuration would change results in a way that isn't supported is refused when it is loaded.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from lamr_base.errors import ModelMismatchError
from lamr_model.names import (
    KEPT_BYTES_PARAMETER,
    MAX_BATCH_TOKENS_PARAMETER,
    MAX_SEQUENCE_TOKENS_PARAMETER,
    ONNX_FILE,
    VOCABULARY_PARAMETER,
)
from numpy.typing import DTypeLike

DTYPES: dict[str, DTypeLike] = {
    "TYPE_INT32": np.int32,
    "TYPE_INT64": np.int64,
    "TYPE_FP16": np.float16,
    "TYPE_FP32": np.float32,
}
ACCUMULATED, LONGEST = "BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO", "BATCH_MAX_ELEMENT_COUNT_AS_SHAPE"
SCATTER = "BATCH_SCATTER_WITH_INPUT_SHAPE"
LIMITS = (
    MAX_BATCH_TOKENS_PARAMETER,  # elements of one run, counted as sequences times the longest of them
    MAX_SEQUENCE_TOKENS_PARAMETER,  # the longest sequence
    VOCABULARY_PARAMETER,  # the number of ids that sequences may hold
    KEPT_BYTES_PARAMETER,  # bytes of what an instance keeps of the code that it read
)


class ModelConfigError(ModelMismatchError):
    """The configuration asks for something that this backend can't do, so the model isn't loaded."""


@dataclass(frozen=True)
class TensorConfig:
    """One input or output. `dims` leaves out the batch dimension and holds -1 where a size varies."""

    name: str
    dtype: np.dtype[Any]
    dims: tuple[int, ...]


@dataclass(frozen=True)
class BatchInput:
    """A tensor that Triton makes for the model from the shapes of `source` in all requests of a batch."""

    kind: str
    target: str
    dtype: np.dtype[Any]
    source: str


@dataclass(frozen=True)
class OnnxModelConfig:
    """A model as its `config.pbtxt` describes it. One request is one sequence, laid end to end with the others."""

    name: str
    file: str
    inputs: tuple[TensorConfig, ...]
    outputs: tuple[TensorConfig, ...]
    batch_inputs: tuple[BatchInput, ...]
    scatter: dict[str, str]  # for an output, the input whose shapes say how it is dealt out to the requests
    parameters: dict[str, str]
    accelerators: dict[str, dict[str, dict[str, str]]]  # for "CPU" and "GPU", providers' options by name

    def limit(self, key: str) -> int:
        """One of `LIMITS`; 0 is none.

        Raises:
            ModelConfigError: it is no whole number.
        """
        text = self.parameters.get(key, "0")
        if not text.isdecimal():
            raise ModelConfigError(f"{key} must be a whole number, not {text!r}")
        return int(text)


def read_config(text: str) -> OnnxModelConfig:
    """Read what Triton passes to `TritonPythonModel.initialize` as `model_config`."""
    data: dict[str, Any] = json.loads(text)
    optimization = data.get("optimization", {})
    try:
        config = OnnxModelConfig(
            name=data.get("name", ""),
            file=data.get("default_model_filename") or ONNX_FILE,
            inputs=tuple(_input(item) for item in data.get("input", [])),
            outputs=tuple(_tensor(item) for item in data.get("output", [])),
            batch_inputs=tuple(_batch_input(item) for item in data.get("batch_input", [])),
            scatter=dict(_scatter(item) for item in data.get("batch_output", [])),
            parameters={key: value["string_value"] for key, value in data.get("parameters", {}).items()},
            accelerators=_accelerators(optimization.get("execution_accelerators", {})),
        )
    except (LookupError, ValueError) as error:
        raise ModelConfigError(f"not a configuration that `lamr export` writes: {error!r}") from error
    known = {tensor.name for tensor in config.inputs}
    for source in {*(each.source for each in config.batch_inputs), *config.scatter.values()} - known:
        raise ModelConfigError(f"source_input {source} is not an input of the model")
    for key in LIMITS:  # refused at load, not at the first request
        config.limit(key)
    if int(data.get("max_batch_size", 0)) == 0:
        raise ModelConfigError("allow_ragged_batch needs max_batch_size > 0")
    return config


def _tensor(item: dict[str, Any]) -> TensorConfig:
    name = item["name"]
    return TensorConfig(
        name=name,
        dtype=_dtype(name, item["data_type"]),
        dims=tuple(int(size) for size in item.get("dims", [])),
    )


def _input(item: dict[str, Any]) -> TensorConfig:
    tensor = _tensor(item)
    if not item.get("allow_ragged_batch"):
        raise ModelConfigError(f"{tensor.name}: inputs without allow_ragged_batch are not supported")
    return tensor


def _dtype(name: str, data_type: str) -> np.dtype[Any]:
    if data_type not in DTYPES:
        raise ModelConfigError(f"{name}: {data_type} is not supported; use one of {', '.join(DTYPES)}")
    return np.dtype(DTYPES[data_type])


def _batch_input(item: dict[str, Any]) -> BatchInput:
    kind = item.get("kind", "BATCH_ELEMENT_COUNT")  # protobuf's default
    if kind not in (ACCUMULATED, LONGEST):
        raise ModelConfigError(f"batch_input kind {kind} is not supported; known: {ACCUMULATED}, {LONGEST}")
    (target,), (source,) = item["target_name"], item["source_input"]
    return BatchInput(kind, target, _dtype(target, item["data_type"]), source)


def _scatter(item: dict[str, Any]) -> tuple[str, str]:
    """The output that is dealt out, and the input whose shapes say how."""
    if (kind := item.get("kind", SCATTER)) != SCATTER:
        raise ModelConfigError(f"batch_output kind {kind} is not supported; known: {SCATTER}")
    (target,), (source,) = item["target_name"], item["source_input"]
    return target, source


def _accelerators(data: dict[str, Any]) -> dict[str, dict[str, dict[str, str]]]:
    kinds = {"CPU": "cpu_execution_accelerator", "GPU": "gpu_execution_accelerator"}
    return {
        kind: {item["name"]: dict(item.get("parameters", {})) for item in data.get(key, [])}
        for kind, key in kinds.items()
    }
