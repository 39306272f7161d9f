"""What the client itself costs: everything but the model's time.

    python benchmarks/client.py [--repository DIR] [--json]

The transport of these measurements answers at once (or after a fixed delay), so what is left is tokenizing, chunking,
merging and post-processing. Prints each figure beside its target; ratios are against the bare tokenizer and against
one request at a time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from lamr_client import ChunkRequest, ChunkResult, PromptEncoder, Pruner, Transport, bundled_repository

STDLIB = Path(sysconfig.get_path("stdlib"))
GROWTH = (1_000, 10_000, 100_000, 1_000_000)
QUERY = "How are generic aliases cached and what happens for unhashable arguments?"


class InstantTransport(Transport):
    """Answers without a model; `delay` seconds stand for one. What it says of a token depends on its id alone."""

    def __init__(self, delay: float = 0.0) -> None:
        self._delay = delay
        self._probability = (np.arange(1 << 18) % 100 / 100).astype(np.float32)
        self._keep = (self._probability > 0.5).astype(np.uint8)
        self._rubrics = np.stack([self._probability, 1 - self._probability], 1)

    def infer(self, request: ChunkRequest, timeout: float | None = None) -> ChunkResult:  # noqa: ARG002
        """Keeps about every second token."""
        if self._delay:
            time.sleep(self._delay)
        first, last = request.document_span
        ids = request.input_ids[first:last]
        rubrics = self._rubrics[ids] if request.want_rubrics else None
        return ChunkResult(self._keep[ids], self._probability[ids], rubrics, rubrics, 0.5)


@dataclass(frozen=True)
class Figure:
    """One measurement; `target` is a bound from above unless `at_least`."""

    name: str
    value: float
    unit: str
    target: float | None = None
    at_least: bool = False

    def __str__(self) -> str:
        bound = "" if self.target is None else f"   (target {'≥' if self.at_least else '≤'} {self.target:g})"
        return f"{self.name:<58}{self.value:>9.3g} {self.unit}{bound}"


def median_seconds(action: Callable[[], object], repeats: int) -> float:
    """Median wall-clock time of some calls, after one that doesn't count."""
    action()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        action()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def import_figures() -> list[Figure]:
    """Seconds until the client is there, and how much of them is numpy's."""

    def seconds(statement: str) -> float:
        code = f"import time; begin = time.perf_counter(); {statement}; print(time.perf_counter() - begin)"
        runs = [
            subprocess.run([sys.executable, "-c", code], capture_output=True, check=True) for _ in range(7)
        ]
        return statistics.median(float(run.stdout) for run in runs)

    return [
        Figure("from lamr_client import Pruner", 1e3 * seconds("from lamr_client import Pruner"), "ms", 150),
        Figure("  of which numpy", 1e3 * seconds("import numpy"), "ms"),
    ]


def encoding_figures(encoder: PromptEncoder) -> list[Figure]:
    """Tokens a second, against the tokenizer alone on the whole text."""
    text = (STDLIB / "typing.py").read_text(encoding="utf-8")
    ids, offsets = encoder.encode_document(text)
    query_ids = encoder.encode_query(QUERY)
    ours = median_seconds(lambda: encoder.encode_document(text), 5)
    bare = median_seconds(lambda: encoder._tokenizer.encode(text, add_special_tokens=False), 5)
    chunking = median_seconds(lambda: encoder.chunk(query_ids, ids, offsets, text), 5)
    return [
        Figure("tokenizing typing.py with offsets", len(ids) / ours / 1e3, "k tokens/s"),
        Figure("  time, as a multiple of one bare tokenizer call", ours / bare, "x", 1.5),
        Figure("  chunking it, as a share of tokenizing it", 100 * chunking / ours, "%", 15),
    ]


def overhead_figures(repository: Path, encoder: PromptEncoder) -> list[Figure]:
    """Milliseconds around one 400-token request and around a 3,000-line file."""
    source = (STDLIB / "typing.py").read_text(encoding="utf-8").splitlines(keepends=True)
    small = "".join(source[:40])
    while encoder.count_tokens(small) < 400:
        small += "".join(source[40:45])
    large = "".join((STDLIB / "_pydecimal.py").read_text(encoding="utf-8").splitlines(keepends=True)[:3000])
    figures = []
    with Pruner(model=repository, transport=InstantTransport()) as pruner:
        for name, code, repeats, target in (("400 tokens", small, 30, 10), ("3,000 lines", large, 5, 1000)):
            seconds = median_seconds(lambda code=code: pruner.prune(QUERY, code, path="a.py"), repeats)
            figures.append(Figure(f"pruning {name}, model aside", 1e3 * seconds, "ms", target))
    return figures


