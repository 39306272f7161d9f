"""A whole prune from text to text: a 3,000-line file in process and through Triton, and what stays in memory.

    python benchmarks/end_to_end.py [--json] [--runs 3]

Prints each figure beside its target. Times are of this machine; the two ways run in turn, so their ratio holds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sysconfig
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
from lamr_client import Pruner, bundled_repository
from lamr_serving import TritonServer

QUERY = "How does a generic alias substitute its type parameters, and what is checked?"
LINES = 3000
TARGET_SECONDS = 6.0


@dataclass(frozen=True)
class Figures:
    """Seconds are medians; bytes are resident, the server's with all of its model processes."""

    lines: int
    tokens: int
    seconds_in_process: float
    seconds_served: float
    client_bytes: int
    server_bytes: int


def source() -> str:
    """The first 3,000 lines of the standard library's typing.py, doubled if it is shorter."""
    text = (Path(sysconfig.get_path("stdlib")) / "typing.py").read_text(encoding="utf-8")
    return "".join((text + text).splitlines(keepends=True)[:LINES])


def measure(runs: int) -> Figures:
    """Prune in turn, in process and served."""
    code = source()
    here: list[float] = []
    there: list[float] = []
    with TritonServer(bundled_repository()) as server, Pruner(timeout=300) as local:
        with Pruner(server.addresses.grpc, timeout=300) as remote:
            tokens = remote.prune(QUERY, code, path="typing.py").tokens_in
            local.prune(QUERY, code, path="typing.py")
            for _ in range(runs):
                here.append(local.prune(QUERY, code, path="typing.py").timings.total)
                there.append(remote.prune(QUERY, code, path="typing.py").timings.total)
        process = psutil.Process(server.pid)
        resident = sum(each.memory_info().rss for each in (process, *process.children(recursive=True)))
    own = psutil.Process(os.getpid()).memory_info().rss
    return Figures(LINES, tokens, statistics.median(here), statistics.median(there), own, resident)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    figures = measure(arguments.runs)
    if arguments.json:
        print(json.dumps(asdict(figures)))
        return
    print(
        f"{figures.lines:,} lines, {figures.tokens:,} tokens, end to end (target: {TARGET_SECONDS:.0f} s on two cores)"
    )
    print(f"  in process      {figures.seconds_in_process:6.2f} s")
    print(f"  through Triton  {figures.seconds_served:6.2f} s")
    print(f"  ratio           {figures.seconds_served / figures.seconds_in_process:6.2f}")
    print(
        f"resident: client and its own model {figures.client_bytes / 1e6:.0f} MB, "
        f"server and stubs {figures.server_bytes / 1e6:.0f} MB"
    )


if __name__ == "__main__":
    main()
