"""`lamr mcp` and `lamr http`: the pruner as a server of the Model Context Protocol, and over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from lamr_base.choices import EffortName

from lamr_cli.arguments import EFFORT_HELP, CacheFile, Model, NoCache, Server, Within, cache_file, credentials
from lamr_cli.exits import end_well_on_sigterm, needs_extra

AllowedHosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allowed-host",
        help="Another name that the server is asked by, beside localhost and --host; repeatable. Other names are "
        "refused, since a web page could have its own lead here.",
    ),
]


def http(  # one flag an argument
    host: Annotated[
        str, typer.Option(help="Address to listen on; 127.0.0.1 is reachable from this machine only.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", help="Port to listen on; 0: a free one.", min=0, max=65535)
    ] = 8080,
    allowed_host: AllowedHosts = None,
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
    options and fields, POST /v1/rerank and POST /rerank rank documents as Cohere and TEI do; /openapi.json describes
    all of them; /livez, /readyz and /metrics are for who watches over it. Nothing is authenticated: listen on loopback,
    or behind something that does it.

    lamr http --port 8080

    lamr http --server 127.0.0.1:8001 --max-requests 16
    """
    end_well_on_sigterm()
    with needs_extra("http"):
        import uvicorn
        from lamr_agents.http.app import create_app
        from lamr_agents.http.limits import HttpLimits, server_options
        from lamr_agents.local.texts import Texts
    from lamr_client import AsyncPruner

    hosts = (host, *(allowed_host or ()))
    limits = HttpLimits(max_body, max_requests, timeout, stop_timeout, hosts)

    def make_pruner() -> AsyncPruner:
        return AsyncPruner(server, model=model, timeout=limits.seconds, **credentials(server))

    app = create_app(make_pruner, limits, Texts(texts) if texts else None)
    uvicorn.run(app, host=host, port=port, log_level="info", **server_options(limits))


MOST_SESSIONS = 256
"""Over HTTP; one that asks nothing for half an hour ends."""


def mcp(
    root: Annotated[
        list[Path] | None,
        typer.Option(
            help="A folder whose files may be read; default: the client's roots, or else the current one."
        ),
    ] = None,
    transport: Annotated[
        Literal["stdio", "http"], typer.Option(help="stdio, as most agents start it, or streamable HTTP.")
    ] = "stdio",
    host: Annotated[str, typer.Option(help="Address to listen on, with --transport http.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", help="Port, with --transport http.", min=1, max=65535)
    ] = 8081,
    allowed_host: AllowedHosts = None,
    server: Server = None,
    model: Model = None,
    effort: Annotated[EffortName, typer.Option(help=EFFORT_HELP)] = "auto",
    within: Within = None,
    timeout: Annotated[float, typer.Option(help="Seconds for one pruning.", min=0.001)] = 30.0,
    cache: CacheFile = None,
    no_cache: NoCache = False,
) -> None:
    """Give agents tools that read files for a question: read_file, pack, expand, outline, search, prune_text.

    Nothing outside the roots is read, wherever links lead. A client's own roots narrow those that are named here. Over
    HTTP nobody is asked who he is: listen on loopback, where web pages of other places get no answer.

    lamr mcp --root .

    lamr mcp --transport http --port 8081
    """
    end_well_on_sigterm(at_once=transport == "stdio")
    with needs_extra("mcp"):
        import uvicorn
        from lamr_agents.http.limits import HostMiddleware, HttpLimits, server_options
        from lamr_agents.mcp.server import create_server
        from lamr_agents.mcp.workspace import Reach
        from mcp.server.transport_security import TransportSecuritySettings
    from lamr_agents.mcp.workspace import Workspace
    from lamr_client import AsyncPruner
    from lamr_repositories import default_cache_file

    kept = cache_file(cache, no_cache, default_cache_file())

    def make_pruner() -> AsyncPruner:
        return AsyncPruner(server, model=model, timeout=timeout, **credentials(server))

    folders = Workspace(root or [Path.cwd()]).roots
    reach = Reach(folders, not root and transport == "stdio")
    made = create_server(reach, make_pruner, {"model": model, "cache": kept}, effort, within)
    if transport == "stdio":
        made.run("stdio")
    else:
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # ours says what to do
        served = made.streamable_http_app(transport_security=security, max_sessions=MOST_SESSIONS)
        app = HostMiddleware(served, (host, *(allowed_host or ())))
        uvicorn.run(app, host=host, port=port, log_level="warning", **server_options(HttpLimits()))
