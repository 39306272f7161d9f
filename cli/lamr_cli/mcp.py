"""`lamr mcp`: the pruner as a server of the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from lamr_contract.choices import EffortName

from lamr_cli.arguments import EFFORT_HELP, CacheFile, Model, NoCache, Server, Within, cache_file, credentials
from lamr_cli.exits import end_well_on_sigterm, needs_extra

MOST_SESSIONS = 256
"""Over HTTP; one that asks nothing for half an hour ends."""


Way = Literal["stdio", "http"]


def mcp(
    root: Annotated[
        list[Path] | None,
        typer.Option(
            help="A folder whose files may be read; default: the client's roots, or else the current one."
        ),
    ] = None,
    transport: Annotated[
        Way, typer.Option(help="stdio, as most agents start it, or streamable HTTP.")
    ] = "stdio",
    host: Annotated[str, typer.Option(help="Address to listen on, with --transport http.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", help="Port, with --transport http.", min=1, max=65535)
    ] = 8081,
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
    """
    end_well_on_sigterm(at_once=transport == "stdio")
    with needs_extra("mcp"):
        import uvicorn
        from lamr_agents.http.connections import server_options
        from lamr_agents.http.limits import Limits
        from lamr_agents.mcp.packing import Packer
        from lamr_agents.mcp.roots import Reach
        from lamr_agents.mcp.server import create_server
    from lamr_agents.workspace import Workspace
    from lamr_client import AsyncPruner, Pruner
    from lamr_repositories import PackOptions, default_cache_file

    kept = cache_file(cache, no_cache, default_cache_file())

    def make_pruner() -> AsyncPruner:
        return AsyncPruner(server, model=model, timeout=timeout, **credentials(server))

    def make_packing() -> Pruner:
        return Pruner(server, model=model, timeout=timeout, cache=kept, **credentials(server))

    folders = Workspace(root or [Path.cwd()]).roots
    reach = Reach(folders, not root and transport == "stdio")
    options = PackOptions(effort=effort, within=within)
    packer = Packer(make_packing, {"model": model, "server": server, "cache": kept, "options": options})
    made = create_server(reach, make_pruner, packer, effort, within)
    if transport == "stdio":
        made.run("stdio")
    else:
        app = made.streamable_http_app(host=host, max_sessions=MOST_SESSIONS)
        uvicorn.run(app, host=host, port=port, log_level="warning", **server_options(Limits()))
