"""`lamr install`, `lamr uninstall` and `lamr agents status`: lamr in the settings of the agents that people use."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from lamr_base.choices import EffortName

from lamr_cli.arguments import EFFORT_HELP, Model, Profile, Server
from lamr_cli.printing import say

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


HostName = Annotated[
    str, typer.Argument(help="The agent, such as claude-code.", metavar="HOST", callback=_known)
]
Project = Annotated[
    bool,
    typer.Option(
        "--project/--user", help="Change your settings for this folder's project, or for all projects."
    ),
]
Shared = Annotated[
    bool,
    typer.Option(
        "--shared",
        help="Change the project's settings that its team checks in; the command works on all machines.",
    ),
]
KeepTexts = Annotated[
    bool,
    typer.Option(
        "--keep-texts/--no-texts",
        help="Also prune output that shows several files or older revisions, and keep the originals for "
        "`lamr show`.",
    ),
]
Effort = Annotated[
    EffortName | None,
    typer.Option(help=f"{EFFORT_HELP} Default: instant; auto with --server."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the change without making it.")]


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

    lamr install codex --project
    """
    from lamr_agents.hosts import HOSTS
    from lamr_agents.installing import hook_command, installed, server_command, settings_path, shared_command

    agent, scope = HOSTS[host], _scope(project, shared)
    serve = ["--server", server] if server else []
    serve += ["--model", str(model.resolve())] if model else []
    serve += [] if keep_texts or not agent.hook else ["--no-texts"]
    serve += ["--effort", effort] if effort else []
    serve += ["--profile", profile] if profile and agent.hook else []
    if agent.hook is None:
        command = server_command(serve, shared)
    elif shared:
        command = shared_command(agent.hook, serve)
    else:
        command = hook_command(agent.hook, serve)
    change = installed(agent, settings_path(agent, scope), command)
    _make(agent, change, dry_run, "nothing to do: it is installed")


def uninstall(
    host: HostName, project: Project = False, shared: Shared = False, dry_run: DryRun = False
) -> None:
    """Remove lamr from an agent's settings and end the hooks' local server. Nothing else there changes.

    lamr uninstall claude-code

    lamr uninstall codex --project --dry-run
    """
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
    store: Annotated[Path | None, typer.Option(help="The record to read; default: your own.")] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also list agents that aren't on this machine.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print everything about each agent as JSON.")
    ] = False,
) -> None:
    """Show which agents are on this machine, where lamr is installed, and its last call and error.

    lamr agents status

    lamr agents status --all --json
    """
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
    return {
        "agent": host.name,
        "title": host.title,
        "way": host.way.value,
        "tried_with": host.version,
        "tried_on": host.on,
        "program": each.program,
        "version": each.version,
        "installed": list(map(str, each.installed)),
        "trouble": each.trouble,
        "last_call": _time(last.at) if last else None,
        "last_error": last.error if last and last.failed_at else None,
        "last_error_at": _time(last.failed_at) if last and last.failed_at else None,
    }


def _last_calls(store: Path | None) -> Sequence[LastCall]:
    from lamr_agents.local.store import Store, default_store

    path = store or default_store()
    if not path.exists():
        return ()
    opened = Store(path)
    try:
        return opened.last_calls()
    finally:
        opened.close()


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
