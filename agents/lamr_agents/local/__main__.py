"""`python -m lamr_agents.local` is the local server that hooks start; it ends when nobody has called for an hour."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lamr_client import Pruner

from lamr_agents.local.server import IDLE_SECONDS, LocalServer
from lamr_agents.local.store import Store, default_socket, default_store


def main() -> int:
    """Serve; the exit code is 1 where another server listens already."""
    parser = argparse.ArgumentParser(prog="python -m lamr_agents.local", description=__doc__)
    parser.add_argument("--socket", type=Path, default=default_socket(), help="where to listen (%(default)s)")
    parser.add_argument("--store", type=Path, default=default_store(), help="record of results (%(default)s)")
    parser.add_argument("--server", help="HOST:PORT of a lamr server's gRPC port; default: prune in process")
    parser.add_argument("--model", type=Path, help="a model repository; default: the bundled one")
    parser.add_argument("--timeout", type=float, default=7.0, help="seconds for one pruning (%(default)s)")
    parser.add_argument(
        "--idle", type=float, default=IDLE_SECONDS, help="seconds without a call (%(default)s)"
    )
    options = parser.parse_args()
    store = Store(options.store)

    def make_pruner() -> Pruner:
        return Pruner(options.server, model=options.model, timeout=options.timeout, retries=0)

    return 0 if LocalServer(options.socket, store, make_pruner).run(options.idle) else 1


if __name__ == "__main__":
    sys.exit(main())
