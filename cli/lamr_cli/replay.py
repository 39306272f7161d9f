"""`lamr replay`: what pruning would have saved in one's own sessions, and what it would have cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from lamr_contract.admission import TIMEOUT_SECONDS

from lamr_cli.arguments import Model, Server, Timeout
from lamr_cli.credentials import credentials
from lamr_cli.pages import write_page
from lamr_cli.printing import say
from lamr_cli.progress import bar

if TYPE_CHECKING:
    from collections.abc import Callable

    from lamr_agents.replay import Replayed


def replay(
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
    threshold: Annotated[
        float | None,
        typer.Option(help="Keep lines that score at least this; default: the model's own.", min=0, max=1),
    ] = None,
    server: Server = None,
    model: Model = None,
    timeout: Timeout = TIMEOUT_SECONDS,
    as_json: Annotated[bool, typer.Option("--json", help="Print every read as JSON.")] = False,
) -> None:
    """Replay recorded sessions of agents as if their big reads had been pruned.

    Each read of a source file is pruned for what the agent said before it. The rest of the session then tells what
    the cut would have cost: lines that were later edited, quoted, or read again by range. Savings and costs are in
    dollars by a price table and as shares of the session's bill. Nothing leaves this machine unless --server names
    another one.

    lamr replay ~/.claude/projects --html replay.html
    """
    from lamr_agents.policy import Policy
    from lamr_agents.replay import Report, bundled_prices, find_logs, read_prices, replay_log
    from lamr_client import Pruner

    table = read_prices(prices) if prices else bundled_prices()
    logs = sorted(find_logs(paths or []), key=lambda log: log.stat().st_mtime, reverse=True)
    with Pruner(server, model=model, timeout=timeout, **credentials(server)) as pruner, bar() as progress:

        def replay_one(log: Path) -> Replayed | None:
            return replay_log(log, pruner, table, Policy(threshold=threshold))

        replayed, passed_over = _replayed(logs, limit, replay_one, progress)
    report = Report(tuple(replayed), tuple(passed_over))
    if not replayed:
        say(f"none of {len(logs)} files is a session of a known host that holds a request", err=True)
        raise typer.Exit(2)
    say(report.to_json() if as_json else report.table())
    if len(logs) > len(replayed) + len(passed_over):
        say(f"the latest {len(replayed)} sessions; --limit takes more", err=True)
    if html:
        from lamr_agents.replay.page import render_page

        write_page(html, render_page(report))
        say(f"{html}: {sum(len(session.reads) for session in replayed)} reads", err=True)


def _replayed(
    logs: list[Path],
    limit: int,
    replay_one: Callable[[Path], Replayed | None],
    progress: Callable[[str, int, int], None],
) -> tuple[list[Replayed], list[Path]]:
    replayed: list[Replayed] = []
    passed_over: list[Path] = []
    most = min(limit, len(logs))
    for log in logs:
        if len(replayed) == limit:
            break
        session = replay_one(log)
        if session is None:
            passed_over.append(log)
        elif session.reads:
            replayed.append(session)
        progress("sessions", len(replayed), most)
    return replayed, passed_over
