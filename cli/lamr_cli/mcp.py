"""`lamr mcp` and `lamr http`: the pruner as a server of the Model Context Protocol, and over HTTP."""

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from lamr_base.choices import EffortName
from typer import Option

from lamr_cli.arguments import EFFORT_HELP, CacheFile, Model, NoCache, Server, Within, cache_file, credentials
from lamr_cli.exits import end_well_on_sigterm, needs_extra

AllowedHosts = Annotated[
    list[str] | None,
    Option(
        "--allowed-host",
        help="Another host name to accept, beside localhost and --host; repeatable. Others are refused, because a "
        "web page could point its own name here.",
    ),
]


def http(  # one flag an argument
    host: Annotated[str, Option(help="Address; 127.0.0.1: this machine only.")] = "127.0.0.1",
    port: Annotated[int, Option("--port", "-p", help="Port; 0: a free one.", min=0, max=65535)] = 8080,
    allowed_host: AllowedHosts = None,
    server: Server = None,
    model: Model = None,
    timeout: Annotated[float, Option(help="Seconds for one request.", min=0.001)] = 30.0,
    max_body: Annotated[int, Option(help="The most bytes of a request's body.", min=1)] = 8 << 20,
    max_requests: Annotated[int, Option(help="The most requests at once; more get status 429.", min=1)] = 64,
    stop_timeout: Annotated[
        float, Option(help="Seconds for requests under way when the server stops.", min=0)
    ] = 10.0,
    root: Annotated[
        Path | None,
        Option(help="A folder whose repositories may be packed; default: none."),
    ] = None,
    texts: Annotated[
        Path | None, Option(help="File that keeps originals if a request asks for that; default: your own.")
    ] = None,
) -> None:
    """Serve the pruner over HTTP until Ctrl-C or SIGTERM.

    / is a page to ask from. POST /v1/prune has all options and fields, and so has POST /v1/pack for repositories below
    --root. POST /prune is SWE-Pruner's format, and POST /v1/rerank and POST /rerank are Cohere's and TEI's.
    /openapi.json describes all of them; /livez, /readyz and /metrics are for monitoring. Nothing is authenticated:
    listen on loopback, or behind a proxy that authenticates.

    lamr http --port 8080 --root ~/src

    lamr http --server 127.0.0.1:8001 --max-requests 16"""
    end_well_on_sigterm()
    with needs_extra("http"):
        import uvicorn
        from lamr_agents.http.app import create_app
        from lamr_agents.http.limits import HttpLimits, server_options
        from lamr_agents.local.texts import Texts
    from lamr_client import AsyncPruner
    from lamr_repositories import Using, default_cache_file

    hosts = (host, *(allowed_host or ()))
    limits = HttpLimits(max_body, max_requests, timeout, stop_timeout, hosts)

    make_pruner = partial(AsyncPruner, server, model=model, timeout=timeout, **credentials(server))
    using: Using = {"model": model, "cache": default_cache_file()}
    app = create_app(make_pruner, limits, Texts(texts) if texts else None, root, using)
    uvicorn.run(app, host=host, port=port, log_level="info", **server_options(limits))


MOST_SESSIONS = 256  # Over HTTP; one that asks nothing for half an hour ends


def mcp(
    root: Annotated[
        list[Path] | None,
        Option(
            help="A folder whose files may be read; repeatable. Default: the client's roots, or the current folder."
        ),
    ] = None,
    transport: Annotated[
        Literal["stdio", "http"], Option(help="stdio (most agents) or streamable HTTP.")
    ] = "stdio",
    host: Annotated[str, Option(help="Address to listen on, with --transport http.")] = "127.0.0.1",
    port: Annotated[int, Option("--port", "-p", help="Port for http.", min=1, max=65535)] = 8081,
    allowed_host: AllowedHosts = None,
    server: Server = None,
    model: Model = None,
    effort: Annotated[EffortName, Option(help=EFFORT_HELP)] = "auto",
    within: Within = None,
    timeout: Annotated[float, Option(help="Seconds for one pruning.", min=0.001)] = 30.0,
    cache: CacheFile = None,
    no_cache: NoCache = False,
) -> None:
    """Give agents tools that read files for a question: read_file, pack, expand, outline, search, prune_text.

    Nothing outside the roots is read, even through links. A client's own roots narrow those of --root. Over HTTP
    nothing is authenticated: listen on loopback, where web pages of other hosts are refused.

    lamr mcp --root .

    lamr mcp --transport http --port 8081"""
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

    make_pruner = partial(AsyncPruner, server, model=model, timeout=timeout, **credentials(server))
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
