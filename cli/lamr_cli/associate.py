"""`lamr associate`: gives a model repository associations of words, learned from a folder of records."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from lamr_cli.extras import needs_extra
from lamr_cli.printing import say


def associate(
    data: Annotated[
        Path,
        typer.Option("--data", "-d", help="Folder with train.jsonl and validation.jsonl (`lamr corpus`)."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Model repository to write.")],
    base: Annotated[
        Path | None, typer.Option(help="Model repository to begin with; default: the shipped one.")
    ] = None,
    networked: Annotated[
        int | None,
        typer.Option(
            help="How many files the network over lines learns from; default: some thousand.", min=1
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Learn which words of code go with which words of queries, and score lines by that too.

    The model itself stays as it is, and so does its fingerprint. Clients read what is new; a running server goes on. A
    hundred thousand records take about an hour of two CPU cores.

    lamr associate --data records --output my-repository
    """
    with needs_extra("train"):
        from lamr_contract.spec import bundled_repository
        from lamr_training.recipes.associate import BuildSettings
        from lamr_training.recipes.associate import associate as build

    settings = BuildSettings() if networked is None else BuildSettings(networked=networked)
    report = build(base or bundled_repository(), data, output, settings, lambda line: say(line, err=True))
    if as_json:
        say(json.dumps(asdict(report)))
        return
    say(f"{output}: {report.words:,} words, learned from {report.files:,} files")
    for name, figures in (("what isn't a question", report.told), ("questions", report.asked)):
        if figures is not None:
            parts = ", ".join(f"{key} {value}" for key, value in asdict(figures).items())
            say(f"validation files, {name}: {parts}")
