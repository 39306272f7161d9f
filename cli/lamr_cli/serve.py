"""`lamr serve`: the bundled Triton on a model repository, until it is told to stop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from lamr_serving.launcher.server_options import ServerOptions

from lamr_cli.exits import SERVER_TROUBLE, end_well_on_sigterm
from lamr_cli.printing import say

if TYPE_CHECKING:
    from lamr_serving.launcher.server import ServerInfo

DEFAULTS = ServerOptions()


def serve(
    model: Annotated[
        Path | None,
        typer.Argument(
            help="A model repository written by `lamr export`; default: the bundled lamr-mini.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 127.0.0.1 is reachable from this machine only.")
    ] = DEFAULTS.host,
    grpc_port: Annotated[
        int | None,
        typer.Option("--port", "--grpc-port", help="gRPC port; default: a free one.", min=1, max=65535),
    ] = None,
    metrics_port: Annotated[
        int | None, typer.Option(help="Prometheus port; default: a free one.", min=1, max=65535)
    ] = None,
    threads: Annotated[
        int, typer.Option(help="CPU threads of the encoder; 0: all usable CPUs.", min=0)
    ] = DEFAULTS.threads,
    startup_timeout: Annotated[
        float, typer.Option(help="Seconds to wait for readiness.", min=1)
    ] = DEFAULTS.startup_timeout,
    metrics_host: Annotated[
        str | None,
        typer.Option(help="Address of the Prometheus port; default: loopback, also with --host."),
    ] = None,
    restart: Annotated[bool, typer.Option(help="Restart the server at the same ports if it dies.")] = True,
    log: Annotated[Path | None, typer.Option(help="Write Triton's log to this file.")] = None,
    verbose: Annotated[
        int, typer.Option("--verbose", "-v", count=True, help="More of Triton's log; repeatable.")
    ] = DEFAULTS.verbosity,
    tls_cert: Annotated[
        Path | None, typer.Option(help="PEM file of a certificate chain; turns on TLS for gRPC.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="PEM file of the certificate's private key.")] = None,
    tls_client_ca: Annotated[
        Path | None,
        typer.Option(help="PEM file of an authority: accept only clients with a certificate signed by it."),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="When ready, print addresses and models as one line of JSON on stdout."),
    ] = False,
) -> None:
    """Serve a pruner, or a causal language model of `lamr export --perplexity`, with Triton until Ctrl-C or SIGTERM.

    Without --tls-client-ca nothing is authenticated: listen on loopback, or behind `lamr front`.

    lamr serve --port 8001

    lamr serve my-repository --port 8001

    lamr prune src/server.py -q "How are timeouts handled?" --server 127.0.0.1:8001
    """
    end_well_on_sigterm()
    from lamr_client import bundled_repository
    from lamr_serving.launcher.bundle import check_machine

    check_machine()
    from lamr_serving import serve as serve_repository

    options = ServerOptions(
        host=host,
        metrics_host=metrics_host,
        restart=restart,
        grpc_port=grpc_port,
        metrics_port=metrics_port,
        threads=threads,
        startup_timeout=startup_timeout,
        log_file=log,
        verbosity=verbose,
        tls_cert=tls_cert,
        tls_key=tls_key,
        tls_client_ca=tls_client_ca,
    )
    status = serve_repository(
        bundled_repository() if model is None else model, options, on_ready=_print_ready if as_json else None
    )
    if status:
        raise typer.Exit(SERVER_TROUBLE)


def _print_ready(info: ServerInfo) -> None:
    addresses = info.addresses
    ready = {
        "server": info.name,
        "server_version": info.version,
        "model": info.spec.name,
        "model_version": info.spec.version,
        "grpc": addresses.grpc,
        "metrics": addresses.metrics,
    }
    say(json.dumps(ready))
