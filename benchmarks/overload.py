"""What happens under more load than the server can take.

    python -m benchmarks.overload [--repository DIR] [--seconds 60] [--queue N] [--even] [--json]

Finds the server's capacity in chunks a second with 16 always in flight, then offers 0.8 times as much and twice as
much, whether answers come or not, at random times as many independent callers would (`--even`: at even intervals).
Every request must end: it is answered, or refused with the overloaded error. `--queue` tries another `max_queue_size`
of the encoder than the repository's.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lamr_client import GrpcTransport
from lamr_contract.names import ENCODER, config_file
from lamr_contract.spec import load_spec
from lamr_serving import ServerOptions, TritonServer

from benchmarks.load import arrivals, chunks, closed_loop, open_loop
from benchmarks.report import Figure, model_options, run

WARM, MEASURED = 200, 600  # requests
QUEUE = re.compile(r"max_queue_size: (\d+)")


@contextmanager
def with_queue(repository: Path, size: int | None) -> Iterator[tuple[Path, int]]:
    """The repository, or a copy of it in which `size` chunks may wait for the encoder; and how many may wait."""
    configuration = config_file(repository, ENCODER)
    setting = QUEUE.search(configuration.read_text(encoding="utf-8"))
    if setting is None:
        raise SystemExit(f"{configuration} sets no max_queue_size")
    if size is None:
        yield repository, int(setting[1])
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "repository"
        shutil.copytree(repository, copy)
        text = QUEUE.sub(f"max_queue_size: {size}", configuration.read_text(encoding="utf-8"))
        config_file(copy, ENCODER).write_text(text, encoding="utf-8")
        yield copy, size


def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """Find the capacity, then offer less and more than it."""
    with with_queue(options.repository, options.queue) as (repository, size):
        yield Figure("chunks that may wait", size)
        spec = load_spec(repository)
        work = chunks(spec.chunking.window, WARM + MEASURED)
        server = TritonServer(repository, ServerOptions(threads=options.threads))
        with server, GrpcTransport(server.addresses.grpc, spec) as transport:
            closed_loop(transport, work[:WARM])
            capacity = MEASURED / closed_loop(transport, work[WARM:])
            yield Figure("capacity", capacity, "/s")
            loads = {}
            for share in (0.8, 2):
                times = arrivals(share * capacity, options.seconds, options.even)
                load = loads[share] = open_loop(transport, work, times)
                yield Figure(f"  offered at {share:g} x", load.offered)
                yield Figure(f"  answered at {share:g} x", load.answered)
                yield Figure(f"  answered at {share:g} x, p50", load.p50_ms, "ms")
                yield Figure(f"  answered at {share:g} x, p99", load.p99_ms, "ms")
                yield Figure(f"  refused at {share:g} x", load.refused)
                yield Figure(f"  refused at {share:g} x, slowest", load.refusal_most_ms, "ms")
    light, heavy = loads[0.8], loads[2]
    yield Figure("p99 at twice the capacity over 0.8 times", heavy.p99_ms / light.p99_ms, "x", 3)
    yield Figure("  refused within, p99", heavy.refusal_p99_ms, "ms", 50)
    yield Figure("  lost", heavy.lost, "", 0)


PARSER = model_options(__doc__)
PARSER.add_argument("--seconds", type=float, default=60, help="length of each rate (%(default)g)")
PARSER.add_argument("--queue", type=int, help="max_queue_size of the encoder (default: as it is)")
PARSER.add_argument("--even", action="store_true", help="arrivals at even intervals")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
