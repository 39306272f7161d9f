"""`lamr replay`: what pruning would have saved in one's own sessions, and what it would have cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from lamr_base.admission import TIMEOUT_SECONDS
from lamr_base.choices import EffortName
from typer import Argument, Option

from lamr_cli.arguments import EFFORT_HELP, AsJson, Model, Profile, Server, Timeout, credentials
from lamr_cli.printing import bar, say, write_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from lamr_agents.policy import Policy
    from lamr_agents.replay import PriceTable, Replayed, Report
    from lamr_client import Pruner


def replay(  # one argument an option
    paths: Annotated[
        list[Path] | None,
        Argument(
            help="Logs, or folders with logs; default: those of Claude Code, Codex, pi, Gemini CLI and Copilot CLI in "
            "your home.",
            metavar="[LOG|FOLDER]...",
        ),
    ] = None,
    prices: Annotated[Path | None, Option(help="Price table in TOML; default: lamr's list prices.")] = None,
    html: Annotated[Path | None, Option(help="Also write a page that shows each read and its cuts.")] = None,
    limit: Annotated[int, Option(help="The most sessions to replay, the latest first.", min=1)] = 50,
    profile: Profile = None,
    effort: Annotated[
        EffortName | None,
        Option(help=f"{EFFORT_HELP} Default: instant, as in hooks; auto with --server."),
    ] = None,
    server: Server = None,
    model: Model = None,
    timeout: Timeout = TIMEOUT_SECONDS,
    as_json: AsJson = False,
) -> None:
    """Replay recorded sessions of agents as if their big reads had been pruned.

    Each big read of a source file is pruned for the agent's last words before it. The rest of the session tells what
    the cut would have cost: lines that were later edited or quoted would have been read again. Savings and costs are
    shares of the cost of all sessions by a price table, if the log says what its requests read. Nothing leaves this
    machine unless --server names another one.

    lamr replay ~/.claude/projects --html replay.html

    lamr replay --limit 10 --profile careful"""
    from lamr_agents.policy import DEFAULT, PROFILES
    from lamr_agents.replay import bundled_prices, find_logs, read_prices
    from lamr_client import Pruner

    table = read_prices(prices) if prices else bundled_prices()
    logs = sorted(find_logs(paths or []), key=lambda log: log.stat().st_mtime, reverse=True)
    with Pruner(server, model=model, timeout=timeout, **credentials(server)) as pruner, bar() as progress:
        chosen = effort or ("auto" if server else "instant")
        report = _report(logs, limit, table, (pruner, PROFILES[profile or DEFAULT], chosen), progress)
    if not report.sessions:
        say(f"none of {len(logs)} files was replayed\n{report.said_of_others()}", err=True)
        raise typer.Exit(2)
    say(report.to_json() if as_json else report.table())
    if len(logs) > len(report.sessions) + len(report.passed_over):
        say(f"replayed the latest {len(report.sessions)} sessions; --limit takes more", err=True)
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
