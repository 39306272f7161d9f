"""SWE-Pruner's public code as a reference: random checkpoints in its layout, and what its service makes of a file.

Its code is imported from a checkout that the caller names. This module compares nothing.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from lamr_contract.names import TOKENIZER_FILE
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import AutoTokenizer, Qwen3Config, Qwen3Model

_BOTTLENECK = 64
_SPREAD = 30  # of the last layer's random weights, so that scores fill the range from 0 to 1


@dataclass(frozen=True)
class Size:
    """The shape of a random checkpoint's backbone."""

    hidden: int
    layers: int
    heads: int

    def config(self, vocabulary: int) -> Qwen3Config:
        """The backbone's configuration, with two heads a key head."""
        return Qwen3Config(
            vocab_size=vocabulary,
            hidden_size=self.hidden,
            intermediate_size=3 * self.hidden,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            num_key_value_heads=self.heads // 2,
            head_dim=32,
            max_position_embeddings=40_960,
            rope_theta=1_000_000.0,
        )


SIZES = {"4 layers of 64": Size(64, 4, 4), "6 layers of 96": Size(96, 6, 4)}


def write_checkpoint(folder: Path, checkout: Path, size: Size, seed: int = 0) -> None:
    """Write a checkpoint of random weights in the published layout, with the published tokenizer.

    Args:
        folder: where to; it must not exist.
        checkout: the project's checkout, whose model folder has the tokenizer's vocabulary and merges.
        size: the backbone's shape.
        seed: of the weights.
    """
    folder.mkdir(parents=True)
    # The checkout's own tokenizer.json is a pointer to large-file storage, so the file is made from its parts.
    without_pointers = shutil.ignore_patterns("*.safetensors", TOKENIZER_FILE)
    parts = shutil.copytree(checkout / "swe-pruner" / "model", folder / "parts", ignore=without_pointers)
    (parts / "config.json").write_text('{"model_type": "qwen3"}')
    tokenizer = AutoTokenizer.from_pretrained(parts)
    tokenizer.save_pretrained(folder)
    shutil.rmtree(parts)
    torch.manual_seed(seed)
    config = size.config(len(tokenizer))
    config.save_pretrained(folder / "backbone")
    save_file(_tensors(config), folder / "model.safetensors", metadata={"format": "pt"})
    settings = {
        "model_type": "swepruner",
        "backbone_model_name_or_path": str(folder / "backbone"),
        "bottleneck": _BOTTLENECK,
        "num_heads": 8,
        "num_fusion_layers": 1,
        "use_multi_layer_fusion": True,
        "compression_head_type": "crf",
    }
    (folder / "config.json").write_text(json.dumps(settings, indent=2))


def _tensors(config: Qwen3Config) -> dict[str, torch.Tensor]:
    width = 3 * config.hidden_size
    emission = nn.Linear(_BOTTLENECK, 2)
    with torch.no_grad():  # about as many tokens score above a half as below
        emission.weight.sub_(emission.weight.mean(dim=1, keepdim=True)).mul_(_SPREAD)
        emission.bias.zero_()
    features = nn.Sequential(
        nn.LayerNorm(width), nn.Linear(width, _BOTTLENECK), nn.GELU(), nn.Dropout(), emission
    )
    modules = {
        "backbone": Qwen3Model(config),
        "fusion_layers": nn.ModuleList([nn.MultiheadAttention(width, 8)]),
        "fusion_norms": nn.ModuleList([nn.LayerNorm(width)]),
        "compression_head.feature_extractor": features,
    }
    tensors = {
        f"model.{part}.{name}": value.detach().contiguous()
        for part, module in modules.items()
        for name, value in module.state_dict().items()
    }
    chain = {"transitions": (2, 2), "start_transitions": (2,), "end_transitions": (2,)}
    return tensors | {
        f"model.compression_head.crf.{name}": torch.randn(shape) for name, shape in chain.items()
    }


@dataclass(frozen=True)
class Answer:
    """What the reference says of a file.

    Attributes:
        scores: float64 [L], the mean score of each line; NaN for a line without one.
        kept: the 1-based numbers of the kept lines.
        text: the pruned code.
        chunks: how many chunks the file was cut into.
    """

    scores: np.ndarray
    kept: tuple[int, ...]
    text: str
    chunks: int


class Reference:
    """SWE-Pruner's own model around a checkpoint, on the CPU."""

    def __init__(self, checkout: Path, checkpoint: Path) -> None:
        """Load the checkpoint with the code of a checkout."""
        sys.path.insert(0, str(checkout / "swe-pruner" / "src"))
        from swe_pruner import prune_wrapper
        from swe_pruner.configuration import SwePrunerConfig

        self._code = prune_wrapper
        config = SwePrunerConfig.from_pretrained(checkpoint)
        # Its `from_pretrained` needs transformers 4; its constructor and a state dict do the same.
        config._name_or_path = str(checkpoint)
        self._model = prune_wrapper.SwePrunerForCodePruning(config)
        missing = self._model.load_state_dict(load_file(checkpoint / "model.safetensors"), strict=False)
        assert set(missing.missing_keys) <= {"model.embedding_layer.weight"}, missing.missing_keys
        assert not missing.unexpected_keys, missing.unexpected_keys

    def serve(self, query: str, code: str) -> Any:
        """What its service does for a request: padded to the window, under autocast to fp16."""
        return self._model.prune(self._code.PruneRequest(query=query, code=code))

    def answer(self, query: str, code: str) -> Answer:
        """The same in fp32 and without the padding, which its masks hide from every token."""
        seen: list[dict[int, float]] = []
        with self._exact(seen) as chunks:
            response = self.serve(query, code)
        (lines,) = seen
        scores = np.full(len(code.splitlines()), np.nan)
        scores[np.fromiter(lines, np.int64, len(lines)) - 1] = np.fromiter(lines.values(), np.float64)
        return Answer(scores, tuple(response.kept_frags), response.pruned_code, len(chunks))

    @contextmanager
    def _exact(self, seen: list[dict[int, float]]) -> Iterator[list[int]]:
        """Compute in fp32 without padding; line scores go to `seen`, the chunks' lengths to what is yielded."""
        build, aggregate = self._code.build_input_for_llm, self._code.aggregate_token_scores_to_lines
        chunks: list[int] = []

        def unpadded(*args: Any, **kwargs: Any) -> dict[str, Any]:
            inputs: dict[str, Any] = build(*args, **kwargs)
            length = int(inputs["attention_mask"].sum())
            chunks.append(length)
            return inputs | {
                name: inputs[name][:, :length].contiguous() for name in ("input_ids", "attention_mask")
            }

        def recorded(*args: Any) -> dict[int, float]:
            seen.append(aggregate(*args))
            return seen[-1]

        with (
            mock.patch.object(self._code, "build_input_for_llm", unpadded),
            mock.patch.object(self._code, "aggregate_token_scores_to_lines", recorded),
            mock.patch.object(torch.amp, "autocast", return_value=nullcontext()),
            torch.no_grad(),
        ):
            yield chunks
