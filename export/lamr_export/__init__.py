"""The PyTorch model, its checkpoints, and everything that turns one into a Triton model repository."""

from typing import TYPE_CHECKING

from lamr_base.lazy import lazily
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

# These import torch.
__getattr__, __dir__ = lazily(
    __name__,
    {
        "lamr_export.causal_repository": "export_causal",
        "lamr_export.checkpoint": "load_checkpoint save_checkpoint",
        "lamr_export.model": "LamrModel",
        "lamr_export.repository_writer": "ServingTerms export_repository",
        "lamr_export.torch_scorer": "TorchScorer",
    },
)
