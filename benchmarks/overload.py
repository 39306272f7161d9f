"""What happens under more load than the server can take.

    python -m benchmarks.overload [--repository DIR] [--seconds 60] [--queue N] [--wait SECONDS] [--even] [--json]

Finds the server's capacity in chunks a second with 16 always in flight, then offers 0.8 times as much and twice as
much, whether answers come or not, at random times as many independent callers would (`--even`: at even intervals).
Every request must end: it is answered, or refused with the overloaded error. `--queue` and `--wait` try
another `max_queue_size` and `default_timeout_microseconds` of the encoder than the repository's."""

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lamr_client import GrpcTransport
from lamr_model.names import ENCODER, config_file
from lamr_model.spec import load_spec
from lamr_serving import ServerOptions, TritonServer

from benchmarks.load import arrivals, chunks, closed_loop, open_loop
from benchmarks.report import Figure, model_options, run

WARM, MEASURED = 200, 600  # requests
QUEUE, WAIT = "max_queue_size", "default_timeout_microseconds"


@contextmanager
def with_policy(repository: Path, changes: dict[str, int]) -> Iterator[tuple[Path, dict[str, int]]]:
    """A copy of the repository with other settings of the encoder's queue; and all that it then has."""
    text = config_file(repository, ENCODER).read_text(encoding="utf-8")
    for name, value in changes.items():
        text, found = re.subn(rf"\b{name}: \d+", f"{name}: {value}", text)
        if not found:
            raise SystemExit(f"{config_file(repository, ENCODER)} sets no {name}")
    settings = {name: int(value) for name, value in re.findall(rf"\b({QUEUE}|{WAIT}): (\d+)", text)}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "repository"
        shutil.copytree(repository, copy)
        config_file(copy, ENCODER).write_text(text, encoding="utf-8")
        yield copy, settings


def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """Find the capacity, then offer less and more than it."""
    changes = {QUEUE: options.queue, WAIT: options.wait and round(options.wait * 1e6)}
    changes = {name: value for name, value in changes.items() if value is not None}
    with with_policy(options.repository, changes) as (repository, settings):
        yield Figure("chunks that may wait (0: any number)", settings.get(QUEUE, 0))
        yield Figure("seconds that a chunk may wait", settings.get(WAIT, 0) / 1e6, "s")
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
    if allowed := settings.get(WAIT, 0) / 1e3:
        ratio = heavy.refusal_p99_ms / allowed
        yield Figure("  refused within, p99, over the wait that is allowed", ratio, "x", 1.5)
    yield Figure("  lost", heavy.lost, "", 0)


PARSER = model_options(__doc__)
PARSER.add_argument("--seconds", type=float, default=60, help="length of each rate (%(default)g)")
PARSER.add_argument("--queue", type=int, help="max_queue_size of the encoder (default: as it is)")
PARSER.add_argument(
    "--wait", type=float, help="seconds that a chunk may wait for the encoder (default: as it is)"
)
PARSER.add_argument("--even", action="store_true", help="arrivals at even intervals")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
