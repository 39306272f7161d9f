"""`lamr http`: the pruner over HTTP, until it is told to stop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lamr_cli.arguments import Model, Server, credentials
from lamr_cli.exits import end_well_on_sigterm, needs_extra


def http(  # one flag an argument
    host: Annotated[
        str, typer.Option(help="Address to listen on; 127.0.0.1 is reachable from this machine only.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", help="Port to listen on; 0: a free one.", min=0, max=65535)
    ] = 8080,
    server: Server = None,
    model: Model = None,
    timeout: Annotated[float, typer.Option(help="Seconds for one request.", min=0.001)] = 30.0,
    max_body: Annotated[int, typer.Option(help="Most bytes of a request's body.", min=1)] = 8 << 20,
    max_requests: Annotated[int, typer.Option(help="Requests at once; more get 429.", min=1)] = 64,
    stop_timeout: Annotated[
        float, typer.Option(help="Seconds for requests under way when told to stop.", min=0)
    ] = 10.0,
    texts: Annotated[
        Path | None,
        typer.Option(help="Where originals are kept for who asks for it; default: your own file."),
    ] = None,
) -> None:
    """Serve the pruner over HTTP until Ctrl-C or SIGTERM.

    POST /prune is what SWE-Pruner's service has, so its clients need another address only. POST /v1/prune has all
    options and fields, POST /v1/rerank and POST /rerank rank documents as Cohere and TEI do; /docs shows all of them,
    /livez, /readyz and /metrics are for who watches over it. Nothing is authenticated: listen on loopback, or behind
    something that does it.

    lamr http --port 8080
    """
    end_well_on_sigterm()
    with needs_extra("http"):
        import uvicorn
        from lamr_agents.http.app import create_app
        from lamr_agents.http.connections import server_options
        from lamr_agents.http.limits import Limits
        from lamr_agents.local.texts import Texts
    from lamr_client import AsyncPruner

    limits = Limits(max_body, max_requests, timeout, stop_timeout)

    def make_pruner() -> AsyncPruner:
        return AsyncPruner(server, model=model, timeout=limits.seconds, **credentials(server))

    app = create_app(make_pruner, limits, Texts(texts) if texts else None)
    uvicorn.run(app, host=host, port=port, log_level="info", **server_options(limits))
