"""The PyTorch model, its checkpoints, and everything that turns one into a Triton model repository."""

import importlib
from typing import TYPE_CHECKING, Any

from lamr_base.silence import keep_silent

from lamr_export.config import LamrConfig, Lexical, paper_fusion_layers
from lamr_export.errors import CheckpointError, ExportError

if TYPE_CHECKING:
    from lamr_export.causal_repository import export_causal
    from lamr_export.checkpoint import load_checkpoint, save_checkpoint
    from lamr_export.model import LamrModel
    from lamr_export.repository_writer import ServingTerms, export_repository
    from lamr_export.torch_scorer import TorchScorer

__all__ = ["CheckpointError", "ExportError", "LamrConfig", "LamrModel", "Lexical", "TorchScorer"]
__all__ += ["ServingTerms", "export_causal", "export_repository", "load_checkpoint", "paper_fusion_layers"]
__all__ += ["save_checkpoint"]

keep_silent()  # before any module here imports transformers, huggingface_hub or onnxruntime

_HEAVY = {  # these import torch, so they are imported when they are used
    "LamrModel": "lamr_export.model",
    "ServingTerms": "lamr_export.repository_writer",
    "TorchScorer": "lamr_export.torch_scorer",
    "export_causal": "lamr_export.causal_repository",
    "export_repository": "lamr_export.repository_writer",
    "load_checkpoint": "lamr_export.checkpoint",
    "save_checkpoint": "lamr_export.checkpoint",
}


def __getattr__(name: str) -> Any:
    if name not in _HEAVY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HEAVY[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
