"""onnxruntime sessions on an encoder, opened as a server's backend opens them."""

from pathlib import Path

import onnxruntime
from lamr_serving.onnx_backend.session import OnnxModelConfig, choose_providers, session_options

NO_SPINNING = {"session.intra_op.allow_spinning": "0"}  # for CPU times, which spinning threads would add to


def server_session(
    path: Path,
    threads: int,
    accelerators: dict[str, dict[str, dict[str, str]]] | None = None,
    entries: dict[str, str] | None = None,
) -> onnxruntime.InferenceSession:
    """Open an ONNX file with the backend's own options.

    Args:
        path: the ONNX file.
        threads: threads of one run.
        accelerators: execution providers as in `OnnxModelConfig`; none means onnxruntime's own on the CPU.
        entries: further `session.*` entries."""
    parameters = {"intra_op_thread_count": str(threads), **(entries or {})}
    config = OnnxModelConfig("", "", (), (), (), {}, parameters, accelerators or {})
    providers = choose_providers(config, "CPU", 0, onnxruntime.get_available_providers())
    return onnxruntime.InferenceSession(str(path), session_options(config, onnxruntime), providers=providers)
