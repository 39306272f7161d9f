"""What the client itself costs: everything but the model's time.

    python -m benchmarks.client [--repository DIR] [--json]

The transport of these measurements answers at once (or after a fixed delay), so what is left is tokenizing, chunking,
merging and post-processing. Ratios are against the bare tokenizer and against one request at a time."""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from lamr_client import ChunkRequest, ChunkResult, PromptEncoder, Pruner, Transport

from benchmarks.report import Figure, model_options, run
from benchmarks.sources import library_module
from benchmarks.timing import time_call, time_in_turns

GROWTH = (1_000, 10_000, 100_000, 1_000_000)  # tokens
QUERY = "How are generic aliases cached and what happens for unhashable arguments?"


class InstantTransport(Transport):
    """A transport that answers without a model, about a token by its id alone; `delay` seconds stand for a model."""

    def __init__(self, delay: float = 0.0) -> None:
        self._delay = delay
        self._probability = (np.arange(1 << 18) % 100 / 100).astype(np.float32)
        self._keep = (self._probability > 0.5).astype(np.uint8)
        self._rubrics = np.stack([self._probability, 1 - self._probability], 1)

    def infer(self, request: ChunkRequest, timeout: float | None = None) -> ChunkResult:  # noqa: ARG002
        """Keep about every second token."""
        if self._delay:
            time.sleep(self._delay)
        first, last = request.document_span
        ids = request.input_ids[first:last]
        rubrics = self._rubrics[ids] if request.want_rubrics else None
        return ChunkResult(self._keep[ids], self._probability[ids], rubrics, rubrics, 0.5)


def import_figures() -> Iterator[Figure]:
    """Milliseconds until the client is imported, and how many of them numpy takes."""

    def milliseconds(statement: str) -> float:
        code = f"import time; begin = time.perf_counter(); {statement}; print(time.perf_counter() - begin)"
        runs = [
            subprocess.run([sys.executable, "-c", code], capture_output=True, check=True) for _ in range(7)
        ]
        return 1e3 * statistics.median(float(run.stdout) for run in runs)

    statement = "from lamr_client import Pruner"
    yield Figure(statement, milliseconds(statement), "ms", 150)
    yield Figure("  of which numpy", milliseconds("import numpy"), "ms")


def encoding_figures(encoder: PromptEncoder) -> Iterator[Figure]:
    """Tokens a second, against the tokenizer alone on the whole text."""
    text = library_module("typing.py")
    ids, offsets = encoder.encode_document(text)
    query_ids = encoder.encode_query(QUERY)
    ours = time_call(lambda: encoder.encode_document(text), 5).wall_median
    bare = time_call(lambda: encoder._tokenizer.encode(text, add_special_tokens=False), 5).wall_median
    chunking = time_call(lambda: encoder.chunk(query_ids, ids, offsets, text), 5).wall_median
    yield Figure("tokenizing typing.py with offsets", len(ids) / ours / 1e3, "k tok/s")
    yield Figure("  its time over one bare tokenizer call", ours / bare, "x", 1.5)
    yield Figure("  chunking it, as a share of tokenizing it", 100 * chunking / ours, "%", 15)


def overhead_figures(repository: Path, encoder: PromptEncoder) -> Iterator[Figure]:
    """Milliseconds around one 400-token request and around a 3,000-line file."""
    source = library_module("typing.py").splitlines(keepends=True)
    small = "".join(source[:40])
    while encoder.count_tokens(small) < 400:
        small += "".join(source[40:45])
    large = "".join(library_module("_pydecimal.py").splitlines(keepends=True)[:3000])
    with Pruner(model=repository, transport=InstantTransport()) as pruner:
        for name, code, rounds, target in (("400 tokens", small, 30, 10), ("3,000 lines", large, 5, 1000)):
            timing = time_call(partial(pruner.prune, QUERY, code, path="a.py"), rounds)
            yield Figure(f"pruning {name}, model aside", 1e3 * timing.wall_median, "ms", target)


