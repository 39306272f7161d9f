"""Whether the server's memory grows with the number of requests that it has answered.

    python -m benchmarks.memory [--repository DIR] [--threads N] [--full] [--json]

Sends chunks of mixed lengths, 16 always in flight, and compares the resident size of the server and its model processes
after 500 of them with that after 100; with `--full`, after 5,000 with that after 500, which is what the target is for.
"""

import argparse
import sys
from collections.abc import Iterator

from lamr_client import GrpcTransport
from lamr_model.spec import load_spec
from lamr_serving import ServerOptions, TritonServer

from benchmarks.load import chunks, closed_loop, resident_by_process, resident_mib
from benchmarks.report import Figure, model_options, run

LOOKS = 10  # at memory between the first and the last


def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """Send all requests in steps and look at the memory after each step."""
    early, late = (500, 5000) if options.full else (100, 500)
    spec = load_spec(options.repository)
    work = chunks(spec.chunking.window, late)
    server = TritonServer(options.repository, ServerOptions(threads=options.threads))
    with server, GrpcTransport(server.addresses.grpc, spec) as transport:
        closed_loop(transport, work[:early])
        first, early_mib = resident_by_process(server.pid), resident_mib(server.pid)
        yield Figure(f"resident after {early:,} requests", early_mib, "MiB")
        step = (late - early) // LOOKS
        for begin in range(early, late, step):
            closed_loop(transport, work[begin : begin + step])
            late_mib = resident_mib(server.pid)
            yield Figure(f"  after {min(begin + step, late):,}", late_mib, "MiB")
        for name, mib in resident_by_process(server.pid).items():
            yield Figure(f"  growth of {name}", mib - first[name], "MiB")
    yield Figure(f"memory after {late:,} requests over {early:,}", late_mib / early_mib, "x", 1.05)


PARSER = model_options(__doc__)
PARSER.add_argument("--full", action="store_true", help="5,000 requests, which take a few minutes")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
