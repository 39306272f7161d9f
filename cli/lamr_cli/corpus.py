"""`lamr corpus`: training records out of packages, git histories or sessions of agents; one command for each source."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from lamr_training.made.settings import OF_PACKAGES, MadeSettings

from lamr_cli.printing import bar, say

app = typer.Typer(
    name="corpus",
    no_args_is_help=True,
    help="Make training records, without a model: from packages, git histories or agents' sessions.\n\n"
    "Projects that evaluations use and licences that aren't permissive are refused. The same manifest and seed give "
    "the same records.",
)
Output = Annotated[
    Path, typer.Option("--output", "-o", help="Folder to write the records and their manifest into.")
]
Manifest = Annotated[
    Path | None,
    typer.Option(help="JSON file of what is read, as an earlier run wrote it; default: that of lamr-mini."),
]
Downloads = Annotated[
    Path | None, typer.Option(help="Folder for what is downloaded; default: the user's cache folder.")
]
Mirror = Annotated[
    Path | None, typer.Option(help="Folder of bare repositories named owner+name; default: clones them.")
]
Apart = Annotated[
    Path | None, typer.Option(help="Evaluation items: files much like one of theirs are left out.")
]
Seed = Annotated[int, typer.Option(help="Seed of every random choice.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the numbers of records as JSON.")]


@app.command("packages")
def packages(
    names: Annotated[
        list[str] | None, typer.Argument(help="Projects on PyPI to train on.", metavar="NAME")
    ] = None,
    *,
    output: Output,
    validation: Annotated[
        list[str] | None,
        typer.Option(help="A project to validate on, repeatable; default: one in ten of the names."),
    ] = None,
    manifest: Manifest = None,
    made: Annotated[int, typer.Option(help="Most records of a project.", min=1)] = OF_PACKAGES.per_project,
    per_file: Annotated[int, typer.Option(help="Most records of a file.", min=1)] = OF_PACKAGES.per_file,
    min_lines: Annotated[int, typer.Option(help="Shortest file.", min=1)] = OF_PACKAGES.min_lines,
    windows: Annotated[
        float, typer.Option(help="Share of records that show part of their file only.", min=0, max=1)
    ] = OF_PACKAGES.windows,
    downloads: Downloads = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Ask about the files of Python packages, which pip downloads.

    Queries are made of docstrings, names, comments, error messages and calls.
    The lines that answer follow from the syntax tree. Records are split by
    project.

    lamr corpus packages aiohttp attrs --validation loguru -o records
    """
    from dataclasses import replace

    from lamr_contract.private_files import cache_folder
    from lamr_evaluation.wheels import WHEELS
    from lamr_training.packages.build import build_packages, choose_splits, fetch, read_manifest

    if manifest is not None and names:
        raise typer.BadParameter("give names or --manifest, not both")
    if validation and not names:
        raise typer.BadParameter("--validation goes with names to train on")
    settings = replace(
        OF_PACKAGES,
        per_project=made,
        per_file=per_file,
        min_lines=min_lines,
        windows=windows,
        seed=seed,
    )
    store = downloads or cache_folder() / WHEELS
    with bar() as progress:
        chosen = read_manifest(manifest) if manifest else None
        if names:
            splits = choose_splits(names, validation or [])
            chosen = [p for split, named in splits.items() for p in fetch(named, store, split, progress)]
        counts = build_packages(store, output, packages=chosen, settings=settings, progress=progress)
    _report(counts, output, "manifest.json", as_json)


@app.command("histories")
def histories(
    output: Output,
    manifest: Manifest = None,
    mirror: Mirror = None,
    edits: Annotated[int, typer.Option(help="Most edits of one repository's history.", min=1)] = 400,
    made: Annotated[
        int, typer.Option(help="Most made questions about one repository's files.", min=0)
    ] = MadeSettings.per_project,
    apart: Apart = None,
    downloads: Downloads = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Ask what commits say; the lines that answer are those that the commit changed.

    Files are shown as they were before. Questions about the files of the
    manifest's commits go to files of their own: those made of comments, names
    and messages to made.jsonl, written ones to written.jsonl. What an earlier
    run finished is not made again.

    lamr corpus histories --made 10 -o records
    """
    from lamr_training.histories.build import HistorySettings, build_histories
    from lamr_training.records.manifest import bundled_histories, read_histories
    from lamr_training.records.parts import Repositories

    rows = read_histories(manifest) if manifest else bundled_histories()
    questions = MadeSettings(per_project=made, seed=seed)
    settings = HistorySettings(per_repository=edits, made=questions, seed=seed)
    repositories = Repositories(rows, _place(mirror, downloads), apart)
    with bar() as progress:
        counts = build_histories(repositories, output, settings=settings, progress=progress)
    _report(counts, output, "histories.json", as_json)


@app.command("sessions")
def sessions(
    output: Output,
    manifest: Manifest = None,
    mirror: Mirror = None,
    apart: Apart = None,
    downloads: Downloads = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Ask what agents said before they read a file, from their recorded sessions.

    The lines that answer are those that the agent edited, quoted or read again
    later. What an earlier run finished is not made again.

    lamr corpus sessions -o records
    """
    from lamr_training.records.manifest import bundled_sessions, read_histories
    from lamr_training.records.parts import Repositories
    from lamr_training.sessions.build import SessionSettings, build_sessions

    rows = read_histories(manifest) if manifest else bundled_sessions()
    repositories = Repositories(rows, _place(mirror, downloads), apart)
    with bar() as progress:
        counts = build_sessions(repositories, output, settings=SessionSettings(seed=seed), progress=progress)
    _report(counts, output, "sessions.json", as_json)


def _place(mirror: Path | None, downloads: Path | None) -> Callable[[str], Path]:
    """What gives the git directory of `owner/name`: a mirror, or a clone in the cache."""
    from lamr_contract.private_files import cache_folder
    from lamr_evaluation.mirrors import clone, locate

    if mirror:
        return functools.partial(locate, folder=mirror)
    return functools.partial(clone, folder=downloads or cache_folder() / "repositories")


def _report(counts: dict[str, int], output: Path, manifest: str, as_json: bool) -> None:
    if as_json:
        say(json.dumps(counts))
    else:
        parts = [f"{count:,} {name}" for name, count in counts.items()]
        say(f"{' · '.join(parts)} records in {output}; what was read is in {output / manifest}")
