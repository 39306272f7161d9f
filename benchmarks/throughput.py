"""Served throughput on a trace of mixed sizes, against the same shape of model as SWE-Pruner serves it.

    python benchmarks/throughput.py [--repository DIR] [--requests 15] [--threads 2] [--json]

The trace has the sizes of 2,894 production requests: 59.5 % under 1,000 tokens, 24.5 % of 1,000 to 5,000, 16 % of
5,000 to 20,000. The baseline pads every 8,192 tokens to 8,192 and runs one sequence at a time in PyTorch; its weights
are random, in the shape of the served model but for 8,192 positions, since time doesn't depend on weights. Baseline
and served runs take turns. Prints also what the encoder's packing gains and what share of the CPUs' time isn't the
encoder's.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sysconfig
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from lamr_client import PromptEncoder, Pruner, bundled_repository
from lamr_contract.encoder_session import open_session
from lamr_contract.names import ENCODER, FUSED, ONNX_FILE, version_folder
from lamr_contract.packed_batch import encoder_feed
from lamr_contract.spec import Chunking, PromptTemplate
from lamr_export import LamrConfig, LamrModel
from lamr_serving import ServerOptions, TritonServer
from load import IN_FLIGHT, model_processes
from transformers import BertConfig, BertModel

PADDED = 8192
SIZES = ((0.595, 100, 1_000), (0.245, 1_000, 5_000), (0.16, 5_000, 20_000))  # share, tokens from, to
MIXED = (40, 60, 90, 120, 180, 240, 300, 320)
QUERY = "How does a generic alias substitute its type parameters, and what is checked?"
CLIENTS = 4


@dataclass(frozen=True)
class Figures:
    """Seconds, tokens and ratios; shares in percent of the wall-clock time."""

    requests: int
    tokens: int
    padded_run_seconds: float
    baseline_seconds: float
    served_seconds: float
    served_over_baseline: float
    served_tokens_per_second: float
    outside_encoder_percent: float
    packed_over_padded: float


def trace(encoder: PromptEncoder, requests: int) -> list[tuple[str, int]]:
    """(code, tokens) of each request, out of the standard library, largest sizes spread over the trace."""
    text = "\n".join(
        (Path(sysconfig.get_path("stdlib")) / name).read_text(encoding="utf-8")
        for name in ("typing.py", "argparse.py", "inspect.py")
    )
    _, offsets = encoder.encode_document(text)
    rng = np.random.default_rng(0)
    sizes: list[int] = []
    for share, low, high in SIZES:
        count = max(1, round(share * requests))
        sizes += [int(size) for size in np.exp(rng.uniform(math.log(low), math.log(high), count))]
    rng.shuffle(sizes)
    starts = [int(rng.integers(0, len(offsets) - size)) for size in sizes]
    return [
        (text[int(offsets[start][0]) : int(offsets[start + size - 1][1])], size)
        for start, size in zip(starts, sizes, strict=True)
    ]


def padded_run(repository: Path) -> Callable[[], float]:
    """Seconds of one padded sequence in PyTorch, in the served model's shape."""
    width = fused_width(repository)
    shape = BertConfig(
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
        max_position_embeddings=PADDED,
    )
    config = LamrConfig(
        name="baseline",
        version="0",
        backbone={},
        prompt=PromptTemplate("[CLS]", "[SEP]", "[SEP]"),
        chunking=Chunking(PADDED, PADDED - 200, 50),
        fusion_layers=(2, 4, 6),
        fusion_width=None if width == 3 * 384 else width,
    )
    model = LamrModel.from_backbone(BertModel(shape), config).eval()
    ids = torch.randint(1000, 20000, (PADDED,))
    bounds, longest = torch.tensor([0, PADDED], dtype=torch.int32), torch.zeros(PADDED)

    def seconds() -> float:
        begun = time.perf_counter()
        with torch.no_grad():
            model.heads(model(ids, bounds, longest)[0])
        return time.perf_counter() - begun

    return seconds


def fused_width(repository: Path) -> int:
    session = open_session(version_folder(repository, ENCODER) / ONNX_FILE, threads=1)
    return int(next(node.shape[1] for node in session.get_outputs() if node.name == FUSED))


def packing_gain(repository: Path, threads: int) -> float:
    """CPU time of the encoder on a padded batch over that on the same sequences packed."""
    session = open_session(version_folder(repository, ENCODER) / ONNX_FILE, threads=threads)
    rng = np.random.default_rng(0)

    def feed(lengths: list[int]) -> dict[str, np.ndarray]:
        return encoder_feed([rng.integers(1000, 20000, length) for length in lengths])

    batches = feed(list(MIXED)), feed([max(MIXED)] * len(MIXED))
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(5):
        for batch, taken in zip(batches, times, strict=True):
            begun = time.process_time()
            session.run(None, batch)
            taken.append(time.process_time() - begun)
    return statistics.median(times[1]) / statistics.median(times[0])


def encoder_seconds(server: int) -> float:
    """CPU time of the server's encoder processes so far. (Triton's own times overlap: two instances run at once.)"""
    times = [one.cpu_times() for one in model_processes(server)["lamr_encoder"]]
    return sum(taken.user + taken.system for taken in times)


def measure(repository: Path, requests: int, threads: int) -> Figures:
    torch.set_num_threads(threads)
    work = trace(PromptEncoder.from_repository(repository), requests)
    baseline = padded_run(repository)
    with (
        TritonServer(repository, ServerOptions(threads=threads)) as server,
        Pruner(server.addresses.grpc, model=repository, timeout=600, max_concurrency=IN_FLIGHT) as pruner,
    ):
        pruner.prune(QUERY, work[0][0], language="python")
        padded = [baseline()]
        busy, begun = encoder_seconds(server.pid), time.perf_counter()
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(lambda one: pruner.prune(QUERY, one[0], language="python"), work))
        served = time.perf_counter() - begun
        busy = encoder_seconds(server.pid) - busy
        padded.append(baseline())
    tokens = sum(size for _, size in work)
    per_run = statistics.mean(padded)
    baseline_seconds = per_run * sum(math.ceil(size / PADDED) for _, size in work)
    return Figures(
        requests=len(work),
        tokens=tokens,
        padded_run_seconds=per_run,
        baseline_seconds=baseline_seconds,
        served_seconds=served,
        served_over_baseline=baseline_seconds / served,
        served_tokens_per_second=tokens / served,
        outside_encoder_percent=100 * (1 - busy / served / threads),
        packed_over_padded=packing_gain(repository, threads),
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repository", type=Path, help="model repository (default: the bundled one)")
    parser.add_argument("--requests", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2, help="CPU threads of both")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    figures = measure(options.repository or bundled_repository(), options.requests, options.threads)
    if options.json:
        print(json.dumps(asdict(figures)))
        return
    print(f"{figures.requests} requests, {figures.tokens:,} tokens, {CLIENTS} clients")
    print(
        f"  served            {figures.served_seconds:8.1f} s, {figures.served_tokens_per_second:,.0f} tokens/s"
    )
    print(
        f"  padded to {PADDED:,}   {figures.baseline_seconds:8.1f} s ({figures.padded_run_seconds:.1f} s a run)"
    )
    print(f"  ratio             {figures.served_over_baseline:8.1f}   (target ≥ 25)")
    print(f"  outside encoder   {figures.outside_encoder_percent:8.1f} % (target ≤ 20)")
    print(f"  packed over padded batch {figures.packed_over_padded:.2f} (target ≥ 1.5)")


if __name__ == "__main__":
    main()
