"""The encoder and a causal language model as they are served, and their ONNX graphs.

A causal model's softmax over the vocabulary is summed up inside the graph: one number a token comes out.
"""

from __future__ import annotations

import torch
from lamr_contract.names import ENCODER, FUSED, LOG_PROB, PERPLEXITY, RELEVANCE
from onnx import ModelProto
from torch import Tensor, nn

from lamr_export.attention import PackedLayout
from lamr_export.causal_model import CausalModel
from lamr_export.model import LamrModel
from lamr_export.onnx_tracing import TOKENS, packed_to_onnx

OUTPUTS = {FUSED: TOKENS, RELEVANCE: "sequences"}


class ServedEncoder(nn.Module):
    """`LamrModel.forward` for requests that nobody has checked, sharing a batch with others' requests.

    An id outside the vocabulary or a sequence beyond the window would fail the whole batch, or take its memory. Here it
    turns its own sequence's features into NaN, which the decoder refuses, and leaves the other sequences alone.
    """

    def __init__(self, model: LamrModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, cu_seqlens: Tensor, max_len: Tensor) -> tuple[Tensor, Tensor]:
        """Encode a packed batch as `LamrModel.forward` does."""
        window = self.model.config.chunking.window
        packing = PackedLayout.of(cu_seqlens, max_len, input_ids.shape[0], limit=window)
        known, shift = without_refused(input_ids, packing, self.model.backbone.config.vocab_size, window)
        fused, relevance = self.model.encode(known, packing, shift)
        return fused + shift[:, None], relevance  # added again, because quantized products don't pass NaN on


def without_refused(
    input_ids: Tensor, packing: PackedLayout, vocabulary: int, window: int
) -> tuple[Tensor, Tensor]:
    """Find the sequences of a packed batch that the model can't take.

    Args:
        input_ids: int64 `[T]`.
        packing: the batch's layout, limited to the window.
        vocabulary: the number of token ids.
        window: the most tokens of a sequence.

    Returns:
        ids that all lie in the vocabulary, int64 `[T]`; and what is to be added to each token's results, float32 `[T]`:
        NaN in sequences that are too long or have other ids, and 0 elsewhere.
    """
    known = input_ids.clamp(0, vocabulary - 1)
    unknown = (known != input_ids).to(torch.int64).index_select(0, packing.to_padded)
    refused = (unknown.view(packing.starts.shape[0], -1).sum(dim=1) > 0) | (
        packing.lasts - packing.starts >= window
    )
    return known, torch.where(refused, torch.nan, 0.0).index_select(0, packing.sequence)


def encoder_to_onnx(model: LamrModel) -> ModelProto:
    """Export the encoder as it is served (`ServedEncoder`).

    Raises:
        ExportError: see `packed_to_onnx`.
    """
    training = model.training
    try:
        return packed_to_onnx(ServedEncoder(model), ENCODER, model.backbone.config.vocab_size, OUTPUTS)
    finally:
        model.train(training)


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

    Raises:
        ExportError: see `packed_to_onnx`.
    """
    served = ServedCausal(model, max_tokens)
    return packed_to_onnx(served, PERPLEXITY, model.vocabulary, {LOG_PROB: TOKENS})