def growth_figures(repository: Path, encoder: PromptEncoder) -> list[Figure]:
    """CPU microseconds a token from 1K to 1M tokens of input: tokenize, chunk, merge, line scores.

    On one core: with several, the tokenizer's threads wait for each other, and that counts as their time too. The
    threshold keeps nothing, and the text has no language: what keeping costs is a figure of its own, and repair costs
    a parse, which `postprocess.py` measures.
    """
    source = (STDLIB / "typing.py").read_text(encoding="utf-8")
    _, offsets = encoder.encode_document(source)
    rows: dict[int, list[float]] = {}
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    with Pruner(model=repository, transport=InstantTransport(), timeout=900, max_concurrency=1) as pruner:
        for tokens in GROWTH:
            whole, rest = divmod(tokens, len(offsets))
            code = source * whole + source[: int(offsets[rest][0])]
            prune = partial(pruner.prune, QUERY, code, path="notes.txt")
            fifth = float(np.quantile(prune().line_scores, 0.8))
            ways = (
                partial(prune, threshold=1.0),
                partial(prune, threshold=fifth),
                partial(encoder.encode_document, code),
            )
            repeats = max(3, min(40, 200_000 // tokens))
            # In turn, so that all see the same machine.
            seconds = [[cpu_seconds(way) for way in ways] for _ in range(repeats)]
            rows[tokens] = (1e6 * np.median(seconds, axis=0) / tokens).tolist()
    del os.environ["TOKENIZERS_PARALLELISM"]
    costs = [cost for cost, _, _ in rows.values()]
    cost, kept, _ = rows[100_000]
    return [
        *(Figure(f"client, {tokens:,} tokens, each", row[0], "µs") for tokens, row in rows.items()),
        *(Figure(f"  tokenizing alone, {tokens:,}", row[2], "µs") for tokens, row in rows.items()),
        Figure("client cost a token, at 100,000", cost, "µs", 2.5),
        Figure("  besides, where a fifth of the lines is kept", kept - cost, "µs"),
        # The target is one of whole prunes (`end_to_end.py`): beside a model this hardly counts.
        Figure("  dearest token over cheapest, model aside", max(costs) / min(costs), "x"),
    ]


def cpu_seconds(action: Callable[..., object], *arguments: object) -> float:
    """CPU time of one call, of all threads."""
    begin = time.process_time()
    action(*arguments)
    return time.process_time() - begin


def concurrency_figures(repository: Path) -> list[Figure]:
    """What eight requests at once gain over one where each takes 20 ms."""
    code = (STDLIB / "argparse.py").read_text(encoding="utf-8")
    times = {}
    for limit in (1, 8):
        with Pruner(model=repository, transport=InstantTransport(0.02), max_concurrency=limit) as pruner:
            times[limit] = statistics.median(pruner.prune(QUERY, code).timings.infer for _ in range(3))
    return [Figure("speed-up of 8 requests at once over 1", times[1] / times[8], "x", 6, at_least=True)]


def memory_figures(repository: Path) -> list[Figure]:
    """Time and peak memory of a 5 MB file, as Python and as plain text, each in a process of its own."""
    root = Path(__file__).resolve().parents[1]
    figures = []
    for path, name in (("a.py", "a 5 MB file"), ("a.txt", "it as plain text")):
        arguments = f"{str(repository)!r}, {path!r}"
        code = f"from benchmarks.client import prune_five_megabytes; prune_five_megabytes({arguments})"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=root)
        seconds, megabytes = map(float, run.stdout.split())
        figures += [
            Figure(f"pruning {name}, model aside", seconds, "s", 60),
            Figure(f"  peak memory of the process, {path}", megabytes, "MiB", 600),
        ]
    return figures


def prune_five_megabytes(repository: str, path: str) -> None:
    """Print seconds and peak MiB."""
    source = (STDLIB / "typing.py").read_text(encoding="utf-8")
    code = source * (5_000_000 // len(source) + 1)
    with Pruner(model=repository, transport=InstantTransport(), timeout=600) as pruner:
        seconds = pruner.prune(QUERY, code, path=path).timings.total
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repository", type=Path, help="a model repository; default: the bundled one")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    arguments = parser.parse_args()
    repository = arguments.repository or bundled_repository()
    encoder = PromptEncoder.from_repository(repository)
    figures = [
        *import_figures(),
        *encoding_figures(encoder),
        *overhead_figures(repository, encoder),
        *growth_figures(repository, encoder),
        *concurrency_figures(repository),
        *memory_figures(repository),
    ]
    if arguments.json:
        print(json.dumps({figure.name.strip(): figure.value for figure in figures}))
    else:
        print(*figures, sep="\n")


if __name__ == "__main__":
    main()
