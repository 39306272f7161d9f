"""`lamr serve`: the bundled Triton on a model repository, until it is told to stop."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer


def serve(
    model: Annotated[
        Path | None, typer.Argument(help="A model repository written by `lamr export`; default: the bundled lamr-mini.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 127.0.0.1 is reachable from this machine only.")] = (
        "127.0.0.1"
    ),
    grpc_port: Annotated[int | None, typer.Option("--port", "--grpc-port", help="gRPC port; default: a free one.")] = None,
    http_port: Annotated[int | None, typer.Option(help="HTTP port; default: a free one.")] = None,
    metrics_port: Annotated[int | None, typer.Option(help="Prometheus port; default: a free one.")] = None,
    startup_timeout: Annotated[float, typer.Option(help="Seconds to wait for readiness.", min=1)] = 120.0,
    log: Annotated[Path | None, typer.Option(help="Append Triton's log to this file.")] = None,
    verbose: Annotated[int, typer.Option("--verbose", "-v", count=True, help="More of Triton's log; repeatable.")] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="When ready, print the addresses and models as one line of JSON on stdout.")
    ] = False,
) -> None:
    """Serve a model with NVIDIA Triton until Ctrl-C or SIGTERM.

    lamr serve --port 8001

    lamr prune src/server.py -q "How are timeouts handled?" --server 127.0.0.1:8001
    """
