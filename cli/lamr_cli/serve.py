"""`lamr serve` runs Triton on a model repository; `lamr status` says what a server, or this installation, can do."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from lamr_base.errors import how_to_install, visible
from lamr_serving.launcher.server_options import ServerOptions
from typer import Argument, Option

from lamr_cli.arguments import credentials
from lamr_cli.exits import SERVER_TROUBLE, end_well_on_sigterm
from lamr_cli.printing import say

if TYPE_CHECKING:
    from lamr_serving import LocalStatus, ServerStatus
    from lamr_serving.launcher.server import ServerInfo

DEFAULTS = ServerOptions()


def serve(
    model: Annotated[
        Path | None,
        Argument(
            help="A model repository written by `lamr export`; default: the bundled lamr-mini.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, Option(help="Address; 127.0.0.1: this machine only.")] = DEFAULTS.host,
    grpc_port: Annotated[
        int | None,
        Option("--port", "--grpc-port", help="Port of gRPC; default: a free one.", min=1, max=65535),
    ] = None,
    metrics_port: Annotated[
        int | None,
        Option(help="Port for Prometheus; default: the one after --port, or a free one.", min=1, max=65535),
    ] = None,
    threads: Annotated[int, Option(help="CPU threads of the encoder; 0: all.", min=0)] = DEFAULTS.threads,
    startup_timeout: Annotated[float, Option(help="Seconds until ready.", min=1)] = DEFAULTS.startup_timeout,
    metrics_host: Annotated[
        str | None, Option(help="Address of the Prometheus port; default: loopback, also with --host.")
    ] = None,
    restart: Annotated[bool, Option(help="Restart the server at the same ports if it dies.")] = True,
    log: Annotated[Path | None, Option(help="Write Triton's log to this file.")] = None,
    verbose: Annotated[
        int, Option("--verbose", "-v", count=True, help="Log more; repeat it for still more.")
    ] = DEFAULTS.verbosity,
    tls_cert: Annotated[
        Path | None, Option(help="PEM file of a certificate chain; turns on TLS for gRPC.")
    ] = None,
    tls_key: Annotated[Path | None, Option(help="PEM file of the certificate's private key.")] = None,
    tls_client_ca: Annotated[
        Path | None,
        Option(help="PEM file of an authority: accept only clients with a certificate signed by it."),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="When ready, print addresses as JSON.")] = False,
) -> None:
    """Serve a pruner, or a causal language model of `lamr export --perplexity`, with Triton until Ctrl-C or SIGTERM.

    Without --tls-client-ca nothing is authenticated: listen on loopback, or behind `lamr front`.

    lamr serve --port 8001

    lamr serve my-repository --port 8001

    lamr prune src/server.py -q "How are timeouts handled?" --server 127.0.0.1:8001"""
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


MOST_CHARS = 200  # Of what a server says of itself in one row


def status(
    server: Annotated[
        str | None,
        Option(
            help="HOST:PORT of a server's gRPC port, or https://HOST of a front; default: this installation.",
            envvar="LAMR_SERVER",
            show_default=False,
        ),
    ] = None,
    timeout: Annotated[float, Option(help="Seconds to wait for each answer.", min=0.001)] = 5.0,
    as_json: Annotated[bool, Option("--json", help="Print every field as JSON.")] = False,
) -> None:
    """Show versions, model, provider and health.

    The exit code is 3 if the server doesn't answer or isn't ready.

    lamr status --server 127.0.0.1:8001

    lamr status --json"""
    from lamr_serving import local_status, server_status

    if not server:
        installation = local_status()
        say(json.dumps(dataclasses.asdict(installation)) if as_json else _local_text(installation))
        return
    answer = server_status(server, timeout, **credentials(server))
    say(json.dumps(dataclasses.asdict(answer)) if as_json else _server_text(answer))
    if not answer.ready:
        raise typer.Exit(SERVER_TROUBLE)


def _rows(rows: dict[str, object]) -> list[str]:
    return [
        f"{name:<13}{'-' if value is None else visible(str(value))[:MOST_CHARS]}"
        for name, value in rows.items()
    ]


def _server_text(server: ServerStatus) -> str:
    health = "ready" if server.ready else "live, not ready" if server.live else "not live"
    rows = _rows(
        {
            "server": f"{server.server} {server.server_version} at {server.address}",
            "health": health,
            "model": f"{server.model} {server.model_version}" if server.model else "no lamr model",
            "fingerprint": server.fingerprint,
            "provider": ", ".join(filter(None, (server.provider, server.precision))) or None,
        }
    )
    for model in server.models:
        batch = f", mean batch {model.mean_batch:.2f}" if model.mean_batch is not None else ""
        compute = f", {model.compute_ms:.1f} ms" if model.compute_ms is not None else ""
        name = visible(model.name)[:MOST_CHARS]
        rows.append(
            f"  {name:<14} {model.state.lower()}, {model.requests:,} requests, {model.failures:,} failed"
            f"{batch}{compute}"
        )
    return "\n".join(rows)


def _local_text(installation: LocalStatus) -> str:
    return "\n".join(
        _rows(
            {
                "lamr": installation.lamr,
                "python": installation.python,
                "numpy": installation.numpy,
                "onnxruntime": installation.onnxruntime or f"not installed: {how_to_install('local')}",
                "providers": ", ".join(installation.providers) or None,
                "triton": installation.triton or f"not installed: {how_to_install('serve')}",
                "model": f"{installation.model} {installation.model_version}" if installation.model else None,
                "fingerprint": installation.fingerprint,
                "engine": installation.engine,
                "threads": installation.threads,
                "for exports": installation.small_engine,
                "wide exports": installation.wide_engine,
                "problem": installation.problem or "none",
            }
        )
    )
