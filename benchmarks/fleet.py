"""Many tenants before two real servers: whether shares are fair, what the front costs, and what is lost under faults.

    python -m benchmarks.fleet [--seconds 15] [--only flood shares cost …] [--json]

- `flood`: tenant A has 64 requests under way and B one at a time. B's latency beside what it is alone, and beside what
  it is when both share one queue.
- `shares`: backlogged tenants of equal weights (Jain's index), and of weights 1, 2 and 4.
- `cost`: 32-token requests by turns directly and through the front; HAProxy's CPU for a call.
- `throughput`: chunks a second in eight rounds directly and eight through the front, by turns, each pair compared.
- `faults`: 50 tenants with bursts, long files and given-up calls through our own client and its retries, while the
  front is reloaded ten times, a key is revoked, a server is drained and put back, another is killed, and then the front
  itself.
- `attack`: a tenant at its quota while another one, and strangers, do all that the campaign (`make attack`)
  knows against the front; `--seconds 300` for five minutes of it.

Everything is on loopback, in this machine's own processes, and ends by itself: in about five minutes on two idle cores.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
from lamr_contract.spec import load_spec
from lamr_front.running import Front
from lamr_serving import ServerOptions

from benchmarks.front.attack import attack
from benchmarks.front.cost import cost
from benchmarks.front.faults import faults
from benchmarks.front.flood import flood
from benchmarks.front.shares import shares
from benchmarks.front.site import Site, start_server
from benchmarks.front.throughput import throughput
from benchmarks.report import Figure, model_options, run

PARTS = {
    "flood": flood,
    "shares": shares,
    "cost": cost,
    "throughput": throughput,
    "faults": faults,
    "attack": attack,
}


def measure(options: argparse.Namespace) -> Iterator[Figure | str]:
    """Start servers and front, and run the parts."""
    begun = time.monotonic()
    load_spec(options.repository)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        os.environ["LAMR_FRONT_DIR"] = str(folder / "run")
        server = ServerOptions(threads=max(1, options.threads // 2), restart=True)
        site = Site(folder, [start_server(stack, options.repository, server) for _ in range(2)])
        site.tenants({"first": ""})
        log = stack.enter_context(site.log.open("wb"))
        site.front = stack.enter_context(Front(site.file, log=log, report=io.StringIO()))
        site.await_replicas()
        yield f"load of the machine at the start: {os.getloadavg()[0]:.1f} on {psutil.cpu_count()} CPUs"
        for part in options.only:
            yield from PARTS[part](site, options.seconds)
            yield f"{part} ended after {time.monotonic() - begun:.0f} s"


PARSER = model_options(__doc__)
PARSER.add_argument("--seconds", type=float, default=15.0, help="of each measurement (%(default)s)")
PARSER.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts to run")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
