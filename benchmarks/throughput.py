"""Served throughput on a trace of mixed sizes, against the same shape of model as SWE-Pruner serves it.

    python -m benchmarks.throughput [--repository DIR] [--requests 15] [--threads 2] [--json]

The trace has the sizes of 2,894 production requests: 59.5 % under 1,000 tokens, 24.5 % of 1,000 to 5,000, 16 % of
5,000 to 20,000. The baseline pads every 8,192 tokens to 8,192 and runs one sequence at a time in PyTorch; its weights
are random, in the shape of the served model but for 8,192 positions, since time doesn't depend on weights. The baseline
runs before and after the served trace. What the encoder's packing gains and what share of the CPUs' time isn't the
encoder's are measured as well."""

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import torch
from lamr_client import PromptEncoder, Pruner
from lamr_model.encoder.encoder_session import open_encoder
from lamr_model.encoder.packed_batch import encoder_feed
from lamr_model.names import ENCODER, FUSED, ONNX_FILE, version_folder
from lamr_serving import ServerOptions, TritonServer

from benchmarks.load import IN_FLIGHT, model_processes
from benchmarks.random_models import lamr_model, minilm
from benchmarks.report import Figure, model_options, run
from benchmarks.sources import QUERY, library_module
from benchmarks.timing import time_in_turns

PADDED = 8192
SIZES = ((0.595, 100, 1_000), (0.245, 1_000, 5_000), (0.16, 5_000, 20_000))  # share, tokens from, to
MIXED = (40, 60, 90, 120, 180, 240, 300, 320)
CLIENTS = 4


def trace(encoder: PromptEncoder, requests: int) -> list[tuple[str, int]]:
    """Code and tokens of each request, out of the standard library; the sizes come in random order."""
    text = "\n".join(library_module(name) for name in ("typing.py", "argparse.py", "inspect.py"))
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


def padded_run(fused_width: int) -> Callable[[], float]:
    """A function that runs one padded sequence in PyTorch, in the served model's shape, and returns the seconds."""
    model = lamr_model(
        minilm(PADDED),
        window=PADDED,
        fusion_layers=(2, 4, 6),
        fusion_width=None if fused_width == 3 * 384 else fused_width,
    )
    ids = torch.randint(1000, 20000, (PADDED,))
    bounds, longest = torch.tensor([0, PADDED], dtype=torch.int32), torch.zeros(PADDED)

    @torch.no_grad()
    def seconds() -> float:
        begun = time.perf_counter()
        model.heads(model(ids, bounds, longest)[0])
        return time.perf_counter() - begun

    return seconds


def onnx_file(repository: Path) -> Path:
    """The encoder's graph in a model repository."""
    return version_folder(repository, ENCODER) / ONNX_FILE


def fused_width(repository: Path) -> int:
    """The features a token of the served encoder."""
    session = open_encoder(onnx_file(repository), threads=1)
    return int(next(node.shape[1] for node in session.get_outputs() if node.name == FUSED))


def packing_gain(repository: Path, threads: int) -> float:
    """CPU time of the encoder on a padded batch over that on the same sequences packed."""
    session = open_encoder(onnx_file(repository), threads=threads)
    rng = np.random.default_rng(0)

    def batch(lengths: list[int]) -> dict[str, np.ndarray]:
        return encoder_feed([rng.integers(1000, 20000, length) for length in lengths])

    batches = {"packed": batch(list(MIXED)), "padded": batch([max(MIXED)] * len(MIXED))}
    timings = time_in_turns({name: partial(session.run, None, feed) for name, feed in batches.items()}, 5)
    return timings["padded"].cpu_median / timings["packed"].cpu_median


def encoder_seconds(server: int) -> float:
    """CPU time of the server's encoder processes so far.

    Triton's own times can't serve: those of two instances overlap."""
    times = [process.cpu_times() for process in model_processes(server)[ENCODER]]
    return sum(each.user + each.system for each in times)


def measure(options: argparse.Namespace) -> Iterator[Figure | str]:
    """The baseline, the served trace, the baseline again, and the encoder alone."""
    repository, threads = options.repository, options.threads
    torch.set_num_threads(threads)
    work = trace(PromptEncoder.from_repository(repository), options.requests)
    baseline = padded_run(fused_width(repository))
    with (
        TritonServer(repository, ServerOptions(threads=threads)) as server,
        Pruner(server.addresses.grpc, model=repository, timeout=600, max_concurrency=IN_FLIGHT) as pruner,
    ):
        pruner.prune(QUERY, work[0][0], language="python", effort="full")
        padded = [baseline()]
        busy, begun = encoder_seconds(server.pid), time.perf_counter()
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(
                pool.map(
                    lambda request: pruner.prune(QUERY, request[0], language="python", effort="full"), work
                )
            )
        served = time.perf_counter() - begun
        busy = encoder_seconds(server.pid) - busy
        padded.append(baseline())
    tokens = sum(size for _, size in work)
    baseline_seconds = statistics.mean(padded) * sum(math.ceil(size / PADDED) for _, size in work)
    outside = 1 - busy / served / threads
    yield f"{len(work)} requests, {tokens:,} tokens, {CLIENTS} clients"
    yield Figure("served", tokens / served, "tokens/s")
    yield Figure(f"  padded to {PADDED:,}, a run", statistics.mean(padded), "s")
    yield Figure("  time outside the encoder, a token", 1e3 * served * outside / tokens, "ms")
    ratio = baseline_seconds / served
    yield Figure(f"served over padded to {PADDED:,}, mixed trace", ratio, "x", 25, at_least=True)
    yield Figure("time outside the encoder, saturated", 100 * outside, "%", 20)
    gain = packing_gain(repository, threads)
    yield Figure("packed over padded batch, mixed lengths", gain, "x", 1.5, at_least=True)


PARSER = model_options(__doc__)
PARSER.add_argument("--requests", type=int, default=15, help="requests of the trace (%(default)s)")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
