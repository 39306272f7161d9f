"""Models with random weights: time doesn't depend on the weights, so benchmarks of shapes need no checkpoint."""

from pathlib import Path
from typing import Any

import numpy as np
from lamr_export import LamrConfig, LamrModel
from lamr_model.crf import Decoder, DecoderWeights
from lamr_model.spec import Chunking, PromptTemplate
from transformers import BertConfig, BertModel, PreTrainedModel

HIDDEN, RUBRICS = 256, 2  # the paper's decoder


def lamr_model(
    backbone: PreTrainedModel | Path, *, window: int, fusion_layers: tuple[int, ...], **settings: Any
) -> LamrModel:
    """LaMR's encoder and heads on a backbone, in eval mode; `settings` are further fields of `LamrConfig`."""
    config = LamrConfig(
        name="benchmark",
        version="0",
        backbone={},
        prompt=PromptTemplate("[CLS]", "[SEP]", "[SEP]"),
        chunking=Chunking(window, window - 200, 50),
        fusion_layers=fusion_layers,
        **settings,
    )
    return LamrModel.from_backbone(backbone, config).eval()


def minilm(positions: int = 512) -> BertModel:
    """A backbone in the shape of MiniLM-L6, for texts of so many tokens."""
    layers = {"num_hidden_layers": 6, "num_attention_heads": 12}
    widths = {"hidden_size": 384, "intermediate_size": 1536}
    return BertModel(BertConfig(**layers, **widths, max_position_embeddings=positions))


def decoder(width: int) -> tuple[Decoder, DecoderWeights]:
    """A decoder for fused features of a width, and its weights."""
    rng = np.random.default_rng(2)

    def draw(*shape: int) -> np.ndarray:
        return (rng.normal(size=shape) * shape[-1] ** -0.5).astype(np.float32)

    mlp = (
        draw(width),
        draw(width),
        draw(HIDDEN, width),
        draw(HIDDEN),
        draw(2 * RUBRICS, HIDDEN),
        draw(2 * RUBRICS),
    )
    chains = draw(RUBRICS, 2, 2), draw(RUBRICS, 2), draw(RUBRICS, 2), draw(2, 2), draw(2), draw(2)
    weights = DecoderWeights(*mlp, draw(RUBRICS, width), draw(RUBRICS), *chains)
    return Decoder(weights), weights
