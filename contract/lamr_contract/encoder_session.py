"""Opens the encoder's ONNX file for in-process use: the one place of the client that knows onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lamr_contract.cpus import usable_cpus
from lamr_contract.errors import LamrError, ModelMismatchError
from lamr_contract.names import ENCODER_INPUTS, ENCODER_OUTPUTS


def open_encoder(path: Path, *, threads: int | None = None, providers: list[Any] | None = None) -> Any:
    """An `onnxruntime.InferenceSession` with the encoder's contract.

    Args:
        path: `model.onnx`.
        threads: of one run; None takes the CPUs that this process may use.
        providers: as onnxruntime takes them, best first; None takes the CPU.

    Raises:
        ModelMismatchError: the file is missing, truncated or no encoder of ours; names it.
        LamrError: onnxruntime isn't installed, or a provider isn't part of it.
    """
    try:
        import onnxruntime  # noqa: PLC0415
    except ImportError as error:
        raise LamrError(
            "pruning in process needs onnxruntime: pip install 'lamr-server[serve]', or name a server"
        ) from error
    if not path.is_file():
        raise ModelMismatchError(f"{path} is missing; write the repository again with `lamr export`")
    wanted = providers or ["CPUExecutionProvider"]
    names = [provider if isinstance(provider, str) else provider[0] for provider in wanted]
    absent = sorted(set(names) - set(onnxruntime.get_available_providers()))
    if absent:
        raise LamrError(
            f"the installed onnxruntime has no {', '.join(absent)}; it has {onnxruntime.get_available_providers()}"
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or usable_cpus()
    # Every batch has other lengths, so a memory pattern would be planned, kept and never used again.
    options.enable_mem_pattern = False
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=wanted)
    except Exception as error:  # its exceptions share no base but this
        raise ModelMismatchError(
            f"onnxruntime {onnxruntime.__version__} can't load {path} ({error}); write it again with `lamr export`"
        ) from error
    inputs = {node.name for node in session.get_inputs()}
    outputs = {node.name for node in session.get_outputs()}
    if inputs != set(ENCODER_INPUTS) or not outputs >= set(ENCODER_OUTPUTS):
        raise ModelMismatchError(
            f"{path} takes {sorted(inputs)} and gives {sorted(outputs)}, but an encoder takes "
            f"{sorted(ENCODER_INPUTS)} and gives {sorted(ENCODER_OUTPUTS)}; write it again with `lamr export`"
        )
    return session
