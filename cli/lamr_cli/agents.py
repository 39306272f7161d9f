"""`lamr agents` and `lamr show`: what hooks did so far, and the local server behind them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from lamr_cli.arguments import Model, Profile, Server, credentials
from lamr_cli.exits import end_well_on_sigterm
from lamr_cli.hosts import Effort, KeepTexts, status
from lamr_cli.printing import print_exactly, say

app = typer.Typer(
    name="agents", help="Show what hooks did, and run their local server.", no_args_is_help=True
)


def show(
    place: Annotated[
        str,
        typer.Argument(
            help="The key at the end of a cut text, with or without lines.", metavar="KEY[:FIRST[-LAST]]"
        ),
    ],
    texts: Annotated[Path | None, typer.Option(help="The file with the texts; default: your own.")] = None,
) -> None:
    """Print lines that were cut from an agent's tool output and are in no file.

    Texts are kept for 7 days, and 128 MiB of them in all, in ~/.cache/lamr/agents/texts.sqlite3.

    lamr show 3fa9c1d2e4b7:155-326

    lamr show 3fa9c1d2e4b7
    """
    from lamr_agents.local.store import Store, StoreError, default_store
    from lamr_agents.local.texts import Place, Texts, default_texts
    from lamr_postprocess import approximate_tokens

    wanted = Place.parse(place)
    path = texts or default_texts()
    if not path.exists():
        say(f"{path}: no texts are kept here", err=True)
        raise typer.Exit(2)
    lines = Texts(path).lines(wanted)
    print_exactly(lines)
    if (record := path.with_name(default_store().name)).exists():
        with suppress(StoreError):  # the lines are what was asked for
            Store(record).show(wanted.key, approximate_tokens(lines))


app.command("status")(status)


@app.command("serve")
def serve(
    socket: Annotated[
        Path | None, typer.Option(help="Socket to listen on; default: your own private one.")
    ] = None,
    store: Annotated[Path | None, typer.Option(help="The record to write; default: your own.")] = None,
    server: Server = None,
    model: Model = None,
    timeout: Annotated[float, typer.Option(help="Most seconds for one pruning.", min=0.1)] = 7.0,
    texts: Annotated[
        Path | None, typer.Option(help="File that keeps originals of command output; default: your own.")
    ] = None,
    keep_texts: KeepTexts = True,
    effort: Effort = None,
    profile: Profile = None,
    idle: Annotated[float, typer.Option(help="Stop after so many seconds without a call.", min=1)] = 3600.0,
) -> None:
    """Run the local server that answers hooks. Hooks start it themselves.

    lamr agents serve --idle 60

    lamr agents serve --server 127.0.0.1:8001 --profile balanced
    """
    end_well_on_sigterm()
    from lamr_agents.local.server import LocalServer
    from lamr_agents.local.store import Store, check_socket, default_socket, default_store
    from lamr_agents.local.texts import Archive, Texts, default_texts, show_command
    from lamr_agents.policy import DEFAULT, PROFILES
    from lamr_client import Pruner

    def make_pruner() -> Pruner:
        return Pruner(server, model=model, timeout=timeout, retries=0, **credentials(server))

    path = check_socket(socket or default_socket())
    archive = Archive(Texts(texts or default_texts()), show_command(texts)) if keep_texts else None
    record = Store(store or default_store())
    # Without a server's help a quarter of a second of reading brings nothing to reads in sessions (docs/effort.md).
    chosen = effort or ("auto" if server else "instant")
    local = LocalServer(
        *(path, record, make_pruner),
        archive=archive,
        seconds=timeout,
        effort=chosen,
        policy=PROFILES[profile if profile else DEFAULT],
    )
    if not local.run(idle):
        say(f"{path}: another server already listens there", err=True)
        raise typer.Exit(2)


@app.command("stats")
def stats(
    store: Annotated[Path | None, typer.Option(help="The record to read; default: your own.")] = None,
    days: Annotated[float, typer.Option(help="Days to count, up to the 90 that are kept.", min=0)] = 90.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")] = False,
) -> None:
    """Show how many tokens hooks cut, how many agents read again, and how long agents waited.

    lamr agents stats --days 7

    lamr agents stats --json
    """
    import time

    from lamr_agents.local.store import Store, default_store
    from lamr_agents.stats import table, to_json

    path = store or default_store()
    if not path.exists():
        say(f"{path}: no results yet; see `lamr install claude-code`", err=True)
        raise typer.Exit(2)
    opened = Store(path)
    decisions = opened.decisions(time.time() - days * 86_400)
    opened.close()
    if not decisions:
        say(f"{path}: no result in the last {days:g} days", err=True)
        raise typer.Exit(2)
    say(to_json(decisions) if as_json else table(decisions))
