"""Rows a second of `lamr batch` by workers, as processes and on Ray, and the machines and money for many rows.

    python -m benchmarks.scale [--files 1000000] [--repositories 100000] [--hours 8] [--cpus 32] [--price 1.50]
                               [--workers 1 2 4] [--rows 120] [--jobs JOBS] [--json]

Files are installed Python files of 2 to 40 kB, repositories are packages of the standard library; `--jobs` takes a
JSONL file of your own in their place. A rate counts from the first quarter of the answers to the last one, so that
starting processes, models and clusters isn't in it; the start is given apart. Workers share the CPUs out among them.

For N rows in H hours on machines with C CPUs, from the best rate r on Ray of this machine with k CPUs:

    CPU hours = N k / (3600 r)
    machines  = CPU hours / (H C), rounded up
    cost      = CPU hours / C x price of a machine's hour"""

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from lamr_base.cpus import usable_cpus
from lamr_repositories.batch import BatchCount, BatchOptions, run_batch
from lamr_repositories.batch.formats import FORMATS
from lamr_repositories.batch.shards import Gathering, Shards

from benchmarks.report import Figure, option_parser, run
from benchmarks.sources import STDLIB, python_files

FILE_BYTES = (2_000, 40_000)
PACKAGES = (
    "asyncio",
    "concurrent",
    "email",
    "http",
    "importlib",
    "json",
    "logging",
    "multiprocessing",
    "unittest",
)
QUERY = "Where are errors raised, and who handles them?"
BUDGET = {"files": 400, "repositories": 4_000}
RUNNERS: dict[str, str | None] = {"processes": None, "Ray": "local"}
WRITTEN = 20_000


@dataclass(frozen=True)
class Rate:
    """How fast a batch went: rows a second, and seconds to its first answer."""

    rows: float
    start: float


def file_rows(count: int) -> list[dict[str, object]]:
    """Questions about installed files of ordinary sizes, the same ones each time."""
    low, high = FILE_BYTES
    paths = [path for path, _ in python_files(20 * count) if low <= path.stat().st_size <= high]
    return [{"query": QUERY, "path": str(path), "max_tokens": BUDGET["files"]} for path in paths[:count]]


def repository_rows(count: int) -> list[dict[str, object]]:
    """Different questions about packages of the standard library."""
    return [
        {
            "query": f"{QUERY} ({number})",
            "repo": str(STDLIB / PACKAGES[number % len(PACKAGES)]),
            "max_tokens": BUDGET["repositories"],
        }
        for number in range(count)
    ]


def rate_of(rows: list[dict[str, object]], options: BatchOptions) -> Rate:
    """Run rows in a folder of their own, and take the time of each answer. Raises `RuntimeError`: a row failed, so that
    the rate would say nothing."""
    moments: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        jobs = Path(folder) / "jobs.jsonl"
        jobs.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        begun = time.monotonic()
        count = run_batch(jobs, Path(folder) / "out", options, lambda *_: moments.append(time.monotonic()))
        if count.failed:
            errors = [row for row in Shards(Path(folder) / "out").rows() if "error" in row]
            raise RuntimeError(f"{count.failed} rows failed, the first with {errors[0]}")
    quarter = len(moments) // 4
    return Rate((len(moments) - 1 - quarter) / (moments[-1] - moments[quarter]), moments[0] - begun)


def written_rate(form: str) -> float:
    """How many answers of 4 kB a second one process gathers and writes as shards."""
    answer = {
        "text": "x" * 4_000,
        "tokens": 900,
        "kept_lines": list(range(100)),
        "relevance": 0.5,
        "reason": None,
    }
    with tempfile.TemporaryDirectory() as folder:
        shards = Shards(folder, form)
        gathering = Gathering(shards, BatchCount(), lambda *_: None, BatchOptions.shard_rows, math.inf)
        begun = time.monotonic()
        for number in range(WRITTEN):
            gathering.add(str(number), answer)
            gathering.flush()
        gathering.flush(now=True)
        seconds = time.monotonic() - begun
        shards.close()
    return WRITTEN / seconds


def plan(kind: str, wanted: int, rate: float, options: argparse.Namespace) -> Iterator[Figure]:
    """The machines and the money for so many rows, by the formula above."""
    hours = wanted * usable_cpus() / (3600 * rate)
    yield Figure(f"{wanted:,} {kind}: CPU hours", hours, "h")
    yield Figure(
        f"  machines of {options.cpus} CPUs, for {options.hours:g} h",
        math.ceil(hours / (options.hours * options.cpus)),
    )
    yield Figure(f"  cost at {options.price:g} for a machine's hour", hours / options.cpus * options.price)


def measure(options: argparse.Namespace) -> Iterator[Figure | str]:
    """Rates by kind, runner and workers, then plans."""
    yield f"load of the machine at the start: {os.getloadavg()[0]:.1f} on {usable_cpus()} CPUs"
    if options.jobs is None:
        kinds = {"files": file_rows(options.rows), "repositories": repository_rows(max(4, options.rows // 6))}
    else:
        kinds = {
            "files": [
                json.loads(line) for line in options.jobs.read_text("utf-8").splitlines() if line.strip()
            ]
        }
    wanted = {"files": options.files, "repositories": options.repositories}
    for kind, rows in kinds.items():
        best = 0.0
        for runner, address in RUNNERS.items():
            for workers in options.workers:
                rate = rate_of(rows, replace(BatchOptions(), workers=workers, ray=address))
                name = f"{kind} by {runner}, {workers} {'worker' if workers == 1 else 'workers'}"
                yield Figure(name, rate.rows, "rows/s")
                yield Figure("  to the first answer", rate.start, "s")
                best = max(best, rate.rows) if address else best
        yield from plan(kind, wanted[kind], best, options)
    for form in FORMATS:
        yield Figure(f"answers that one command gathers and writes as {form}", written_rate(form), "rows/s")


PARSER = option_parser(__doc__)
PARSER.add_argument("--files", type=int, default=1_000_000, help="to plan for (%(default)s)")
PARSER.add_argument("--repositories", type=int, default=100_000, help="to plan for (%(default)s)")
PARSER.add_argument("--hours", type=float, default=8.0, help="in which they are to be done (%(default)s)")
PARSER.add_argument("--cpus", type=int, default=32, help="of one machine of the plan (%(default)s)")
PARSER.add_argument(
    "--price", type=float, default=1.5, help="of such a machine's hour, in any currency (%(default)s)"
)
PARSER.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4], help="to measure (%(default)s)")
PARSER.add_argument(
    "--rows", type=int, default=120, help="files of each run, and a sixth as many repositories (%(default)s)"
)
PARSER.add_argument("--jobs", type=Path, help="JSONL with rows of your own, which count as files")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
