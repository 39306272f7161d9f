"""`lamr eval`: a pruner and the lexical baselines, measured on the same items."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lamr_cli.extras import needs_extra
from lamr_cli.options import Model
from lamr_cli.progress import bar

if TYPE_CHECKING:
    from lamr_evaluation import LineScorer


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
    model: Model = None,
    timeout: Annotated[float, typer.Option(help="Seconds for one item.", min=0.001)] = 300.0,
    plot: Annotated[
        Path | None, typer.Option(help="Draw recall against kept fraction into this PNG.")
    ] = None,
    cosine: Annotated[
        bool, typer.Option("--cosine", help="Also measure cosines of the untrained backbone (train extra).")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Measure the model against BM25, grep and random lines on the same items.

    Precision, recall, F1 and kept fraction are at the model's default threshold, repair included; the baselines
    keep the same fraction of each file. R@10, R@25 and R@50 are recall with so many percent of the lines kept, area
    is that under recall against kept lines, all with 95 % bootstrap intervals; then the model by kind of question and
    by project.

    lamr eval --data items.jsonl --plot recall.png
    """
    from lamr_client import Pruner
    from lamr_evaluation import evaluate_pruner, plot_recall, read_records

    if plot is not None:
        with needs_extra("train"):  # better now than after the work
            import matplotlib  # noqa: F401
    items = list(read_records(data))
    baselines = _baselines(cosine)
    with Pruner(server, model=model, timeout=timeout) as pruner, bar() as progress:
        report = evaluate_pruner(items, pruner, baselines=baselines, progress=progress)
    if plot is not None:
        plot_recall(report, plot)
    typer.echo(report.to_json() if as_json else report.table())


def _baselines(cosine: bool) -> dict[str, LineScorer]:
    from lamr_evaluation import BASELINES, CosineOverFunctions

    if not cosine:
        return BASELINES
    with needs_extra("train"):
        from lamr_training.model.cosine import minilm_embedder
    return {**BASELINES, "cosine-functions": CosineOverFunctions(minilm_embedder())}
