"""`lamr corpus`: training records out of permissively licensed packages, git histories or sessions of agents."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from lamr_training.corpus.settings import CorpusSettings

from lamr_cli.printing import say
from lamr_cli.progress import bar

DEFAULTS = CorpusSettings()
Place = Callable[[str], Path]
"""Gives the git directory of `owner/name`."""


def corpus(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write records and manifest into.")],
    packages: Annotated[
        list[str] | None,
        typer.Option("--packages", "-p", help="Projects on PyPI to train on, comma-separated. Repeatable."),
    ] = None,
    validation: Annotated[
        list[str] | None,
        typer.Option(help="Projects to validate on; default with --packages: one in ten of them."),
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(help="A manifest.json of an earlier run: fetches the very same files."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Folder for downloaded packages and clones; default: the user's cache folder."),
    ] = None,
    histories: Annotated[
        str | None,
        typer.Option(
            metavar="MANIFEST",
            help="Make records from git histories: a manifest of repositories, or `bundled` for those of lamr-mini.",
        ),
    ] = None,
    sessions: Annotated[
        str | None,
        typer.Option(
            metavar="MANIFEST",
            help="Make records from agents' recorded sessions: a manifest of repositories with logs, or `bundled`.",
        ),
    ] = None,
    mirror: Annotated[
        Path | None,
        typer.Option(
            help="Folder of bare repositories named owner+name, with --histories or --sessions; default: clones them."
        ),
    ] = None,
    edits: Annotated[int, typer.Option(help="Most edits of one repository's history.", min=1)] = 400,
    made: Annotated[
        int, typer.Option(help="Most made questions about one repository's files, with --histories.", min=0)
    ] = 30,
    apart: Annotated[
        Path | None,
        typer.Option(
            help="Evaluation items, with --histories or --sessions: files much like one of theirs are left out."
        ),
    ] = None,
    files: Annotated[int, typer.Option(help="Most files of a project.", min=1)] = DEFAULTS.files_per_project,
    queries: Annotated[int, typer.Option(help="Most records of a file.", min=1)] = DEFAULTS.queries_per_file,
    min_lines: Annotated[int, typer.Option(help="Shortest file.", min=1)] = DEFAULTS.min_lines,
    max_lines: Annotated[int, typer.Option(help="Longest file.", min=1)] = DEFAULTS.max_lines,
    absent: Annotated[
        float, typer.Option(help="Share of records without an answer.", min=0, max=1)
    ] = DEFAULTS.absent,
    windows: Annotated[
        float, typer.Option(help="Share of records that show part of their file only.", min=0, max=1)
    ] = DEFAULTS.windows,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = DEFAULTS.seed,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers of records as JSON.")] = False,
) -> None:
    """Make training records from packages, without a model.

    Queries come from docstrings, names, comments, error messages, calls and templates; the lines that answer follow
    from the syntax tree. Records are split by project, and projects that evaluations use are refused. Without
    --packages or --manifest: the packages that lamr-mini was trained on.

    With --histories queries come from commits' messages, and the lines that answer are those that the commit changed
    in its parent's file. Questions about the files of the manifest's commits go to files of their own: those made of
    comments, names and messages to made.jsonl, written ones to written.jsonl. With --sessions queries are what an
    agent said before it read a file, and the lines are those that it edited, quoted or read again later. What an
    earlier run finished is not made again.

    lamr corpus --out records --packages aiohttp,attrs --validation loguru
    """
    from lamr_contract.private_files import cache_folder
    from lamr_evaluation.mirrors import clone, locate
    from lamr_evaluation.wheels import WHEELS
    from lamr_training.corpus.build import build_corpus
    from lamr_training.corpus.fetch import choose_splits, fetch, read_manifest

    if manifest is not None and packages:
        raise typer.BadParameter("give --packages or --manifest, not both")
    if validation and not packages:
        raise typer.BadParameter("--validation goes with --packages")
    if histories is None and sessions is None and (mirror or apart):
        raise typer.BadParameter("--mirror and --apart go with --histories or --sessions")
    if sum(map(bool, (histories, sessions, packages or manifest))) > 1:
        raise typer.BadParameter("give one of --histories, --sessions, and --packages or --manifest")
    clones = cache or cache_folder() / "repositories"
    place = functools.partial(locate, folder=mirror) if mirror else functools.partial(clone, folder=clones)
    if histories is not None:
        counts = _from_histories(histories, out, place, (edits, made), apart, seed)
        _report(counts, out, "the repositories are in", "histories.json", as_json)
        return
    if sessions is not None:
        counts = _from_sessions(sessions, out, place, apart, seed)
        _report(counts, out, "the repositories are in", "sessions.json", as_json)
        return
    settings = CorpusSettings(
        files_per_project=files,
        queries_per_file=queries,
        min_lines=min_lines,
        max_lines=max_lines,
        absent=absent,
        windows=windows,
        seed=seed,
    )
    store = cache or cache_folder() / WHEELS
    with bar() as progress:
        chosen = read_manifest(manifest) if manifest else None
        if packages:
            splits = choose_splits(_names(packages), _names(validation or []))
            chosen = [p for split, names in splits.items() for p in fetch(names, store, split, progress)]
        counts = build_corpus(store, out, packages=chosen, settings=settings, progress=progress)
    _report(counts, out, "the packages are in", "manifest.json", as_json)


def _from_histories(
    manifest: str, out: Path, place: Place, most: tuple[int, int], apart: Path | None, seed: int
) -> dict[str, int]:
    from lamr_training.histories.build import HistorySettings, build_histories
    from lamr_training.histories.manifest import bundled_histories, read_histories
    from lamr_training.made.build import MadeSettings

    edits, made = most
    rows = bundled_histories() if manifest == "bundled" else read_histories(Path(manifest))
    settings = HistorySettings(
        per_repository=edits, made=MadeSettings(per_repository=made, seed=seed), apart=apart, seed=seed
    )
    with bar() as progress:
        return build_histories(rows, out, place, settings=settings, progress=progress)


def _from_sessions(manifest: str, out: Path, place: Place, apart: Path | None, seed: int) -> dict[str, int]:
    from lamr_training.histories.manifest import bundled_sessions, read_histories
    from lamr_training.sessions.build import SessionSettings, build_sessions

    rows = bundled_sessions() if manifest == "bundled" else read_histories(Path(manifest))
    with bar() as progress:
        return build_sessions(
            rows, out, place, settings=SessionSettings(apart=apart, seed=seed), progress=progress
        )


def _report(counts: dict[str, int], out: Path, where: str, file: str, as_json: bool) -> None:
    if as_json:
        say(json.dumps(counts))
    else:
        parts = [f"{count:,} {name}" for name, count in counts.items()]
        say(f"{' · '.join(parts)} records in {out}; {where} {out / file}")


def _names(texts: list[str]) -> list[str]:
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]
