"""Rubric labels: how many records a second training labels, and where the time goes.

    python -m benchmarks.labels [--records 1000] [--json]

The records ask about 200-line windows of the standard library and the installed packages, no two about the same text,
so that no parse is used twice. The rate that has a target is by CPU time, which a busy machine disturbs
little."""

import argparse
import ast
import statistics
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
from lamr_training.labels import label_lines

from benchmarks.report import Figure, option_parser, run
from benchmarks.sources import python_files

LINES = 200


def windows(count: int) -> Iterator[str]:
    """Beginnings of files, cut between top-level statements at about 200 lines."""
    for _, code in python_files(50_000):
        lines = code.splitlines(keepends=True)
        ends = [node.end_lineno or 0 for node in ast.parse(code).body]
        end = min(ends, key=lambda n: abs(n - LINES), default=0)
        if abs(end - LINES) <= 20:
            yield "".join(lines[:end])
            count -= 1
            if not count:
                return


def records(count: int) -> list[tuple[str, list[int]]]:
    """Codes, and a few runs of lines that each keeps."""
    rng = np.random.default_rng(0)
    found = []
    for code in windows(count):
        starts = rng.integers(1, len(code.splitlines()) - 9, 3)
        kept = sorted({int(n) for start in starts for n in range(start, start + int(rng.integers(2, 9)))})
        found.append((code, kept))
    return found


def milliseconds(call: Callable[[str], object], codes: list[str]) -> float:
    """Median CPU time of a call over the codes."""
    times = []
    for code in codes:
        begun = time.process_time()
        call(code)
        times.append((time.process_time() - begun) * 1e3)
    return statistics.median(times)


def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """Label records, then some of them alone."""
    made = records(options.records)
    begun, cpu = time.perf_counter(), time.process_time()
    for code, kept in made:
        label_lines(code, kept)
    wall, cpu = time.perf_counter() - begun, time.process_time() - cpu
    codes = [code for code, _ in made]
    sample = codes[:200]
    parse = milliseconds(ast.parse, sample)
    whole = milliseconds(lambda code: label_lines(code, [len(code.splitlines()) // 2]), sample)
    yield Figure("records labelled", len(codes))
    yield Figure("lines of a record, mean", statistics.mean(len(code.splitlines()) for code in sample))
    yield Figure("records labelled a second, by CPU time", len(codes) / cpu, "/s", 300, at_least=True)
    yield Figure("  by the wall clock", len(codes) / wall, "/s")
    yield Figure("  one record's labels", whole, "ms")
    yield Figure("  of which ast.parse", parse, "ms")


PARSER = option_parser(__doc__)
PARSER.add_argument("--records", type=int, default=1000, help="how many records (%(default)s)")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
