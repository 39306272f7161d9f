"""What each part of the model is worth, as the paper's Table 7 on one's own data.

python -m benchmarks.ablation --data records --out runs/ablation --start bundled --trained-layers 2 --seeds 3
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from lamr_cli.printing import bar, say

from benchmarks.ablation import study
from benchmarks.ablation.settings import AblationSettings
from benchmarks.ablation.table import ablation_json, ablation_table

_BUDGET = AblationSettings()


def ablate(  # noqa: PLR0913, PLR0917  # one argument an option
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            "-d",
            help="Folder with train.jsonl and validation.jsonl (`python -m lamr_training.commits`).",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for runs and outcomes.")],
    seeds: Annotated[int, typer.Option(help="Runs of each variant.", min=1)] = _BUDGET.seeds,
    steps: Annotated[int, typer.Option(help="Optimizer steps of a run.", min=1)] = _BUDGET.steps,
    tokens: Annotated[int, typer.Option(help="Tokens of a step.", min=256)] = _BUDGET.tokens,
    start: Annotated[
        str,
        typer.Option(
            help="An int8 repository of lamr-mini's architecture, whose encoder all variants begin with; 'bundled' is "
            "the one that ships. Without it they begin with MiniLM as published."
        ),
    ] = _BUDGET.start,
    layers: Annotated[
        int, typer.Option(help="Layers of the backbone (MiniLM has 6).", min=1, max=6)
    ] = _BUDGET.layers,
    trained_layers: Annotated[
        int, typer.Option(help="How many of them learn, from the top; 0: only what is new.", min=0, max=6)
    ] = _BUDGET.trained_layers,
    records: Annotated[int, typer.Option(help="Training records.", min=1)] = _BUDGET.records,
    checked: Annotated[int, typer.Option(help="Validation records.", min=1)] = _BUDGET.checked,
    judged: Annotated[
        int, typer.Option(help="Validation records whose whole files are judged.", min=1)
    ] = _BUDGET.judged,
    workers: Annotated[int, typer.Option(help="Runs at a time, one thread each.", min=1)] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print every run's figures as JSON.")] = False,
) -> None:
    """Train seven variants of the model with the same data and budget, and compare them.

    Rubrics (semantic, dependency, context), chained decisions or not, labels with or without the syntax tree. The same
    command goes on where an interrupted one stopped, and may ask for more seeds.

    python -m benchmarks.ablation --data records --output runs/ablation --start bundled --seeds 3 --steps 300
    """
    settings = AblationSettings(
        start=start,
        layers=layers,
        trained_layers=trained_layers,
        records=records,
        checked=checked,
        judged=judged,
        steps=steps,
        tokens=tokens,
        seeds=seeds,
    )
    with bar() as progress:
        outcomes = study.ablate(data, output, settings, workers=workers, progress=progress)
    say(ablation_json(outcomes) if as_json else ablation_table(outcomes))


if __name__ == "__main__":
    typer.run(ablate)
