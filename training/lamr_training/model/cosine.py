"""Sentence embeddings of the untrained backbone, for the baseline that ranks functions by them.

This is MiniLM-L6 as it was published: its own tokenizer, a text's first 256 tokens, and the mean over tokens. Nothing
here was trained by us.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from lamr_training.model.backbone import load_minilm

Embedder = Callable[[Sequence[str]], NDArray[np.float32]]

LONGEST = 256
"""How many tokens of a text the published model reads."""


def minilm_embedder(batch: int = 32) -> Embedder:
    """A function from N texts to vectors, float32 `[N, 384]`.

    Args:
        batch: how many texts, of like length, run together.

    Raises:
        RunError: the weights aren't installed.
    """
    model, tokenizer = load_minilm()
    model.eval()
    tokenizer.enable_truncation(LONGEST)
    tokenizer.enable_padding()

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        order = sorted(range(len(texts)), key=lambda n: len(texts[n]))
        vectors = np.zeros((len(texts), model.config.hidden_size), np.float32)
        for start in range(0, len(order), batch):
            chosen = order[start : start + batch]
            encoded = tokenizer.encode_batch_fast([texts[n] for n in chosen])
            mask = torch.tensor([e.attention_mask for e in encoded])
            with torch.inference_mode():
                states = model(torch.tensor([e.ids for e in encoded]), attention_mask=mask).last_hidden_state
            weight = mask[:, :, None].to(states.dtype)
            vectors[chosen] = ((states * weight).sum(dim=1) / weight.sum(dim=1)).numpy()
        return vectors

    return embed
