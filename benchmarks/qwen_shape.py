"""An encoder in the shape of Qwen3-0.6B with random weights, and how many operations its products take.

`gpu.py` and `large_encoder.py` use it. Fewer layers of the true width and a smaller vocabulary save memory: all layers
are alike, and a look-up takes no longer in a large table of embeddings than in a small one."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from lamr_export import LamrModel
from transformers import Qwen3Config, Qwen3Model

from benchmarks.random_models import lamr_model

WIDTH, INNER, LAYERS = 1024, 3072, 28
HEADS, KEY_HEADS, HEAD_WIDTH = 16, 8, 128
ATTENDED = HEADS * HEAD_WIDTH
FUSED = 3 * WIDTH
VOCABULARY = 151_669
# Input and output width of every product with weights in one layer.
QKVO_PRODUCTS = ((WIDTH, ATTENDED), *2 * ((WIDTH, KEY_HEADS * HEAD_WIDTH),), (ATTENDED, WIDTH))
MLP_PRODUCTS = ((WIDTH, INNER), (WIDTH, INNER), (INNER, WIDTH))  # gate, up, down
LAYER_PRODUCTS = QKVO_PRODUCTS + MLP_PRODUCTS
FUSION_PRODUCTS = ((FUSED, 3 * FUSED), (FUSED, FUSED))


def build(layers: int = LAYERS, vocabulary: int = VOCABULARY) -> LamrModel:
    """The model in fp32 and eval mode, always with the same weights."""
    torch.manual_seed(0)
    shape = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=WIDTH,
        intermediate_size=INNER,
        num_hidden_layers=layers,
        num_attention_heads=HEADS,
        num_key_value_heads=KEY_HEADS,
        head_dim=HEAD_WIDTH,
        max_position_embeddings=8192,
    )
    yes, no = min(9693, vocabulary - 1), min(2152, vocabulary - 2)
    return lamr_model(
        Qwen3Model(shape),
        window=8192,
        fusion_layers=(max(1, layers // 4), max(1, layers // 2), layers),
        relevance="yes_no",
        yes_token_id=yes,
        no_token_id=no,
    )


@dataclass(frozen=True)
class Operations:
    """Floating-point operations of a run over one sequence, a multiply-add counted as two.

    The products with weights and those of attention count (queries by keys and probabilities by values). The backbone
    attends to the pairs that a causal mask leaves, the fusion block to all pairs. Norms, rotations, softmax and
    activations don't count."""

    layer: float  # operations of one layer of the backbone
    fusion: float  # operations of the fusion block

    @classmethod
    def of(cls, tokens: int) -> Operations:
        """The operations for one sequence of so many tokens."""
        pairs = tokens * (tokens + 1) / 2
        return cls(
            layer=linear(LAYER_PRODUCTS, tokens) + 4 * pairs * ATTENDED,
            fusion=linear(FUSION_PRODUCTS, tokens) + 4 * tokens**2 * FUSED,
        )

    def whole(self, layers: int = LAYERS) -> float:
        """The operations of an encoder of so many layers and its fusion block."""
        return layers * self.layer + self.fusion


def linear(products: tuple[tuple[int, int], ...], tokens: int) -> float:
    """Operations of products of `[tokens, in]` with weights `[in, out]`."""
    return 2.0 * tokens * sum(width * out for width, out in products)
