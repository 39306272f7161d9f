"""A causal language model as it is served, and its ONNX graph.

The vocabulary's softmax is summed up inside the graph: one number a token comes out.
"""

from __future__ import annotations

from lamr_contract.names import LOG_PROB, PERPLEXITY
from onnx import ModelProto
from torch import Tensor, nn

from lamr_export.attention import PackedLayout
from lamr_export.causal_model import CausalModel
from lamr_export.onnx_encoder import without_refused
from lamr_export.onnx_tracing import TOKENS, packed_to_onnx


class ServedCausal(nn.Module):
    """`CausalModel.forward` for requests that nobody has checked, sharing a batch with others' requests.

    An id outside the vocabulary or a sequence beyond the window turns its own sequence's log-probabilities into NaN and
    leaves the other sequences alone.
    """

    def __init__(self, model: CausalModel, max_tokens: int) -> None:
        super().__init__()
        self.model, self.max_tokens = model, max_tokens

    def forward(self, input_ids: Tensor, cu_seqlens: Tensor, max_len: Tensor) -> Tensor:
        """Score a packed batch as `CausalModel.forward` does."""
        packing = PackedLayout.of(cu_seqlens, max_len, input_ids.shape[0], limit=self.max_tokens)
        known, shift = without_refused(input_ids, packing, self.model.vocabulary, self.max_tokens)
        return self.model.log_probs(known, packing) + shift


def causal_to_onnx(model: CausalModel, max_tokens: int) -> ModelProto:
    """Export a causal model as it is served (`ServedCausal`).

    Args:
        model: the model.
        max_tokens: the longest sequence that is served.

    Raises:
        ExportError: see `packed_to_onnx`.
    """
    served = ServedCausal(model, max_tokens)
    return packed_to_onnx(served, PERPLEXITY, model.vocabulary, {LOG_PROB: TOKENS})
