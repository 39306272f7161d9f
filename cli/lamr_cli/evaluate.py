"""`lamr eval`: a pruner and the lexical baselines, measured on the same items."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lamr_cli.progress import bar


def evaluate(
    data: Annotated[
        Path,
        typer.Option(
            "--data", "-d", help="JSONL of query, code, kept_frags (1-based lines), optional score, path."
        ),
    ],
    server: Annotated[
        str | None,
        typer.Option(help="HOST:PORT of a server's gRPC port; default: in process.", envvar="LAMR_SERVER"),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="A model repository written by `lamr export`; default: the bundled lamr-mini."),
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds for one item.", min=0.001)] = 300.0,
    plot: Annotated[
        Path | None, typer.Option(help="Draw recall against kept fraction into this PNG.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Measure the model against BM25, grep and random lines on the same items.

    Precision, recall, F1 and kept fraction are at the model's default threshold, repair included; the baselines
    keep the same fraction of each file. R@25 and R@50 are recall with a quarter and a half of the lines kept.

    lamr eval --data items.jsonl --plot recall.png
    """
    from lamr_client import Pruner
    from lamr_evaluation import evaluate_pruner, plot_recall, read_items

    items = read_items(data)
    with Pruner(server, model=model, timeout=timeout) as pruner, bar() as progress:
        report = evaluate_pruner(items, pruner, progress=progress)
    if plot is not None:
        plot_recall(report, plot)
    typer.echo(report.to_json() if as_json else report.table())
