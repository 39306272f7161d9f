"""`python -m benchmarks.pays`: takes recorded sessions out of mirrors, and measures profiles on them.

    python -m benchmarks.pays logs --mirrors MIRRORS --into LOGS     # MIRRORS holds git directories OWNER+NAME/repo
    python -m benchmarks.pays measure LOGS --split test --json pays.json

Scores of lines are kept in the cache.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from lamr_agents.policy import DEFAULT, PROFILES, Policy
from lamr_agents.replay import (
    NoSessionError,
    Recorded,
    Replayed,
    Report,
    ScoredOnce,
    Way,
    bundled_prices,
    model_of,
    pruned,
    record_of,
    replay,
)
from lamr_client import Pruner
from lamr_contract.cache import Cache
from lamr_contract.spec import bundled_repository

from benchmarks.pays.logs import projects, write_logs
from benchmarks.pays.rules import loss_table, with_rules
from benchmarks.pays.silent import Silent


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 1 where a mirror lacks logs."""
    parser = argparse.ArgumentParser(prog="benchmarks.pays", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    taking = commands.add_parser("logs", help="take the sessions of the table out of git mirrors")
    taking.add_argument("--mirrors", type=Path, required=True)
    taking.add_argument("--into", type=Path, required=True)
    measuring = commands.add_parser("measure", help="compare profiles on a split")
    measuring.add_argument("logs", type=Path)
    measuring.add_argument("--split", choices=("fit", "test"), default="test")
    measuring.add_argument("--cache", type=Path, help="keeps scores of lines; default: nothing is kept")
    measuring.add_argument("--json", type=Path, help="write all figures there")
    options = parser.parse_args(arguments)
    if options.command == "logs":
        return _take(options.mirrors, options.into)
    return _measure(options)


def _take(mirrors: Path, into: Path) -> int:
    lacking = 0
    for project, written, missing in write_logs(mirrors, into):
        print(f"{project.repository}: {written} logs" + (f", {missing} lacking" if missing else ""))
        lacking += missing
    return 1 if lacking else 0


def _measure(options: argparse.Namespace) -> int:
    prices = bundled_prices()
    with ExitStack() as stack:
        asking = stack.enter_context(Pruner())
        cache = stack.enter_context(Cache(options.cache, lambda note: print(note, file=sys.stderr)))
        pruner = ScoredOnce(asking, model_of(asking, bundled_repository(), None), cache)
        compared = _compared(pruner)
        done: list[Replayed] = []
        for repository, session in _sessions(options.logs, options.split):
            about = replace(session.about, folder=repository)
            done.append(replay(replace(session, about=about), compared, prices.hour))
            print(f"{len(done)} sessions", end="\r", file=sys.stderr)
    report = Report(tuple(done))
    print(report.table(), loss_table(report.sessions), sep="\n\n")
    if options.json:
        options.json.write_text(report.to_json(), encoding="utf-8")
    return 0


def _compared(pruner: ScoredOnce) -> list[Way]:
    """The profiles and rules, and the default profile without parts of it."""
    policy = PROFILES[DEFAULT]
    return [
        *with_rules(pruner, policy),
        pruned(f"{DEFAULT}, all shown again", pruner, replace(policy, repeats=True)),
        pruned(f"{DEFAULT}, without history", Silent(pruner), policy),
        pruned("eager, all shown again", pruner, Policy()),
    ]


def _sessions(logs: Path, split: str) -> Iterator[tuple[str, Recorded]]:
    """The sessions of a split with their repositories; logs whose results lack their calls can't be told from it."""
    for project in projects():
        for name in project.logs if project.split == split else ():
            file = logs / project.folder / f"{name}.jsonl"
            try:
                session = record_of(file, bundled_prices())
            except NoSessionError:
                continue
            calls = {event.call for event in session.events if event.kind == "call"}
            results = [
                event.call in calls or not event.call for event in session.events if event.kind == "result"
            ]
            if 2 * sum(results) >= len(results):
                yield project.repository, session


if __name__ == "__main__":
    sys.exit(main())
