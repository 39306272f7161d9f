"""Encoders on a GPU: tokens a second of packed batches, beside the matrix product's rate.

    python -m benchmarks.gpu [--tokens 16384] [--json]

Random weights, bf16, PyTorch, in the shapes of Qwen3-0.6B and of lamr-mini; for the latter a step of training as well.
The rate of a bf16 matrix product of the large model's own widths is measured in the same run, and what counts is
the share of it that the linear layers reach. Without a GPU nothing is measured, and a note says so."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from lamr_export import LamrModel

from benchmarks.qwen_shape import FUSION_PRODUCTS, INNER, LAYER_PRODUCTS, LAYERS, WIDTH, build, linear
from benchmarks.random_models import lamr_model, minilm
from benchmarks.report import Figure, option_parser, run

MINI_WINDOW = 512


def gpu_seconds(action: Callable[[], object], rounds: int = 7) -> float:
    """Median time of an action on the GPU, after two that don't count."""
    for _ in range(2):
        action()
    times = []
    for _ in range(rounds):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        action()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    return float(np.median(times))


@dataclass(frozen=True, eq=False)
class Batch:
    """Sequences end to end, on the GPU: what `LamrModel` reads."""

    ids: torch.Tensor
    bounds: torch.Tensor
    longest: torch.Tensor

    @classmethod
    def of(cls, tokens: int, most: int, vocabulary: int) -> Batch:
        """Draw sequences of 64 to `most` tokens, so many tokens in all."""
        rng = np.random.default_rng(0)
        lengths: list[int] = []
        while sum(lengths) < tokens:
            lengths.append(int(min(rng.integers(64, most + 1), tokens - sum(lengths))))
        return cls(
            torch.from_numpy(rng.integers(0, vocabulary, tokens)).cuda(),
            torch.tensor([0, *np.cumsum(lengths)], dtype=torch.int32, device="cuda"),
            torch.zeros(max(lengths), device="cuda", dtype=torch.bfloat16),
        )

    def read_by(self, model: LamrModel) -> torch.Tensor:
        """Return the fused features, `[T, D]`."""
        features: torch.Tensor = model(self.ids, self.bounds, self.longest)[0]
        return features


def measure(options: argparse.Namespace) -> Iterator[Figure | str]:
    """Measure one packed batch of mixed lengths, and the product of its tokens with the widest weights."""
    if not torch.cuda.is_available():
        yield "no GPU here: nothing measured"
        return
    tokens = options.tokens
    yield f"{torch.cuda.get_device_name()}: {tokens:,} tokens a batch"
    large, batch = build().to("cuda", torch.bfloat16), Batch.of(tokens, 2048, 150_000)
    with torch.inference_mode():
        seconds = gpu_seconds(lambda: batch.read_by(large))
        left = torch.randn(tokens, WIDTH, device="cuda", dtype=torch.bfloat16)
        right = torch.randn(WIDTH, 2 * INNER, device="cuda", dtype=torch.bfloat16)
        product = 2 * tokens * WIDTH * 2 * INNER / gpu_seconds(lambda: left @ right)
    rate = (LAYERS * linear(LAYER_PRODUCTS, tokens) + linear(FUSION_PRODUCTS, tokens)) / seconds
    yield Figure("0.6B encoder on the GPU", tokens / seconds, "tokens/s")
    yield Figure("  its products with weights", rate / 1e12, "TFLOP/s")
    yield Figure("  a matrix product alone", product / 1e12, "TFLOP/s")
    yield Figure("  share of a product's rate", 100 * rate / product, "%")

    mini = lamr_model(minilm(MINI_WINDOW), window=MINI_WINDOW, fusion_layers=(2, 4, 6)).to(
        "cuda", torch.bfloat16
    )
    small = Batch.of(tokens, MINI_WINDOW, 30_000)
    with torch.inference_mode():
        yield Figure("lamr-mini's shape", tokens / gpu_seconds(lambda: small.read_by(mini)), "tokens/s")
    step = gpu_seconds(lambda: small.read_by(mini).float().square().mean().backward())
    yield Figure("  forward and backward pass", tokens / step, "tokens/s")


PARSER = option_parser(__doc__)
PARSER.add_argument("--tokens", type=int, default=16384, help="tokens of a batch (%(default)s)")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
