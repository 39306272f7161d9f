"""An onnxruntime session as Triton's model configuration describes it, in the terms of Triton's C++ backend.

A model whose configuration would change results in a way that isn't supported is refused when it is
loaded."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lamr_base.cpus import usable_cpus
from lamr_base.errors import ModelMismatchError, how_to_install
from lamr_base.silence import import_onnxruntime
from lamr_model import names
from lamr_model.encoder.apart_session import ApartSession
from lamr_model.encoder.encoder_session import SPINNING
from lamr_model.encoder.kept_states import KeptStates
from lamr_model.encoder.part_spec import PartSpec
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
    names.MAX_BATCH_TOKENS_PARAMETER,  # elements of one run, counted as sequences times the longest of them
    names.MAX_SEQUENCE_TOKENS_PARAMETER,  # the longest sequence
    names.VOCABULARY_PARAMETER,  # the number of ids that sequences may hold
    names.KEPT_BYTES_PARAMETER,  # bytes of what an instance keeps of the code that it read
)
THREADS_VARIABLE = "LAMR_THREADS"
PROVIDERS = {
    "openvino": ("OpenVINOExecutionProvider", "pip install onnxruntime-openvino in place of onnxruntime"),
    "tensorrt": ("TensorrtExecutionProvider", f"TensorRT, and {how_to_install('gpu')}"),
    "cuda": ("CUDAExecutionProvider", how_to_install("gpu")),
}
"""Triton's names of execution accelerators: onnxruntime's for them, and what brings them."""
ONNX_TYPES = {
    "float16": "tensor(float16)",
    "float32": "tensor(float)",
    "int32": "tensor(int32)",
    "int64": "tensor(int64)",
}


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
        """One of `LIMITS`; 0 is none."""
        text = self.parameters.get(key, "0")
        if not text.isdecimal():
            raise ModelConfigError(f"{key} must be a whole number, not {text!r}")
        return int(text)


def read_config(text: str) -> OnnxModelConfig:
    data: dict[str, Any] = json.loads(text)
    try:
        config = OnnxModelConfig(
            name=data.get("name", ""),
            file=data.get("default_model_filename") or names.ONNX_FILE,
            inputs=tuple(_input(item) for item in data.get("input", [])),
            outputs=tuple(_tensor(item) for item in data.get("output", [])),
            batch_inputs=tuple(_batch_input(item) for item in data.get("batch_input", [])),
            scatter=dict(_scatter(item) for item in data.get("batch_output", [])),
            parameters={key: value["string_value"] for key, value in data.get("parameters", {}).items()},
            accelerators=_accelerators(data.get("optimization", {}).get("execution_accelerators", {})),
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
    dims = tuple(int(size) for size in item.get("dims", []))
    return TensorConfig(item["name"], _dtype(item["name"], item["data_type"]), dims)


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


def open_session(config: OnnxModelConfig, file: Path, kind: str, device: int = 0) -> Any:
    """An `onnxruntime.InferenceSession` on `file`, checked against the configuration.

    `kind` is Triton's instance kind, "CPU" or "GPU", and `device` the GPU's number."""
    onnxruntime = import_onnxruntime()
    providers = choose_providers(config, kind, device, onnxruntime.get_available_providers())
    options = session_options(config, onnxruntime)

    def opened(file: Path) -> Any:
        try:
            return onnxruntime.InferenceSession(str(file), options, providers=providers)
        except Exception as error:  # onnxruntime's own exceptions share no base but this
            raise ModelConfigError(
                f"onnxruntime {onnxruntime.__version__} can't load {file}: {error}"
            ) from error

    session = _apart(config, file, opened) if providers == ["CPUExecutionProvider"] else None
    session = opened(file) if session is None else session
    _check_signature(config, session, file)
    return session


def _apart(config: OnnxModelConfig, file: Path, opened: Callable[[Path], Any]) -> ApartSession | None:
    """An encoder that reads query and code apart, as clients do in process; None where it is one graph."""
    try:
        spec = PartSpec.load(file.parent) if file.name == names.ONNX_FILE else None
    except ModelMismatchError as error:
        raise ModelConfigError(str(error), path=error.path) from error
    if spec is None:
        return None
    part, fusion = opened(file.with_name(names.PART_FILE)), opened(file.with_name(names.FUSION_FILE))
    return ApartSession(lambda: part, fusion, spec, KeptStates(config.limit(names.KEPT_BYTES_PARAMETER)))


def session_options(config: OnnxModelConfig, onnxruntime: Any) -> Any:
    """`onnxruntime.SessionOptions` from the configuration's parameters.

    There is no memory pattern, because every batch has other shapes, so patterns would never be reused and their memory
    would stay. There are as many threads as CPUs that this process may use, not as the machine has. And threads spin
    for 20 µs at most and not beyond a run, because the decoder and the encoder's other instances need the CPUs.
    (Without spinning a lone short run takes a third longer. With onnxruntime's milliseconds two instances answer a
    tenth fewer requests. Versions that don't know the entry pass over it.)"""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = thread_count(config.parameters)
    options.enable_mem_pattern = False
    for key, value in {**SPINNING, **config.parameters}.items():
        if key.startswith("session."):
            options.add_session_config_entry(key, value)
    return options


def thread_count(parameters: dict[str, str]) -> int:
    """Threads of a run: the configuration's number, else the command line's, else one for each usable CPU."""
    configured = parameters.get("intra_op_thread_count") or os.environ.get(THREADS_VARIABLE) or "0"
    if not configured.isdecimal():
        raise ModelConfigError(f"intra_op_thread_count must be a whole number, not {configured!r}")
    return int(configured) or usable_cpus()


def run_options(config: OnnxModelConfig, onnxruntime: Any) -> Any:
    """`onnxruntime.RunOptions`, or None where the configuration asks for nothing."""
    shrinkage = config.parameters.get("memory.enable_memory_arena_shrinkage")
    if not shrinkage:
        return None
    options = onnxruntime.RunOptions()
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", shrinkage)
    return options


def choose_providers(config: OnnxModelConfig, kind: str, device: int, available: list[str]) -> list[Any]:
    """Execution providers in order of preference, each as (name, options). The CPU is always the last one."""
    chosen: list[Any] = []
    for name, options in config.accelerators.get(kind, {}).items():
        if name not in PROVIDERS:
            raise ModelConfigError(
                f"execution accelerator {name!r} is not supported; known: {', '.join(PROVIDERS)}"
            )
        # OpenVINO has threads of its own, by default as many as the machine has cores.
        if name == "openvino":
            options = {"num_of_threads": str(thread_count(config.parameters)), **options}  # noqa: PLW2901
        chosen.append((PROVIDERS[name][0], options))
    if kind == "GPU":
        cuda = PROVIDERS["cuda"][0]
        if cuda not in (name for name, _ in chosen):
            chosen.append((cuda, {}))
        chosen = [(name, {"device_id": str(device), **options}) for name, options in chosen]
    packages = dict(PROVIDERS.values())
    for name, _ in chosen:
        if name not in available:
            raise ModelConfigError(f"{name} is not part of the installed onnxruntime; {packages[name]}")
    return [*chosen, "CPUExecutionProvider"]


def _check_signature(config: OnnxModelConfig, session: Any, file: Path) -> None:
    configured = {tensor.name: tensor.dtype.name for tensor in config.inputs}
    configured.update({item.target: item.dtype.name for item in config.batch_inputs})
    inputs = {node.name: node.type for node in session.get_inputs()}
    if configured.keys() != inputs.keys():
        raise ModelConfigError(
            f"{file} takes {sorted(inputs)}, but {names.CONFIG_FILE} gives {sorted(configured)}"
        )
    outputs = {node.name: node.type for node in session.get_outputs()}
    for tensor in config.outputs:
        if tensor.name not in outputs:
            raise ModelConfigError(f"{file} has no output {tensor.name}; it has {sorted(outputs)}")
    types = {**inputs, **outputs}
    for name, dtype in {
        **configured,
        **{tensor.name: tensor.dtype.name for tensor in config.outputs},
    }.items():
        if types[name] != ONNX_TYPES[dtype]:
            raise ModelConfigError(f"{file}: {name} is {types[name]}, but {names.CONFIG_FILE} says {dtype}")
