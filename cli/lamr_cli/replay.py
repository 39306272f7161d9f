"""`lamr replay`: what pruning would have saved in one's own sessions, and what it would have cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from lamr_base.admission import TIMEOUT_SECONDS
from lamr_base.choices import EffortName

from lamr_cli.arguments import EFFORT_HELP, Model, Profile, Server, Timeout, credentials
from lamr_cli.printing import bar, say, write_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from lamr_agents.policy import Policy
    from lamr_agents.replay import PriceTable, Replayed, Report
    from lamr_client import Pruner


def replay(  # one argument an option
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Logs, or folders that hold some; default: those of Claude Code, Codex, pi, Gemini CLI and Copilot "
            "CLI in your home.",
            metavar="[LOG|FOLDER]...",
        ),
    ] = None,
    prices: Annotated[
        Path | None, typer.Option(help="A price table in TOML; default: list prices that come with lamr.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(help="Write a page on which each read can be opened, with cuts and regret in colour."),
    ] = None,
    limit: Annotated[int, typer.Option(help="Replay so many sessions, the latest first.", min=1)] = 50,
    profile: Profile = None,
    effort: Annotated[
        EffortName | None,
        typer.Option(help=f"{EFFORT_HELP} Default: as hooks have it, instant, or auto with --server."),
    ] = None,
    server: Server = None,
    model: Model = None,
    timeout: Timeout = TIMEOUT_SECONDS,
    as_json: Annotated[bool, typer.Option("--json", help="Print every read as JSON.")] = False,
) -> None:
    """Replay recorded sessions of agents as if their big reads had been pruned.

    Each read of a source file is pruned for what the agent said before it. The rest of the session then tells what
    the cut would have cost: lines that were later edited or quoted would have had to be read again. Savings and costs
    are shares of what all sessions cost by a price table, those without a big read among them; a log that doesn't say
    what its requests read has none. Nothing leaves this machine unless --server names another one.

    lamr replay ~/.claude/projects --html replay.html

    lamr replay --limit 10 --profile careful
    """
    from lamr_agents.policy import DEFAULT, PROFILES
    from lamr_agents.replay import bundled_prices, find_logs, read_prices
    from lamr_client import Pruner

    table = read_prices(prices) if prices else bundled_prices()
    logs = sorted(find_logs(paths or []), key=lambda log: log.stat().st_mtime, reverse=True)
    with Pruner(server, model=model, timeout=timeout, **credentials(server)) as pruner, bar() as progress:
        chosen = effort or ("auto" if server else "instant")
        report = _report(logs, limit, table, (pruner, PROFILES[profile or DEFAULT], chosen), progress)
    if not report.sessions:
        say(f"nothing of {len(logs)} files was replayed\n{report.said_of_others()}", err=True)
        raise typer.Exit(2)
    say(report.to_json() if as_json else report.table())
    if len(logs) > len(report.sessions) + len(report.passed_over):
        say(f"the latest {len(report.sessions)} sessions; --limit takes more", err=True)
    if html:
        from lamr_agents.replay.report import render_page

        write_page(html, render_page(report))
        say(f"{html}: {sum(len(session.reads) for session in report.sessions)} reads", err=True)


def _report(
    logs: list[Path],
    limit: int,
    table: PriceTable,
    hooks: tuple[Pruner, Policy, EffortName],
    progress: Callable[[str, int, int], None],
) -> Report:
    """Replay the latest sessions, the oldest of them first, so that what others copy of it is counted once."""
    from lamr_agents.replay import NoSessionError, Report, record_of, replay, shown_by_hooks

    passed_over: dict[Path, str] = {}
    latest: list[Path] = []
    for log in logs:
        if len(latest) == limit:
            break
        try:
            record_of(log, table)
        except NoSessionError as error:
            passed_over[log] = str(error)
        except OSError as error:
            passed_over[log] = f"it can't be read ({error.strerror or error})"
        else:
            latest.append(log)
        progress("logs", len(latest), min(limit, len(logs)))
    replayed: list[Replayed] = []
    known: set[str] = set()
    for done, log in enumerate(reversed(latest), 1):
        try:
            recorded = record_of(log, table, known)
        except NoSessionError as error:
            passed_over[log] = str(error)
        else:
            known.update(request.answer for request in recorded.bill.requests)
            replayed.append(replay(recorded, shown_by_hooks(recorded, *hooks)))
        progress("sessions", done, len(latest))
    return Report(tuple(reversed(replayed)), passed_over)
