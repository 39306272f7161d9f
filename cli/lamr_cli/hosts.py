"""`lamr install` and `lamr uninstall`: lamr in the settings of the agents that people use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lamr_cli.arguments import EFFORT_HELP, EffortName, Model, Profile, Server
from lamr_cli.printing import say

if TYPE_CHECKING:
    from lamr_agents.host import Host
    from lamr_agents.installing import Change, Scope


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
    bool, typer.Option("--project/--user", help="Your own settings for this folder's project, or for all.")
]
Shared = Annotated[
    bool,
    typer.Option(
        "--shared", help="The project's settings that its team checks in, with a command for all machines."
    ),
]
KeepTexts = Annotated[
    bool,
    typer.Option(
        "--keep-texts/--no-texts",
        help="Prune also what commands print of several files or of older revisions, and keep the originals of that "
        "for `lamr show`.",
    ),
]
Effort = Annotated[
    EffortName | None,
    typer.Option(
        help=f"{EFFORT_HELP} Default: instant, since an agent waits for each read; auto with --server."
    ),
]
HoldOut = Annotated[
    float,
    typer.Option(
        help="Leave this share of the sessions alone, by their names, so that `lamr agents stats` can compare sessions "
        "with cuts and without.",
        min=0.0,
        max=0.9,
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the change and make none.")]


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
    holdout: HoldOut = 0.0,
) -> None:
    """Have an agent's big reads pruned from now on.

    Puts a hook into the agent's settings, or the server of MCP where no hook can replace what a tool returns. All
    else there stays as it is. The hook starts a local server when it first needs one, which keeps the model warm and
    ends after an hour without calls. Restart the agent afterwards.

    lamr install claude-code --dry-run
    """
    from lamr_agents.hosts import HOSTS
    from lamr_agents.installing import hook_command, installed, server_command, settings_path, shared_command

    agent, scope = HOSTS[host], _scope(project, shared)
    serve = ["--server", server] if server else []
    serve += ["--model", str(model.resolve())] if model else []
    serve += [] if keep_texts or not agent.hook else ["--no-texts"]
    serve += ["--effort", effort.value] if effort else []
    serve += ["--profile", profile.value] if profile and agent.hook else []
    serve += ["--holdout", f"{holdout:g}"] if holdout and agent.hook else []
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
    """Take lamr out of an agent's settings; everything else in them stays.

    lamr uninstall claude-code
    """
    from lamr_agents.hosts import HOSTS
    from lamr_agents.installing import removed, settings_path

    agent = HOSTS[host]
    change = removed(agent, settings_path(agent, _scope(project, shared)))
    _make(agent, change, dry_run, "nothing to do: it isn't installed")


def _scope(project: bool, shared: bool) -> Scope:
    from lamr_agents.installing import Scope

    return Scope.SHARED if shared else Scope.PROJECT if project else Scope.USER


def _make(agent: Host, change: Change, dry_run: bool, nothing: str) -> None:
    if not change.is_one:
        say(f"{change.path}: {nothing}", err=True)
        return
    if dry_run:
        say(change.diff, end="")
        return
    change.write()
    done = "removed" if change.after is None else "written"
    say(f"{change.path}: {done}; restart {agent.title}", err=True)
