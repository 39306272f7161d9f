"""`lamr corpus`: training records out of permissively licensed packages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from lamr_training.corpus.settings import CorpusSettings

from lamr_cli.progress import bar

DEFAULTS = CorpusSettings()


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
        Path | None, typer.Option(help="Folder for downloaded packages; default: the user's cache folder.")
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

    lamr corpus --out records --packages aiohttp,attrs --validation loguru
    """
    from lamr_evaluation.suites import default_cache
    from lamr_evaluation.wheels import WHEELS
    from lamr_training.corpus.build import build_corpus
    from lamr_training.corpus.fetch import choose_splits, fetch, read_manifest

    if manifest is not None and packages:
        raise typer.BadParameter("give --packages or --manifest, not both")
    if validation and not packages:
        raise typer.BadParameter("--validation goes with --packages")
    settings = CorpusSettings(
        files_per_project=files,
        queries_per_file=queries,
        min_lines=min_lines,
        max_lines=max_lines,
        absent=absent,
        windows=windows,
        seed=seed,
    )
    store = cache or default_cache() / WHEELS
    with bar() as progress:
        chosen = read_manifest(manifest) if manifest else None
        if packages:
            splits = choose_splits(_names(packages), _names(validation or []))
            chosen = [p for split, names in splits.items() for p in fetch(names, store, split, progress)]
        counts = build_corpus(store, out, packages=chosen, settings=settings, progress=progress)
    if as_json:
        typer.echo(json.dumps(counts))
    else:
        parts = [f"{count:,} {name}" for name, count in counts.items()]
        typer.echo(f"{' · '.join(parts)} records in {out}; the packages are in {out / 'manifest.json'}")


def _names(texts: list[str]) -> list[str]:
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]
