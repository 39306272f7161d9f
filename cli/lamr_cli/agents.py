"""`lamr install`, `uninstall`, `agents` and `show`: lamr in agents' settings, and what its hooks did there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from lamr_base.choices import EffortName
from typer import Argument, Option

from lamr_cli.arguments import EFFORT_HELP, AsJson, Model, Profile, Server, credentials
from lamr_cli.exits import SERVER_TROUBLE, end_well_on_sigterm
from lamr_cli.printing import print_exactly, say

if TYPE_CHECKING:
    from lamr_agents.host import Host
    from lamr_agents.installing import Presence, SettingsChange, SettingsScope
    from lamr_agents.local.store import LastCall


def _known(name: str) -> str:
    """Refuse a host in whose settings nothing can be put."""
    from lamr_agents.hosts import HOSTS

    names = [host.name for host in HOSTS.values() if host.settings]
    if name not in names:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(names)}.")
    return name


HostName = Annotated[str, Argument(help="The agent, such as claude-code.", metavar="HOST", callback=_known)]
Project = Annotated[
    bool,
    Option("--project/--user", help="Change your settings for this folder's project, or for all projects."),
]
Shared = Annotated[
    bool,
    Option(
        "--shared",
        help="Change the project's settings that its team checks in; the command works on all machines.",
    ),
]
KeepTexts = Annotated[
    bool,
    Option(
        "--keep-texts/--no-texts",
        help="Also prune output that shows several files or older revisions, and keep the originals for "
        "`lamr show`.",
    ),
]
Effort = Annotated[EffortName | None, Option(help=f"{EFFORT_HELP} Default: instant; auto with --server.")]
DryRun = Annotated[bool, Option("--dry-run", help="Show the change without making it.")]


def install(  # the command's options
    host: HostName,
    project: Project = False,
    shared: Shared = False,
    dry_run: DryRun = False,
    server: Server = None,
    model: Model = None,
    keep_texts: KeepTexts = True,
    effort: Effort = None,
    profile: Profile = None,
) -> None:
    """Prune an agent's big reads from now on.

    Adds a hook to the agent's settings, or the MCP server if no hook can replace what a tool returns. Nothing else
    there changes. The hook starts a local server, which keeps the model in memory and ends after an hour without calls.
    Restart the agent afterwards.

    lamr install claude-code --dry-run

    lamr install codex --project"""
    from lamr_agents.hosts import HOSTS
    from lamr_agents.installing import hook_command, installed, server_command, settings_path, shared_command

    agent, scope = HOSTS[host], _scope(project, shared)
    serve = _serving(agent, server, model, effort, profile)
    serve += [] if keep_texts or not agent.hook else ["--no-texts"]
    if agent.hook is None:
        command = server_command(serve, shared)
    elif shared:
        command = shared_command(agent.hook, serve, agent.limit)
    else:
        command = hook_command(agent.hook, serve, limit=agent.limit)
    change = installed(agent, settings_path(agent, scope), command)
    _make(agent, change, dry_run, "nothing to do: it is installed")


def _serving(
    agent: Host, server: str | None, model: Path | None, effort: EffortName | None, profile: str | None
) -> list[str]:
    """Options of the server behind a hook, or of the server of MCP."""
    serve = ["--server", server] if server else []
    serve += ["--model", str(model.resolve())] if model else []
    serve += ["--effort", effort] if effort else []
    return serve + (["--profile", profile] if profile and agent.hook else [])


def uninstall(
    host: HostName, project: Project = False, shared: Shared = False, dry_run: DryRun = False
) -> None:
    """Remove lamr from an agent's settings and end the hooks' local server. Nothing else there changes.

    lamr uninstall claude-code

    lamr uninstall codex --project --dry-run"""
    from lamr_agents.hosts import HOSTS
    from lamr_agents.installing import installed_in, removed, settings_path
    from lamr_agents.local.store import default_socket

    agent, scope = HOSTS[host], _scope(project, shared)
    change = removed(agent, settings_path(agent, scope))
    others = [
        f"--{each.value} for {path}" for each, path in installed_in(agent)[0].items() if each is not scope
    ]
    elsewhere = f"; {', '.join(others)}" if others else ""
    _make(agent, change, dry_run, f"nothing to do: it isn't installed{elsewhere}")
    if agent.hook and change.is_one and not dry_run and default_socket().is_socket():
        default_socket().unlink(missing_ok=True)  # a server whose socket is gone ends
        say("the hooks' local server ends; hooks of other agents start it again", err=True)


def status(
    store: Annotated[Path | None, Option(help="The record to read; default: your own.")] = None,
    every: Annotated[bool, Option("--all", help="Also list agents that aren't on this machine.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show which agents are on this machine, where lamr is installed, and its last call and error.

    lamr agents status

    lamr agents status --all --json"""
    from lamr_agents.hosts import HOSTS
    from lamr_agents.installing import presences

    found = presences(HOSTS, {call.host: call for call in _last_calls(store)})
    if as_json:
        say(json.dumps([_told(each) for each in found]))
        return
    shown = [each for each in found if every or each.here]
    say("\n".join(map(_line, shown)) or "no agent that lamr supports is on this machine; --all lists them")


