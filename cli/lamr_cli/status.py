"""`lamr status`: what a server says of itself, or what this installation can do without one."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Annotated

import typer

from lamr_cli.exits import SERVER_TROUBLE

if TYPE_CHECKING:
    from lamr_serving import LocalStatus, ServerStatus


def status(
    server: Annotated[
        str | None,
        typer.Option(
            help="HOST:PORT of a server's gRPC port; default: this installation.", envvar="LAMR_SERVER"
        ),
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for each answer.", min=0.001)] = 5.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print every field as JSON.")] = False,
) -> None:
    """Show versions, model, provider and health.

    Exit code 3 when the server doesn't answer or isn't ready.
    """
    from lamr_serving import local_status, server_status

    if server is None:
        here = local_status()
        typer.echo(json.dumps(dataclasses.asdict(here)) if as_json else _local_text(here))
        return
    there = server_status(server, timeout)
    typer.echo(json.dumps(dataclasses.asdict(there)) if as_json else _server_text(there))
    if not there.ready:
        raise typer.Exit(SERVER_TROUBLE)


def _rows(rows: dict[str, object]) -> list[str]:
    return [f"{name:<13}{'-' if value is None else value}" for name, value in rows.items()]


def _server_text(found: ServerStatus) -> str:
    health = "ready" if found.ready else "live, not ready" if found.live else "not live"
    rows = _rows(
        {
            "server": f"{found.server} {found.server_version} at {found.address}",
            "health": health,
            "model": f"{found.model} {found.model_version}" if found.model else "no lamr model",
            "fingerprint": found.fingerprint,
            "provider": ", ".join(filter(None, (found.provider, found.precision))) or None,
        }
    )
    for model in found.models:
        batch = f", mean batch {model.mean_batch:.2f}" if model.mean_batch is not None else ""
        compute = f", {model.compute_ms:.1f} ms" if model.compute_ms is not None else ""
        rows.append(
            f"  {model.name:<14} {model.state.lower()}, {model.requests:,} requests, {model.failures:,} failed"
            f"{batch}{compute}"
        )
    return "\n".join(rows)


def _local_text(found: LocalStatus) -> str:
    return "\n".join(
        _rows(
            {
                "lamr": found.lamr,
                "python": found.python,
                "numpy": found.numpy,
                "onnxruntime": found.onnxruntime or "not installed: pip install 'lamr-server[serve]'",
                "providers": ", ".join(found.providers) or None,
                "triton": found.triton or "not installed: pip install 'lamr-server[serve]'",
                "model": f"{found.model} {found.model_version}" if found.model else None,
                "fingerprint": found.fingerprint,
                "engine": f"{found.engine}, {found.threads} threads: {found.engine_reason}",
                "wide engine": f"{found.wide_engine}: {found.wide_engine_reason}",
                "problem": found.problem or "none",
            }
        )
    )
