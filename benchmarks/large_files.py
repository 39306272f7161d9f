"""The largest inputs with the real model, in process: a 5 MB file and a line of 1 MB. Minutes on two cores.

    python -m benchmarks.large_files [--megabytes 5] [--json]

A lost line is an error.
"""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Iterator

from lamr_client import Pruner

from benchmarks.anew import reading_anew
from benchmarks.report import Figure, option_parser, run
from benchmarks.sources import library_module

QUERY = "How is the exit status of a child process decoded?"


def prune_figures(pruner: Pruner, name: str, code: str, path: str) -> Iterator[Figure]:
    """Prune once; every line must be either kept or cut."""
    result = pruner.prune(QUERY, code, path=path, effort="full")
    assert len(result.kept_lines) + sum(cut.lines for cut in result.cuts) == len(result.line_scores)
    seconds = result.timings
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield Figure(f"{name}, {len(code) / 1e6:.1f} MB, {result.tokens_in:,} tokens", seconds.total, "s")
    yield Figure(f"  {name}: speed", result.tokens_in / seconds.total, "tokens/s")
    yield Figure(f"  {name}: encoding", seconds.encode, "s")
    yield Figure(f"  {name}: post-processing", seconds.postprocess, "s")
    yield Figure(f"  {name}: peak memory of the process so far", peak, "MiB")


def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """A small file to warm up, then both inputs."""
    source = library_module("subprocess.py")
    names = " ".join(f"name_{number}" for number in range(100_000))
    with reading_anew() as pruner:
        yield from prune_figures(pruner, "a small file", source, "subprocess.py")
        yield from prune_figures(pruner, "one line", f'x = "{names[:1_000_000]}"\n', "line.py")
        large = source * round(options.megabytes * 1e6 / len(source))
        yield from prune_figures(pruner, "one file", large, "large.py")


PARSER = option_parser(__doc__)
PARSER.add_argument("--megabytes", type=float, default=5.0, help="size of the file (%(default)s)")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
