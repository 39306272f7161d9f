"""What happens under more load than the server can take.

    python benchmarks/overload.py [--repository DIR] [--seconds 60] [--queue N] [--even] [--json]

Finds the server's capacity in chunks a second with 16 always in flight, then offers 0.8 times as much and twice as
much, whether answers come or not, at random times as many independent callers would (--even: at even intervals).
Every request must end: answered, or refused with the overloaded error. --queue tries another `max_queue_size` of the
encoder than the repository's.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from lamr_client import GrpcTransport, bundled_repository
from lamr_contract.cpus import usable_cpus
from lamr_contract.spec import load_spec
from lamr_serving import ServerOptions, TritonServer
from load import Load, arrivals, chunks, closed_loop, open_loop

WARM, MEASURED = 200, 600  # requests
QUEUE = re.compile(r"max_queue_size: (\d+)")


@dataclass(frozen=True)
class Figures:
    """Targets: p99_ratio ≤ 3, refusals within 50 ms, none lost."""

    queue: int
    capacity_per_second: float
    light: Load
    heavy: Load
    p99_ratio: float


@contextmanager
def with_queue(repository: Path, size: int | None) -> Iterator[tuple[Path, int]]:
    """The repository, or a copy in which as many chunks may wait for the encoder; and that number."""
    file = Path("lamr_encoder", "config.pbtxt")
    found = QUEUE.search((repository / file).read_text(encoding="utf-8"))
    if found is None:
        raise SystemExit(f"{repository / file} sets no max_queue_size")
    if size is None:
        yield repository, int(found[1])
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "repository"
        shutil.copytree(repository, copy)
        text = (copy / file).read_text(encoding="utf-8")
        (copy / file).write_text(QUEUE.sub(f"max_queue_size: {size}", text), encoding="utf-8")
        yield copy, size


def measure(repository: Path, seconds: float, threads: int, queue: int | None, even: bool) -> Figures:
    with with_queue(repository, queue) as (served, size):
        spec = load_spec(served)
        work = chunks(spec.chunking.window, WARM + MEASURED)
        server = TritonServer(served, ServerOptions(threads=threads))
        with server, GrpcTransport(server.addresses.grpc, spec) as transport:
            closed_loop(transport, work[:WARM])
            capacity = MEASURED / closed_loop(transport, work[WARM:])
            light, heavy = (
                open_loop(transport, work, arrivals(share * capacity, seconds, even)) for share in (0.8, 2)
            )
    return Figures(size, capacity, light, heavy, heavy.p99_ms / light.p99_ms)


def main() -> int:
    """Measure and print; the exit code is 1 if a target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repository", type=Path, help="model repository (default: the bundled one)")
    parser.add_argument("--seconds", type=float, default=60, help="of each rate (%(default)g)")
    parser.add_argument("--threads", type=int, default=usable_cpus(), help="of the encoder (%(default)s)")
    parser.add_argument("--queue", type=int, help="max_queue_size of the encoder (default: as it is)")
    parser.add_argument("--even", action="store_true", help="arrivals at even intervals")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    repository = options.repository or bundled_repository()
    figures = measure(repository, options.seconds, options.threads, options.queue, options.even)
    heavy = figures.heavy
    missed = figures.p99_ratio > 3 or heavy.refusal_p99_ms > 50 or heavy.lost > 0
    if options.json:
        print(json.dumps(asdict(figures)))
        return int(missed)
    print(f"capacity {figures.capacity_per_second:.1f} chunks/s; {figures.queue} may wait")
    for name, load in (("0.8 x", figures.light), ("2 x", heavy)):
        print(
            f"  {name:<6} offered {load.offered}, answered {load.answered} (p50 {load.p50_ms:.0f} ms, p99 "
            f"{load.p99_ms:.0f} ms), refused {load.refused} (p99 {load.refusal_p99_ms:.0f} ms, at most "
            f"{load.refusal_most_ms:.0f} ms), lost {load.lost}"
        )
    print(f"  p99 of the answered, 2 x over 0.8 x   {figures.p99_ratio:8.2f}      (target ≤ 3)")
    print(f"  p99 of the refused at 2 x             {heavy.refusal_p99_ms:8.0f} ms   (target ≤ 50)")
    print(f"  lost                                  {heavy.lost:8}      (target 0)")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