def _line(each: Presence) -> str:
    """What is known of an agent, for people: a line, and more of them below it."""
    version = each.version or ("version unknown" if each.program else "not found")
    below = [f"installed in {path}" for path in each.installed] or ["not installed"]
    below = below if each.host.settings else []
    below += [each.trouble] if each.trouble else []
    if each.last:
        below.append(f"last call {_time(each.last.at)}")
    if each.last and each.last.failed_at:
        below.append(f"last error {_time(each.last.failed_at)}: {each.last.error}")
    below += [each.host.remark] if each.host.remark else []
    return "\n  ".join([f"{each.host.title} {version}, {each.host.way.value} ({each.host.name})", *below])


def _told(each: Presence) -> dict[str, Any]:
    """What is known of an agent, for machines."""
    host, last = each.host, each.last
    about: dict[str, Any] = {"agent": host.name, "title": host.title, "way": host.way.value}
    about |= {"tried_with": host.version, "tried_on": host.on, "program": each.program}
    about |= {"version": each.version, "installed": list(map(str, each.installed)), "trouble": each.trouble}
    failed = last if last and last.failed_at else None
    calls = {"last_call": _time(last.at) if last else None, "last_error": failed.error if failed else None}
    return {**about, **calls, "last_error_at": _time(last.failed_at) if last and last.failed_at else None}


def _last_calls(store: Path | None) -> Sequence[LastCall]:
    from lamr_agents.local.store import Store, default_store

    path = store or default_store()
    if not path.exists():
        return ()
    with closing(Store(path)) as opened:
        return opened.last_calls()


