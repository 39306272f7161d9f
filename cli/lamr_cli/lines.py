"""`lamr lines`: gives a model repository a line model that has learned from a folder of records."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from lamr_cli.exits import needs_extra
from lamr_cli.printing import say


def lines(
    data: Annotated[
        Path,
        typer.Option("--data", "-d", help="Folder with train.jsonl and validation.jsonl (`lamr corpus`)."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Model repository to write.")],
    base: Annotated[
        Path | None, typer.Option(help="Model repository to begin with; default: the shipped one.")
    ] = None,
    fresh: Annotated[
        bool, typer.Option(help="Begin with new words and weights, whatever the repository has.")
    ] = False,
    epochs: Annotated[int, typer.Option(help="How often each record is learned from.", min=1)] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Learn from your records which lines a query needs, by words and lines alone.

    The encoder itself stays as it is, and so does its fingerprint. Clients read what is new; a running server goes on.
    A hundred thousand records take about an hour and a half of one CPU core.

    lamr lines --data records --output my-repository
    """
    with needs_extra("train"):
        from lamr_contract.spec import bundled_repository
        from lamr_training.fits.line_training import LineSettings
        from lamr_training.recipes.lines import LinesSettings, train_lines

    settings = LinesSettings(training=LineSettings(epochs=epochs), fresh=fresh)
    report = train_lines(
        base or bundled_repository(), data, output, settings, lambda line: say(line, err=True)
    )
    if as_json:
        say(json.dumps(asdict(report)))
        return
    say(f"{output}: {report.words:,} words, learned from {report.files:,} files")
    for name, figures in (("what isn't a question", report.told), ("questions", report.asked)):
        if figures is not None:
            parts = ", ".join(f"{key} {value}" for key, value in asdict(figures).items())
            say(f"validation files, {name}: {parts}")
