"""Small GGUF files, as llama.cpp's converter writes them."""

import json
from pathlib import Path

import numpy as np
import torch
from gguf import GGUFWriter
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import Qwen2Config, Qwen2ForCausalLM

from tests.repositories.compression.causal_models import SAMPLE

_OUTSIDE = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}
_INSIDE = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def bpe() -> Tokenizer:
    """A byte-level tokenizer that cuts digits one by one, as StarCoder's and SmolLM's do."""
    tokenizer = Tokenizer(models.BPE())
    digits, level = (
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, level])
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|end|>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator([SAMPLE, "x      y  1\n" * 50], trainer)
    return tokenizer


def tiny(tokenizer: Tokenizer) -> Qwen2ForCausalLM:
    """A small model with random weights for a tokenizer."""
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        tie_word_embeddings=True,
    )
    model = Qwen2ForCausalLM(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.1)
    return model


def write_gguf(file: Path, model: Qwen2ForCausalLM, tokenizer: Tokenizer, rule: str) -> Path:
    """Write a Qwen2 model with tied embeddings.

    Args:
        file: where to.
        model: in float32.
        tokenizer: its tokenizer, byte-level.
        rule: the name of how it cuts words."""
    config: Qwen2Config = model.config
    writer = GGUFWriter(file, "qwen2")
    writer.add_name("tiny")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    words = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().__getitem__)
    merges = _merges(tokenizer)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(rule)
    writer.add_token_list(words)
    writer.add_token_types([3 if word == "<|end|>" else 1 for word in words])
    writer.add_token_merges(merges)
    writer.add_eos_token_id(0)
    writer.add_bos_token_id(0)
    for name, value in model.state_dict().items():
        if name == "lm_head.weight":
            continue
        writer.add_tensor(_named(name), value.numpy().astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def _merges(tokenizer: Tokenizer) -> list[str]:
    found = json.loads(tokenizer.to_str())["model"]["merges"]
    return [" ".join(pair) if isinstance(pair, list) else pair for pair in found]


def _named(name: str) -> str:
    if name in _OUTSIDE:
        return _OUTSIDE[name]
    _, _, layer, *rest = name.split(".")
    part, kind = ".".join(rest[:-1]), rest[-1]
    return f"blk.{layer}.{_INSIDE[part]}.{kind}"
