"""Graphs of the tests' models: each is traced once for all of pytest's processes, since that takes ten seconds."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import onnx
import pytest
from filelock import FileLock
from lamr_export import causal_repository, onnx_tracing
from lamr_export.causal_model import CausalModel
from lamr_export.model import LamrModel
from onnx import ModelProto
from torch import Tensor


@contextmanager
def traced_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let exports take the graph of what was traced before: the same weights of the same configuration."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # which all workers share
    trace, trace_causal = onnx_tracing.encoder_to_onnx, causal_repository.causal_to_onnx

    def encoder(model: LamrModel) -> ModelProto:
        key = _digest(model.config.to_json(), model.state_dict())
        return _remembered(folder / f"{key}.onnx", lambda: trace(model))

    def causal(model: CausalModel, max_tokens: int) -> ModelProto:
        key = _digest(f"{model.trunk.config.to_json_string()} {max_tokens}", model.state_dict())
        return _remembered(folder / f"{key}.onnx", lambda: trace_causal(model, max_tokens))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onnx_tracing, "encoder_to_onnx", encoder)
        patch.setattr(causal_repository, "causal_to_onnx", causal)
        yield


def _remembered(file: Path, trace: Callable[[], ModelProto]) -> ModelProto:
    with FileLock(f"{file}.lock"):
        if not file.exists():
            onnx.save(trace(), file)
        return onnx.load(file)


def _digest(config: str, weights: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256(config.encode())
    for name, tensor in sorted(weights.items()):
        digest.update(f"\0{name}\0{tensor.dtype}\0{tuple(tensor.shape)}\0".encode())
        digest.update(tensor.detach().contiguous().numpy().data)
    return digest.hexdigest()
