"""SWE-Pruner's published folder layout, read as a LaMR model with one rubric.

The module knows the names, prompt and conventions of that project's checkpoints (Qwen3-Reranker-0.6B backbone, three
fused layers, one CRF head). It turns their tensors and settings into LaMR's. It builds no model."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lamr_model.rules import Scoring
from lamr_model.spec import Chunking, PromptTemplate
from tokenizers import Tokenizer
from torch import Tensor

from lamr_export.config import LamrConfig
from lamr_export.errors import CheckpointError

MODEL_TYPE = "swepruner"

# The prompt that its checkpoints were trained and served with; `<Instruct>` is the one for split documents.
PROMPT = PromptTemplate(
    before=(
        "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
        'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
    ),
    between="",
    after="<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
    query_before="<Instruct>: Given a query, judge if the document(code) is related to query.\n<Query>: ",
    query_after="\n<Document>: ",
)
# Its chunks fill the window and are cut anywhere. Its service means them to share 50 tokens, but counts the query's
# with another instruction, which is one token shorter; so they share 49.
CHUNKING = Chunking(window=8192, tokens=8192, overlap=49, cut="tokens")
# How its service scores; the CRF is only trained with.
SCORING = Scoring("emission")
THRESHOLD = 0.5

# The settings of a Qwen3-Reranker that its tensors' shapes don't tell.
_QWEN3 = {
    "model_type": "qwen3",
    "rms_norm_eps": 1e-6,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1_000_000},
    "max_position_embeddings": 40_960,
    "attention_bias": False,
    "hidden_act": "silu",
}

_BACKBONE = "model.backbone."
_FEATURES = "model.compression_head.feature_extractor"
_CRF = "model.compression_head.crf"
_RENAMED = {
    f"{_FEATURES}.0.weight": "heads.norm.weight",
    f"{_FEATURES}.0.bias": "heads.norm.bias",
    f"{_FEATURES}.1.weight": "heads.hidden.weight",
    f"{_FEATURES}.1.bias": "heads.hidden.bias",
    f"{_FEATURES}.4.weight": "heads.emission.weight",
    f"{_FEATURES}.4.bias": "heads.emission.bias",
    f"{_CRF}.transitions": "heads.rubric_crf.transitions",
    f"{_CRF}.start_transitions": "heads.rubric_crf.start",
    f"{_CRF}.end_transitions": "heads.rubric_crf.end",
}


def read_config(raw: Mapping[str, Any], tensors: Mapping[str, Tensor], tokenizer_file: Path) -> LamrConfig:
    """The LaMR configuration of a SWE-Pruner checkpoint. Where its `config.json` only names the backbone, the
    backbone's sizes are read off the tensors."""
    expected = {"compression_head_type": "crf", "use_multi_layer_fusion": True, "num_objectives": 1}
    for name, value in expected.items():
        if raw.get(name, value) != value:
            raise CheckpointError(
                f"{MODEL_TYPE} checkpoint with {name} = {raw[name]!r}: only {value!r} can be read"
            )
    backbone = raw.get("backbone_config") or _backbone_config(tensors)
    layers = backbone["num_hidden_layers"]
    yes, no = _answer_ids(tokenizer_file)
    return LamrConfig(
        name=str(raw.get("name", MODEL_TYPE)),
        version=str(raw.get("version", "1")),
        backbone=backbone,
        prompt=PROMPT,
        chunking=CHUNKING,
        scoring=SCORING,
        threshold=THRESHOLD,
        rubrics=("semantic",),
        fusion_layers=(
            max(1, int(layers * raw.get("early_layer_ratio", 0.25))),
            max(1, int(layers * raw.get("middle_layer_ratio", 0.5))),
            layers,
        ),
        fusion_blocks=int(raw.get("num_fusion_layers", 1)),
        fusion_heads=int(raw.get("num_heads", 8)),
        head_hidden=int(raw.get("bottleneck", 256)),
        dropout=float(raw.get("dropout", 0.4)),
        relevance="yes_no",
        yes_token_id=yes,
        no_token_id=no,
    )


def rename_tensors(tensors: Mapping[str, Tensor], config: LamrConfig) -> dict[str, Tensor]:
    """The tensors under LaMR's names. SWE-Pruner's CRF has transitions[to, from], LaMR's has [from, to]. The embedding
    matrix may be there twice (`model.embedding_layer.weight` is tied to the backbone's); it gives the relevance
    direction E_yes - E_no. Names that aren't part of the layout are passed on, so that the loader reports them."""
    renamed: dict[str, Tensor] = {}
    for name, value in tensors.items():
        if name == "model.embedding_layer.weight":
            continue
        new = _RENAMED.get(name) or name.removeprefix("model.")
        renamed[new] = value[None] if name.startswith(_CRF) else value
    if "heads.rubric_crf.transitions" in renamed:
        renamed["heads.rubric_crf.transitions"] = (
            renamed["heads.rubric_crf.transitions"].transpose(-1, -2).contiguous()
        )
    embedding = tensors[f"{_BACKBONE}embed_tokens.weight"]
    renamed["relevance.direction.weight"] = (embedding[config.yes_token_id] - embedding[config.no_token_id])[
        None
    ]
    return renamed


def _backbone_config(tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    def rows(name: str) -> int:
        return _shape(tensors, name)[0]

    layer = "layers.0."
    vocab, hidden = _shape(tensors, "embed_tokens.weight")
    head_dim = rows(f"{layer}self_attn.q_norm.weight")
    numbers = {
        int(layer_name[1])
        for name in tensors
        if (layer_name := re.match(rf"{re.escape(_BACKBONE)}layers\.(\d+)\.", name))
    }
    return {
        **_QWEN3,
        "vocab_size": vocab,
        "hidden_size": hidden,
        "intermediate_size": rows(f"{layer}mlp.gate_proj.weight"),
        "num_hidden_layers": max(numbers) + 1,
        "num_attention_heads": rows(f"{layer}self_attn.q_proj.weight") // head_dim,
        "num_key_value_heads": rows(f"{layer}self_attn.k_proj.weight") // head_dim,
        "head_dim": head_dim,
    }


def _shape(tensors: Mapping[str, Tensor], name: str) -> tuple[int, ...]:
    try:
        return tuple(tensors[_BACKBONE + name].shape)
    except KeyError as error:
        raise CheckpointError(
            f"{MODEL_TYPE} checkpoint without the tensor {_BACKBONE}{name}: its backbone isn't a Qwen3"
        ) from error


def _answer_ids(tokenizer_file: Path) -> tuple[int, int]:
    try:
        tokenizer = Tokenizer.from_file(str(tokenizer_file))
    except Exception as error:  # the library raises bare Exception
        raise CheckpointError(f"{tokenizer_file}: not a tokenizer ({error})") from error
    ids = tokenizer.token_to_id("yes"), tokenizer.token_to_id("no")
    if ids[0] is None or ids[1] is None:
        raise CheckpointError(f"{tokenizer_file} has no tokens 'yes' and 'no', which give the relevance")
    return ids[0], ids[1]
