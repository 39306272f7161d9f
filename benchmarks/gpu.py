"""The encoder on a GPU: tokens a second of packed batches in the shape of Qwen3-0.6B, beside the matrix product's rate.

    python benchmarks/gpu.py [--tokens 16384] [--json]

Random weights, bf16, PyTorch. The rate of a bf16 matrix product of the model's own widths is measured in the same
run; the share of it that the linear layers' work reaches is the figure. Without a GPU it says so and exits 0.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
import torch
from qwen_shape import FUSION_PRODUCTS, INNER, LAYER_PRODUCTS, LAYERS, WIDTH, build, linear


@dataclass(frozen=True)
class Figures:
    """TFLOP/s count the products with weights only, two operations a multiply-add."""

    device: str
    tokens: int
    sequences: int
    tokens_per_second: float
    linear_tflops: float
    product_tflops: float
    share_percent: float


def seconds(action: Callable[[], object], rounds: int = 7) -> float:
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


def measure(tokens: int) -> Figures:
    model = build().to("cuda", torch.bfloat16)
    rng = np.random.default_rng(0)
    lengths: list[int] = []
    while sum(lengths) < tokens:
        lengths.append(int(min(rng.integers(64, 2049), tokens - sum(lengths))))
    ids = torch.from_numpy(rng.integers(0, 150_000, tokens)).cuda()
    bounds = torch.tensor([0, *np.cumsum(lengths)], dtype=torch.int32, device="cuda")
    longest = torch.zeros(max(lengths), device="cuda", dtype=torch.bfloat16)
    with torch.inference_mode():
        taken = seconds(lambda: model(ids, bounds, longest))
        left = torch.randn(tokens, WIDTH, device="cuda", dtype=torch.bfloat16)
        right = torch.randn(WIDTH, 2 * INNER, device="cuda", dtype=torch.bfloat16)
        product = 2 * tokens * WIDTH * 2 * INNER / seconds(lambda: left @ right)
    rate = (LAYERS * linear(LAYER_PRODUCTS, tokens) + linear(FUSION_PRODUCTS, tokens)) / taken
    return Figures(
        device=torch.cuda.get_device_name(),
        tokens=tokens,
        sequences=len(lengths),
        tokens_per_second=tokens / taken,
        linear_tflops=rate / 1e12,
        product_tflops=product / 1e12,
        share_percent=100 * rate / product,
    )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--tokens", type=int, default=16384, help="of a batch")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print(json.dumps({"device": None}) if options.json else "no GPU here: nothing measured")
        return 0
    figures = measure(options.tokens)
    if options.json:
        print(json.dumps(asdict(figures)))
        return 0
    print(f"{figures.device}: {figures.sequences} sequences, {figures.tokens:,} tokens a batch")
    print(f"  {figures.tokens_per_second:12,.0f} tokens/s")
    print(f"  {figures.linear_tflops:12,.1f} TFLOP/s in products with weights")
    print(
        f"  {figures.product_tflops:12,.1f} TFLOP/s of a matrix product alone: {figures.share_percent:.0f} %"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
