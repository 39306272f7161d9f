"""Tiny random models for the tests: a causal Qwen3 with grouped-query attention, and a BERT."""

import json
from pathlib import Path

import torch
from lamr_export import LamrConfig, LamrModel, Lexical
from lamr_model.spec import Chunking, PromptTemplate
from safetensors.torch import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from torch import nn
from transformers import BertConfig, BertModel, Qwen3Config, Qwen3Model

VOCAB = 120
SEPARATOR = 3
CHUNKING = Chunking(window=64, tokens=40, overlap=8)


def qwen3(layers: int = 4, **changes) -> LamrModel:
    """A model of causal layers, whose four heads share two key heads."""
    torch.manual_seed(0)
    backbone = Qwen3Model(
        Qwen3Config(
            vocab_size=VOCAB,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=layers,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            max_position_embeddings=128,
        )
    )
    fields = {
        "name": "tiny-qwen3",
        "version": "0",
        "backbone": {},
        "prompt": PromptTemplate("<q>", "<d>", "<end>"),
        "chunking": CHUNKING,
        "fusion_layers": (1, 2, layers),
        "head_hidden": 24,
        "relevance": "yes_no",
        "yes_token_id": 7,
        "no_token_id": 9,
    }
    return shaken(LamrModel.from_backbone(backbone, LamrConfig(**{**fields, **changes})))


def bert(layers: int = 2, **changes) -> LamrModel:
    """A model of bidirectional layers with lexical features, unless `lexical=None`."""
    torch.manual_seed(1)
    backbone = BertModel(
        BertConfig(
            vocab_size=VOCAB,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=layers,
            num_attention_heads=4,
            max_position_embeddings=80,
        )
    )
    fields = {
        "name": "tiny-bert",
        "version": "0",
        "backbone": {},
        "prompt": PromptTemplate("[CLS]", "[SEP]", "[SEP]"),
        "chunking": CHUNKING,
        "fusion_layers": (1, layers, layers),
        "head_hidden": 24,
        "lexical": Lexical(SEPARATOR, (0, 1, 2, SEPARATOR), windows=(2, 9)),
    }
    return shaken(LamrModel.from_backbone(backbone, LamrConfig(**{**fields, **changes})))


BERTS = {
    "bert": bert,
    "bert-plain": lambda: bert(layers=1, lexical=None),
    "bert-narrow": lambda: bert(layers=1, fusion_width=48),
    "bert-apart": lambda: bert(similarity=(3, 11)),
}
BUILDERS = {
    "qwen3": qwen3,
    "bert": bert,
    "bert-matches-only": lambda: bert(lexical=Lexical(SEPARATOR, (0, 1, 2, SEPARATOR))),
    "bert-plain": lambda: bert(lexical=None),
    "bert-narrow": lambda: bert(fusion_width=48),
    "one rubric": lambda: qwen3(rubrics=("semantic",)),
}


def shaken(model: LamrModel) -> LamrModel:
    """The model in eval mode, with no parameter left at zero or one, so that no term can go missing unseen."""
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.1)
        if model.lexical is not None:
            model.lexical.rarity.mul_(torch.rand(model.lexical.rarity.shape, generator=generator))
    return model.eval()


def packed(lengths: list[int], seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Random ids (with separators) as a packed batch."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(4, VOCAB, (sum(lengths),), generator=generator)
    bounds = torch.tensor([0, *lengths]).cumsum(0)
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        ids[start + (end - start) // 4] = SEPARATOR
        ids[end - 1] = SEPARATOR
    return ids, bounds.to(torch.int32), torch.zeros(max(lengths))


def write_tokenizer(path: Path) -> Path:
    """A word-level `tokenizer.json` with ids below `VOCAB`, special tokens included."""
    special = ["[PAD]", "[CLS]", "[UNK]", "[SEP]", "yes", "no"]
    words = [f"w{number}" for number in range(VOCAB - len(special))]
    tokenizer = Tokenizer(
        WordLevel({word: i for i, word in enumerate([*special, *words])}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.add_special_tokens(["[PAD]", "[CLS]", "[UNK]", "[SEP]"])
    tokenizer.save(str(path))
    return path


def write_swepruner(folder: Path, **settings) -> dict[str, torch.Tensor]:
    """A SWE-Pruner checkpoint in its published layout, bfloat16 backbone and float32 heads; returns its tensors."""
    model = qwen3(rubrics=("semantic",))
    head = nn.Sequential(nn.LayerNorm(96), nn.Linear(96, 24), nn.GELU(), nn.Dropout(0.4), nn.Linear(24, 2))
    tensors = {
        f"model.backbone.{name}": value.bfloat16() for name, value in model.backbone.state_dict().items()
    }
    tensors |= {
        f"model.fusion_layers.{n}": v
        for n, v in nn.ModuleList([nn.MultiheadAttention(96, 8)]).state_dict().items()
    }
    tensors |= {
        f"model.fusion_norms.{n}": v for n, v in nn.ModuleList([nn.LayerNorm(96)]).state_dict().items()
    }
    tensors |= {f"model.compression_head.feature_extractor.{n}": v for n, v in head.state_dict().items()}
    sizes = {"transitions": (2, 2), "start_transitions": (2,), "end_transitions": (2,)}
    tensors |= {f"model.compression_head.crf.{name}": torch.randn(size) for name, size in sizes.items()}
    tensors = {name: value.detach().contiguous() for name, value in tensors.items()}
    save_file(tensors, folder / "model.safetensors")
    write_tokenizer(folder / "tokenizer.json")
    config = {
        "model_type": "swepruner",
        "backbone_model_name_or_path": "Qwen/Qwen3-Reranker-0.6B",
        "bottleneck": 24,
        "dropout": 0.4,
        "num_fusion_layers": 1,
        "num_heads": 8,
        "use_multi_layer_fusion": True,
        "early_layer_ratio": 0.25,
        "middle_layer_ratio": 0.5,
        "compression_head_type": "crf",
    }
    (folder / "config.json").write_text(json.dumps({**config, **settings}))
    return tensors
