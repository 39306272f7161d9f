"""Whether the server's memory grows with the number of requests that it has answered.

    python benchmarks/memory.py [--repository DIR] [--full] [--json]

Sends chunks of mixed lengths, 16 always in flight, and compares the resident size of the server and its model processes
after 500 of them with that after 100; with --full after 5,000 and after 500, which is what the target is for.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from lamr_client import GrpcTransport, bundled_repository
from lamr_contract.cpus import usable_cpus
from lamr_contract.spec import load_spec
from lamr_serving import ServerOptions, TritonServer
from load import chunks, closed_loop, resident_by_process, resident_mib

TARGET = 1.05
LOOKS = 10  # at memory between the first and the last


@dataclass(frozen=True)
class Figures:
    """MiB; `by_process` and `course` (requests, MiB) tell where it grew and when."""

    early: int
    late: int
    early_mib: float
    late_mib: float
    ratio: float
    by_process: dict[str, tuple[float, float]]
    course: list[tuple[int, float]]


def measure(repository: Path, early: int, late: int, threads: int) -> Figures:
    spec = load_spec(repository)
    work = chunks(spec.chunking.window, late)
    server = TritonServer(repository, ServerOptions(threads=threads))
    with server, GrpcTransport(server.addresses.grpc, spec) as transport:
        closed_loop(transport, work[:early])
        course = [(early, resident_mib(server.pid))]
        first = resident_by_process(server.pid)
        step = (late - early) // LOOKS
        for begin in range(early, late, step):
            closed_loop(transport, work[begin : begin + step])
            course.append((min(begin + step, late), resident_mib(server.pid)))
        last = resident_by_process(server.pid)
    return Figures(
        early=early,
        late=late,
        early_mib=course[0][1],
        late_mib=course[-1][1],
        ratio=course[-1][1] / course[0][1],
        by_process={name: (first[name], last[name]) for name in first},
        course=course,
    )


def main() -> int:
    """Measure and print; the exit code is 1 if the target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repository", type=Path, help="model repository (default: the bundled one)")
    parser.add_argument("--full", action="store_true", help="5,000 requests, a few minutes")
    parser.add_argument("--threads", type=int, default=usable_cpus(), help="of the encoder (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    early, late = (500, 5000) if options.full else (100, 500)
    figures = measure(options.repository or bundled_repository(), early, late, options.threads)
    if options.json:
        print(json.dumps(asdict(figures)))
    else:
        print(
            f"resident after {early} requests {figures.early_mib:.0f} MiB, after {late} {figures.late_mib:.0f} MiB: "
            f"{figures.ratio:.3f} (target ≤ {TARGET})"
        )
        for name, (first, last) in figures.by_process.items():
            print(f"  {name:<14}{first:8.1f} -> {last:.1f} MiB")
        print("  course " + ", ".join(f"{count}: {mib:.0f}" for count, mib in figures.course))
    return int(figures.ratio > TARGET)


if __name__ == "__main__":
    sys.exit(main())