def growth_figures(repository: Path, encoder: PromptEncoder) -> Iterator[Figure]:
    """CPU microseconds a token, from 1K to 1M tokens of input, of tokenizing, chunking, merging and line scores.

    One core is measured: with several, the tokenizer's threads wait for each other, and their waiting counts as CPU
    time. The threshold keeps nothing and the text has no language, because keeping is a figure of its own and repair
    costs a parse, which `postprocess.py` measures."""
    source = library_module("typing.py")
    _, offsets = encoder.encode_document(source)
    rows: dict[int, dict[str, float]] = {}
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    with Pruner(model=repository, transport=InstantTransport(), timeout=900, max_concurrency=1) as pruner:
        for tokens in GROWTH:
            whole, rest = divmod(tokens, len(offsets))
            code = source * whole + source[: int(offsets[rest][0])]
            prune = partial(pruner.prune, QUERY, code, path="notes.txt")
            calls = {
                "nothing": partial(prune, threshold=1.0),
                "fifth": partial(prune, threshold=float(np.quantile(prune().line_scores, 0.8))),
                "tokenize": partial(encoder.encode_document, code),
            }
            timings = time_in_turns(calls, max(3, min(40, 200_000 // tokens)))
            rows[tokens] = {name: 1e6 * timing.cpu_median / tokens for name, timing in timings.items()}
    del os.environ["TOKENIZERS_PARALLELISM"]
    for tokens, row in rows.items():
        yield Figure(f"client, {tokens:,} tokens, each", row["nothing"], "µs")
        yield Figure(f"  tokenizing alone, {tokens:,}", row["tokenize"], "µs")
    costs = [row["nothing"] for row in rows.values()]
    row = rows[100_000]
    yield Figure("client cost a token, at 100,000, one core", row["nothing"], "µs", 2.5)
    yield Figure("  besides, where a fifth of the lines is kept", row["fifth"] - row["nothing"], "µs")
    # The growth that has a target is that of whole prunes (`end_to_end.py`): beside a model this one hardly counts.
    yield Figure("  dearest token over cheapest, model aside", max(costs) / min(costs), "x")


def concurrency_figures(repository: Path) -> Iterator[Figure]:
    """How much faster eight requests at once are than one at a time, where each takes 20 ms."""
    code = library_module("argparse.py")
    times = {}
    for limit in (1, 8):
        with Pruner(model=repository, transport=InstantTransport(0.02), max_concurrency=limit) as pruner:
            times[limit] = statistics.median(
                pruner.prune(QUERY, code, effort="full").timings.infer for _ in range(3)
            )
    yield Figure("speed-up of 8 requests at once over 1", times[1] / times[8], "x", 6, at_least=True)


def memory_figures(repository: Path) -> Iterator[Figure]:
    """Time and peak memory of a 5 MB file, as Python and as plain text, each in a process of its own."""
    root = Path(__file__).resolve().parents[1]
    for path, name in (("a.py", "a 5 MB file"), ("a.txt", "it as plain text")):
        arguments = f"{str(repository)!r}, {path!r}"
        code = f"from benchmarks.client import prune_five_megabytes; prune_five_megabytes({arguments})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=root)
        seconds, mebibytes = map(float, done.stdout.split())
        yield Figure(f"pruning {name}, model aside", seconds, "s", 60)
        yield Figure(f"  peak memory of the process, {path}", mebibytes, "MiB", 600)


def prune_five_megabytes(repository: str, path: str) -> None:
    """Prune a 5 MB file and print seconds and peak MiB; `memory_figures` runs this in a process of its own."""
    source = library_module("typing.py")
    code = source * (5_000_000 // len(source) + 1)
    with Pruner(model=repository, transport=InstantTransport(), timeout=600) as pruner:
        seconds = pruner.prune(QUERY, code, path=path, effort="full").timings.total
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """All figures in turn."""
    encoder = PromptEncoder.from_repository(options.repository)
    yield from import_figures()
    yield from encoding_figures(encoder)
    yield from overhead_figures(options.repository, encoder)
    yield from growth_figures(options.repository, encoder)
    yield from concurrency_figures(options.repository)
    yield from memory_figures(options.repository)


PARSER = model_options(__doc__)

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
