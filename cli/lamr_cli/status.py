"""`lamr status`: what a server says about itself, or what this installation can do without one."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Annotated

import typer
from lamr_base.errors import how_to_install, visible

from lamr_cli.arguments import credentials
from lamr_cli.exits import SERVER_TROUBLE
from lamr_cli.printing import say

if TYPE_CHECKING:
    from lamr_serving import LocalStatus, ServerStatus


MOST_CHARS = 200
"""Of what a server says of itself in one row."""


def status(
    server: Annotated[
        str | None,
        typer.Option(
            help="HOST:PORT of a server's gRPC port, or https://HOST of a front; default: this installation.",
            envvar="LAMR_SERVER",
            show_default=False,
        ),
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for each answer.", min=0.001)] = 5.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print every field as JSON.")] = False,
) -> None:
    """Show versions, model, provider and health.

    The exit code is 3 if the server doesn't answer or isn't ready.

    lamr status --server 127.0.0.1:8001

    lamr status --json
    """
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