def _time(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().isoformat(" ", "seconds")


def _scope(project: bool, shared: bool) -> SettingsScope:
    from lamr_agents.installing import SettingsScope

    return SettingsScope.SHARED if shared else SettingsScope.PROJECT if project else SettingsScope.USER


def _make(agent: Host, change: SettingsChange, dry_run: bool, nothing: str) -> None:
    if not dry_run:
        change.write()  # even where there is nothing to do: a run that was killed may have left something
    if not change.is_one:
        say(f"{change.path}: {nothing}", err=True)
        return
    if dry_run:
        say(change.diff, end="")
        return
    done = "removed" if change.after is None else "written"
    say(f"{change.path}: {done}; restart {agent.title}", err=True)


app = typer.Typer(
    name="agents", help="Show what hooks did, and run their local server.", no_args_is_help=True
)


def show(
    place: Annotated[
        str,
        Argument(
            help="The key at the end of a cut text, with or without lines.", metavar="KEY[:FIRST[-LAST]]"
        ),
    ],
    texts: Annotated[Path | None, Option(help="File that keeps the texts; default: your own.")] = None,
) -> None:
    """Print lines that were cut from an agent's tool output and are in no file.

    Texts are kept for 7 days, and 128 MiB of them in all, in ~/.cache/lamr/agents/texts.sqlite3.

    lamr show 3fa9c1d2e4b7:155-326

    lamr show 3fa9c1d2e4b7"""
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


@app.command("test")
def try_out(
    host: Annotated[str, Argument(help="The agent, such as claude-code.", metavar="HOST", callback=_known)],
    file: Annotated[Path | None, Argument(help="A file that the agent reads.", metavar="[FILE]")] = None,
    query: Annotated[str, Option("--query", "-q", help="What the agent is looking for in the file.")] = "",
    payload: Annotated[
        Path | None, Option(help="Instead of a file: what the agent gave its hook, as JSON.")
    ] = None,
    server: Server = None,
    model: Model = None,
    effort: Effort = None,
    profile: Profile = None,
    as_json: AsJson = False,
) -> None:
    """Show what an agent would get of a file, and how long it would wait. The agent isn't needed.

    A hook runs as the agent would run it, with a server and a record of its own. What the agent would see goes to
    standard output, the rest to standard error. The exit code is 3 if pruning failed.

    lamr agents test claude-code src/server.py -q "How are timeouts handled?"

    lamr agents test codex --payload call.json"""
    from lamr_agents.hosts import HOSTS
    from lamr_agents.installing import installed_in
    from lamr_agents.installing.hook_run import try_hook

    agent = HOSTS[host]
    if agent.hook is None or (file is None) == (payload is None) or (file and not query):
        raise typer.BadParameter("give an agent with a hook, and FILE with -q, or --payload")
    serve = _serving(agent, server, model, effort, profile)
    tried = try_hook(agent, file, query, payload.read_bytes() if payload else b"", serve)
    places = [str(path) for path in installed_in(agent)[0].values()]
    if as_json:
        say(json.dumps({**asdict(tried), "installed": places}))
    else:
        print_exactly(tried.shown)
        where = f"installed in {', '.join(places)}" if places else f"not installed: lamr install {host}"
        say(f"{tried.summary}\n{where}", err=True)
    if tried.failed:
        raise typer.Exit(SERVER_TROUBLE)


@app.command("serve")
def serve(
    socket: Annotated[Path | None, Option(help="Socket to listen on; default: your own private one.")] = None,
    store: Annotated[Path | None, Option(help="The record to write; default: your own.")] = None,
    server: Server = None,
    model: Model = None,
    timeout: Annotated[float, Option(help="Most seconds for one pruning.", min=0.1)] = 7.0,
    texts: Annotated[
        Path | None, Option(help="File that keeps originals of output; default: your own.")
    ] = None,
    keep_texts: KeepTexts = True,
    effort: Effort = None,
    profile: Profile = None,
    idle: Annotated[float, Option(help="Stop after so many seconds without a call.", min=1)] = 3600.0,
) -> None:
    """Run the local server that answers hooks. Hooks start it themselves.

    lamr agents serve --idle 60

    lamr agents serve --server 127.0.0.1:8001 --profile balanced"""
    end_well_on_sigterm()
    from lamr_agents.local.server import LocalServer
    from lamr_agents.local.store import Store, check_socket, default_socket, default_store
    from lamr_agents.local.texts import Archive, Texts, default_texts, show_command
    from lamr_agents.policy import DEFAULT, PROFILES
    from lamr_client import Pruner

    path = check_socket(socket or default_socket())
    archive = Archive(Texts(texts or default_texts()), show_command(texts)) if keep_texts else None
    record = Store(store or default_store())
    # Without a server's help a quarter of a second of reading brings nothing to reads in sessions (docs/effort.md).
    chosen = effort or ("auto" if server else "instant")
    make_pruner = partial(Pruner, server, model=model, timeout=timeout, retries=0, **credentials(server))
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
    store: Annotated[Path | None, Option(help="The record to read; default: your own.")] = None,
    days: Annotated[float, Option(help="Days to count, up to the 90 that are kept.", min=0)] = 90.0,
    as_json: AsJson = False,
) -> None:
    """Show how many tokens hooks cut, how many agents read again, and how long agents waited.

    lamr agents stats --days 7

    lamr agents stats --json"""
    import time

    from lamr_agents.local.store import Store, default_store
    from lamr_agents.stats import table, to_json

    path = store or default_store()
    if not path.exists():
        say(f"{path}: no results yet; see `lamr install claude-code`", err=True)
        raise typer.Exit(2)
    with closing(Store(path)) as opened:
        decisions = opened.decisions(time.time() - days * 86_400)
    if not decisions:
        say(f"{path}: no result in the last {days:g} days", err=True)
        raise typer.Exit(2)
    say(to_json(decisions) if as_json else table(decisions))
