"""An onnxruntime session as Triton's model configuration describes it, in the terms of Triton's C++ backend."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lamr_base.cpus import usable_cpus
from lamr_base.errors import ModelMismatchError, how_to_install
from lamr_base.silence import import_onnxruntime
from lamr_model.encoder.apart_session import ApartSession
from lamr_model.encoder.encoder_session import SPINNING
from lamr_model.encoder.kept_states import KeptStates
from lamr_model.encoder.part_spec import PartSpec
from lamr_model.names import CONFIG_FILE, FUSION_FILE, KEPT_BYTES_PARAMETER, ONNX_FILE, PART_FILE

from lamr_serving.onnx_backend.config import ModelConfigError, OnnxModelConfig

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


def open_session(config: OnnxModelConfig, file: Path, kind: str, device: int = 0) -> Any:
    """An `onnxruntime.InferenceSession` on `file`, checked against the configuration.

    `kind` is Triton's instance kind, "CPU" or "GPU", and `device` the GPU's number.

    Raises:
        ModelConfigError: the provider isn't installed, an option is unknown, the file can't be loaded, or its
            inputs and outputs aren't those of the configuration. The message names the file.
    """
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
        spec = PartSpec.load(file.parent) if file.name == ONNX_FILE else None
    except ModelMismatchError as error:
        raise ModelConfigError(str(error), path=error.path) from error
    if spec is None:
        return None
    part, fusion = opened(file.with_name(PART_FILE)), opened(file.with_name(FUSION_FILE))
    return ApartSession(part, fusion, spec, KeptStates(config.limit(KEPT_BYTES_PARAMETER)))


def session_options(config: OnnxModelConfig, onnxruntime: Any) -> Any:
    """`onnxruntime.SessionOptions` from the configuration's parameters.

    There is no memory pattern, because every batch has other shapes, so patterns would never be reused and their memory
    would stay. There are as many threads as CPUs that this process may use, not as the machine has. And threads spin
    for 20 µs at most and not beyond a run, because the decoder and the encoder's other instances need the CPUs.
    (Without spinning a lone short run takes a third longer. With onnxruntime's milliseconds two instances answer a
    tenth fewer requests. Versions that don't know the entry pass over it.)
    """
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
    """Execution providers in order of preference, each as (name, options). The CPU is always the last one.

    Raises:
        ModelConfigError: a provider that the configuration names isn't part of the installed onnxruntime.
    """
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
        raise ModelConfigError(f"{file} takes {sorted(inputs)}, but {CONFIG_FILE} gives {sorted(configured)}")
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
            raise ModelConfigError(f"{file}: {name} is {types[name]}, but {CONFIG_FILE} says {dtype}")
