"""Opens the ONNX files of an encoder for use in this process.

Below the serving packages, only this module uses onnxruntime, which it imports when a file is opened."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lamr_base.cpus import usable_cpus
from lamr_base.errors import MissingPackageError, ModelMismatchError, how_to_install
from lamr_base.silence import import_onnxruntime

from lamr_model.encoder.apart_session import ApartSession
from lamr_model.encoder.kept_states import KeptStates
from lamr_model.encoder.part_spec import PartSpec
from lamr_model.names import ENCODER_INPUTS, ENCODER_OUTPUTS, FUSION_FILE, PART_FILE, STATES

# Threads that wait for their part of a run spin for 20 µs at most, and not beyond the run. With onnxruntime's own
# milliseconds they keep CPUs busy that other processes need, and a run whose threads wait for a CPU burns the rest.
SPINNING = {"session.intra_op.spin_duration_us": "20", "session.force_spinning_stop": "1"}


def open_encoder(
    path: Path,
    *,
    threads: int | None = None,
    providers: list[Any] | None = None,
    kept: KeptStates | None = None,
) -> Any:
    """Return an `onnxruntime.InferenceSession`, or what has its `run`, that takes what an encoder takes.

    Args:
        path: the file `model.onnx`.
        threads: the threads of one run; None takes the CPUs that this process may use.
        providers: execution providers as onnxruntime takes them, best first; None takes the CPU.
        kept: lets an encoder that reads query and code apart read a part once for as long as it is kept; such an
            encoder comes as an `ApartSession`.

    Raises:
        ModelMismatchError: a file is missing, damaged or another model's.
        MissingPackageError: onnxruntime isn't installed, or lacks a provider."""
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

    def opened(file: Path, inputs: Sequence[str], outputs: Sequence[str]) -> Any:
        try:
            session = onnxruntime.InferenceSession(str(file), options, providers=providers)
        except Exception as error:  # its exceptions share no base but this
            raise ModelMismatchError(
                f"onnxruntime {onnxruntime.__version__} can't load {file} ({error}); write it again with `lamr export`",
                path=file,
            ) from error
        _check(session, file, inputs, outputs)
        return session

    spec = None if kept is None else PartSpec.load(path.parent)
    if kept is None or spec is None:
        return opened(path, ENCODER_INPUTS, ENCODER_OUTPUTS)
    part = functools.cache(lambda: opened(path.with_name(PART_FILE), ENCODER_INPUTS, (STATES,)))
    if not kept.on_disk:  # where all parts were kept by an earlier process, this one reads none
        part()
    fusion = opened(path.with_name(FUSION_FILE), (*ENCODER_INPUTS, STATES), ENCODER_OUTPUTS)
    return ApartSession(part, fusion, spec, kept)


def _check(session: Any, file: Path, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Check that a session takes and gives what it must. Raises `ModelMismatchError`: it is another
    model's."""
    taken = {node.name for node in session.get_inputs()}
    given = {node.name for node in session.get_outputs()}
    if taken != set(inputs) or not given >= set(outputs):
        raise ModelMismatchError(
            f"{file} takes {sorted(taken)} and gives {sorted(given)}, but the model takes {sorted(inputs)} and gives "
            f"{sorted(outputs)}; write it again with `lamr export`",
            path=file,
        )
