"""An encoder in the shape of Qwen3-0.6B with random weights, and how many operations its products take.

Used by `gpu.py` and `large_encoder.py`. Fewer layers of the true width and a smaller vocabulary save memory: layers are
alike, and a row of the embedding takes no longer to look up in a large table.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from lamr_contract.spec import Chunking, PromptTemplate
from lamr_export import LamrConfig, LamrModel
from transformers import Qwen3Config, Qwen3Model

WIDTH, INNER, LAYERS = 1024, 3072, 28
HEADS, KEY_HEADS, HEAD_WIDTH = 16, 8, 128
FUSED = 3 * WIDTH
VOCABULARY = 151_669
# Input and output width of every product with weights in one layer: Q, K, V, O, then gate, up and down of the MLP.
LAYER_PRODUCTS = (
    (WIDTH, HEADS * HEAD_WIDTH),
    (WIDTH, KEY_HEADS * HEAD_WIDTH),
    (WIDTH, KEY_HEADS * HEAD_WIDTH),
    (HEADS * HEAD_WIDTH, WIDTH),
    (WIDTH, INNER),
    (WIDTH, INNER),
    (INNER, WIDTH),
)
FUSION_PRODUCTS = ((FUSED, 3 * FUSED), (FUSED, FUSED))


def build(layers: int = LAYERS, vocabulary: int = VOCABULARY) -> LamrModel:
    """The model in fp32, in eval mode, always the same weights."""
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
    config = LamrConfig(
        name="benchmark",
        version="0",
        backbone={},
        prompt=PromptTemplate("", "", ""),
        chunking=Chunking(8192, 8000, 50),
        fusion_layers=(max(1, layers // 4), max(1, layers // 2), layers),
        relevance="yes_no",
        yes_token_id=min(9693, vocabulary - 1),
        no_token_id=min(2152, vocabulary - 2),
    )
    return LamrModel.from_backbone(Qwen3Model(shape), config).eval()


@dataclass(frozen=True)
class Operations:
    """Floating-point operations of a run over one sequence, two a multiply-add: of one layer, and of the fusion block.

    Counted are the products with weights and those of attention: queries by keys and probabilities by values, the
    backbone's over the pairs that a causal mask leaves, fusion's over all. Norms, rotations, softmax and activations
    aren't.
    """

    layer: float
    fusion: float

    @classmethod
    def of(cls, tokens: int) -> Operations:
        pairs = tokens * (tokens + 1) / 2
        return cls(
            layer=linear(LAYER_PRODUCTS, tokens) + 4 * pairs * HEADS * HEAD_WIDTH,
            fusion=linear(FUSION_PRODUCTS, tokens) + 4 * tokens**2 * FUSED,
        )

    def whole(self, layers: int = LAYERS) -> float:
        """Of an encoder of so many layers."""
        return layers * self.layer + self.fusion


def linear(products: tuple[tuple[int, int], ...], tokens: int) -> float:
    """Operations of products of `[tokens, in]` with weights `[in, out]`."""
    return 2.0 * tokens * sum(width * out for width, out in products)
