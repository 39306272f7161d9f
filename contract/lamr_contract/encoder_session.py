"""Opens the ONNX file of an encoder or of a causal model for use in this process.

Below the serving packages, only this module uses onnxruntime, which it imports when a file is opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lamr_errors import how_to_install

from lamr_contract.cpus import usable_cpus
from lamr_contract.errors import MissingPackageError, ModelMismatchError
from lamr_contract.names import ENCODER_INPUTS, ENCODER_OUTPUTS
from lamr_contract.silence import import_onnxruntime

# Threads that wait for their part of a run spin for 20 µs at most, and not beyond the run. With onnxruntime's own
# milliseconds they keep CPUs busy that other processes need, and a run whose threads wait for a CPU burns the rest.
SPINNING = {"session.intra_op.spin_duration_us": "20", "session.force_spinning_stop": "1"}


def open_encoder(
    path: Path,
    *,
    threads: int | None = None,
    providers: list[Any] | None = None,
    outputs: Sequence[str] = ENCODER_OUTPUTS,
) -> Any:
    """Return an `onnxruntime.InferenceSession` that takes what an encoder takes.

    Args:
        path: the file `model.onnx`.
        threads: the threads of one run; None takes the CPUs that this process may use.
        providers: execution providers as onnxruntime takes them, best first; None takes the CPU.
        outputs: what it must give.

    Raises:
        ModelMismatchError: the file is missing, truncated or another model.
        MissingPackageError: onnxruntime isn't installed, or lacks a provider.
    """
    try:
        onnxruntime = import_onnxruntime()
    except ImportError as error:
        raise MissingPackageError(
            f"pruning in process needs onnxruntime: {how_to_install('local')}; or name a server",
            package="onnxruntime",
        ) from error
    if not path.is_file():
        raise ModelMismatchError(
            f"{path} is missing or not a regular file; write the repository again with `lamr export`",
            path=path,
        )
    providers = providers or ["CPUExecutionProvider"]
    names = [provider if isinstance(provider, str) else provider[0] for provider in providers]
    available = onnxruntime.get_available_providers()
    if absent := sorted(set(names) - set(available)):
        raise MissingPackageError(
            f"the installed onnxruntime has no {', '.join(absent)}; it has {available}", package=absent[0]
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or usable_cpus()
    # Every batch has other lengths, so a memory pattern would be planned, kept and never used again.
    options.enable_mem_pattern = False
    for entry, value in SPINNING.items():
        options.add_session_config_entry(entry, value)
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=providers)
    except Exception as error:  # its exceptions share no base but this
        raise ModelMismatchError(
            f"onnxruntime {onnxruntime.__version__} can't load {path} ({error}); write it again with `lamr export`",
            path=path,
        ) from error
    inputs = {node.name for node in session.get_inputs()}
    given = {node.name for node in session.get_outputs()}
    if inputs != set(ENCODER_INPUTS) or not given >= set(outputs):
        raise ModelMismatchError(
            f"{path} takes {sorted(inputs)} and gives {sorted(given)}, but the model takes "
            f"{sorted(ENCODER_INPUTS)} and gives {sorted(outputs)}; write it again with `lamr export`",
            path=path,
        )
    return session
