"""The encoder on a GPU: tokens a second of packed batches in the shape of Qwen3-0.6B, beside the matrix product's rate.

    python -m benchmarks.gpu [--tokens 16384] [--json]

Random weights, bf16, PyTorch. The rate of a bf16 matrix product of the model's own widths is measured in the same run,
and the figure of interest is the share of it that the linear layers reach. Without a GPU nothing is measured, and a
note says so.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator

import numpy as np
import torch

from benchmarks.qwen_shape import FUSION_PRODUCTS, INNER, LAYER_PRODUCTS, LAYERS, WIDTH, build, linear
from benchmarks.report import Figure, option_parser, run


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


def measure(options: argparse.Namespace) -> Iterator[Figure | str]:
    """One packed batch of mixed lengths, and the product of its tokens with the widest weights."""
    if not torch.cuda.is_available():
        yield "no GPU here: nothing measured"
        return
    tokens = options.tokens
    model = build().to("cuda", torch.bfloat16)
    rng = np.random.default_rng(0)
    lengths: list[int] = []
    while sum(lengths) < tokens:
        lengths.append(int(min(rng.integers(64, 2049), tokens - sum(lengths))))
    ids = torch.from_numpy(rng.integers(0, 150_000, tokens)).cuda()
    bounds = torch.tensor([0, *np.cumsum(lengths)], dtype=torch.int32, device="cuda")
    longest = torch.zeros(max(lengths), device="cuda", dtype=torch.bfloat16)
    with torch.inference_mode():
        seconds = gpu_seconds(lambda: model(ids, bounds, longest))
        left = torch.randn(tokens, WIDTH, device="cuda", dtype=torch.bfloat16)
        right = torch.randn(WIDTH, 2 * INNER, device="cuda", dtype=torch.bfloat16)
        product = 2 * tokens * WIDTH * 2 * INNER / gpu_seconds(lambda: left @ right)
    rate = (LAYERS * linear(LAYER_PRODUCTS, tokens) + linear(FUSION_PRODUCTS, tokens)) / seconds
    yield f"{torch.cuda.get_device_name()}: {len(lengths)} sequences, {tokens:,} tokens a batch"
    yield Figure("0.6B encoder on the GPU", tokens / seconds, "tokens/s")
    yield Figure("  its products with weights", rate / 1e12, "TFLOP/s")
    yield Figure("  a matrix product alone", product / 1e12, "TFLOP/s")
    yield Figure("  share of a product's rate", 100 * rate / product, "%")


PARSER = option_parser(__doc__)
PARSER.add_argument("--tokens", type=int, default=16384, help="tokens of a batch (%(default)s)")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
