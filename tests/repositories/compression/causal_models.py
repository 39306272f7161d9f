"""Tiny causal language models with random weights, and tokenizers trained on a few lines."""

import json
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig, PreTrainedModel, Qwen2Config

VOCAB = 320
END = "<|end|>"
SAMPLE = (Path(__file__).parent / "data" / "sample.txt").read_text(encoding="utf-8")

_SIZES = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": True,
}
CONFIGS = {
    "qwen2": lambda: Qwen2Config(**_SIZES),
    "llama": lambda: LlamaConfig(**_SIZES),
    "gpt2": lambda: GPT2Config(
        vocab_size=VOCAB, n_embd=32, n_layer=2, n_head=4, n_positions=1024, bos_token_id=0, eos_token_id=0
    ),
}
BEGINS = {"llama"}
"""The models whose tokenizer puts a token before every text."""


def causal_model(kind: str) -> PreTrainedModel:
    """A model whose weights are the same with every version of torch and transformers."""
    model = AutoModelForCausalLM.from_config(CONFIGS[kind]()).eval()
    random = np.random.RandomState(0)
    with torch.no_grad():
        for _, parameter in sorted(model.named_parameters()):
            values = random.standard_normal(tuple(parameter.shape)) * (0.3 if parameter.dim() > 1 else 0.1)
            parameter.copy_(torch.from_numpy(values) + (1.0 if parameter.dim() == 1 else 0.0))
    return model


def write_causal(kind: str, folder: Path) -> Path:
    """Write a model and its tokenizer as Hugging Face folders hold them."""
    folder.mkdir(parents=True, exist_ok=True)
    causal_model(kind).save_pretrained(folder)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(SAMPLE.splitlines(keepends=True), trainer)
    if kind in BEGINS:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{END} $A", special_tokens=[(END, tokenizer.token_to_id(END))]
        )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END})
    )
    return folder
