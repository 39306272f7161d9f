"""Sentence embeddings, for the baselines that rank code by them: of the untrained backbone, or of any encoder.

The untrained backbone is MiniLM-L6 as it was published: its own tokenizer, a text's first 256 tokens, and the mean over
tokens. Nothing here was trained by us.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lamr_contract.names import TOKENIZER_FILE
from lamr_contract.perplexity.causal_scorer import causal_tokenizer
from numpy.typing import NDArray
from tokenizers import Tokenizer
from transformers import AutoModel

from lamr_training.errors import RunError
from lamr_training.model.backbone import load_minilm

Embedder = Callable[[Sequence[str]], NDArray[np.float32]]
Pool = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

LONGEST = 256
"""How many tokens of a text the published model reads, and any other whose folder says nothing."""
# Files of a sentence-transformers folder: the longest text, and how a text's vector comes from its tokens'.
_LENGTH_FILE, _POOLING_FILE = "sentence_bert_config.json", "1_Pooling/config.json"


def _mean(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    weight = mask[:, :, None].to(states.dtype)
    return (states * weight).sum(dim=1) / weight.sum(dim=1)


def _first(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return states[torch.arange(len(states)), mask.argmax(dim=1)]


def _last(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    places = torch.arange(mask.shape[1]) * mask
    return states[torch.arange(len(states)), places.argmax(dim=1)]


POOLS: dict[str, Pool] = {
    "pooling_mode_mean_tokens": _mean,
    "pooling_mode_cls_token": _first,
    "pooling_mode_lasttoken": _last,
}
"""How a text's vector comes from its tokens' states `[B, L, D]` and mask `[B, L]`, by the folder's name for it."""


def minilm_embedder(batch: int = 32) -> Embedder:
    """A function from N texts to vectors, float32 `[N, 384]`.

    Args:
        batch: how many texts, of like length, run together.

    Raises:
        RunError: the weights aren't installed.
    """
    model, tokenizer = load_minilm()
    return _embedder(model, tokenizer, _mean, LONGEST, batch)


def folder_embedder(folder: Path, batch: int = 32) -> Embedder:
    """A function from N texts to vectors, float32 `[N, D]`, by a sentence encoder in a folder.

    Args:
        folder: of a Hugging Face encoder with `tokenizer.json`. Where sentence-transformers' files lie beside it, they
            say how tokens are pooled and how long a text may be; else it is the mean over 256 tokens.
        batch: how many texts, of like length, run together.

    Raises:
        RunError: the folder holds no encoder, or pools in another way.
        ModelMismatchError: its tokenizer can't be read.
    """
    try:
        model = AutoModel.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
    except (OSError, ValueError, KeyError) as error:
        raise RunError(f"{folder}: not an encoder that transformers can load ({error})") from error
    pooling = _json(folder / _POOLING_FILE)
    wanted = [name for name, chosen in pooling.items() if name.startswith("pooling_mode") and chosen is True]
    wanted = wanted or [next(iter(POOLS))]
    if len(wanted) > 1 or wanted[0] not in POOLS:
        raise RunError(f"{folder} pools by {' and '.join(wanted)}; one of {', '.join(POOLS)} is supported")
    longest = int(_json(folder / _LENGTH_FILE).get("max_seq_length") or LONGEST)
    return _embedder(model, causal_tokenizer(folder / TOKENIZER_FILE), POOLS[wanted[0]], longest, batch)


def _json(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RunError(f"{file}: not JSON ({error})") from error
    return content if isinstance(content, dict) else {}


def _embedder(model: Any, tokenizer: Tokenizer, pool: Pool, longest: int, batch: int) -> Embedder:
    model.eval()
    tokenizer.enable_truncation(longest)
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
            vectors[chosen] = pool(states, mask).numpy()
        return vectors

    return embed
