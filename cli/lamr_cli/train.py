"""`lamr train`: trains a preset, from a folder of records to a checkpoint folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lamr_cli.exits import needs_extra
from lamr_cli.printing import say

if TYPE_CHECKING:
    from lamr_evaluation.problems import Problem
    from lamr_training.recipes.runs import RunReport

_NAMED = 20
"""How many records are named one by one."""


def train(
    preset: Annotated[
        str, typer.Argument(help="lamr-mini, fine-tune, qwen3-reranker-0.6b, or tiny (a quick check).")
    ],
    data: Annotated[
        list[Path],
        typer.Option(
            "--data",
            "-d",
            help="Folder with train.jsonl and validation.jsonl (`lamr corpus`); repeatable, to mix several.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Checkpoint folder to write.")],
    work: Annotated[
        Path | None, typer.Option(help="Folder for examples, checkpoints and logs; default: OUTPUT/work.")
    ] = None,
    base: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the backbone, for presets that don't bring their own; for fine-tune a repository or "
            "checkpoint of lamr-mini, by default the shipped one."
        ),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Optimizer steps; default: the preset's.", min=1)] = None,
    workers: Annotated[
        int,
        typer.Option(
            help="Processes on this machine's CPU, one thread each; 1 uses all threads in one.", min=1
        ),
    ] = 1,
    count: Annotated[
        int | None,
        typer.Option("--runs", help="fine-tune: runs from the start, whose mean is written.", min=1),
    ] = None,
    kept: Annotated[
        int | None, typer.Option(help="fine-tune: how often the start counts in that mean.", min=0)
    ] = None,
    trained_layers: Annotated[
        int | None, typer.Option(help="Train only so many of the top layers; 0: only what is new.", min=0)
    ] = None,
    patience: Annotated[
        int | None, typer.Option(help="Stop after so many validations without a better F1; 0: never.", min=0)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of order and dropout.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Train a model; the same command goes on where an interrupted run stopped.

    Ctrl-C ends the step and writes a checkpoint. `work` holds log.jsonl and TensorBoard's files of every run. The
    last lines say what gate and chains have learned.

    lamr train lamr-mini --data records --output runs/mini --workers 2

    lamr train fine-tune --data records --data more --runs 5 --kept 3 --output runs/ours

    accelerate launch -m lamr_cli.main train qwen3-reranker-0.6b --base Qwen3-Reranker-0.6B --data records -o runs/q
    """
    with needs_extra("train"):
        from lamr_training.recipes.runs import RunOptions, run_preset

    problems = 0

    def show(path: Path, problem: Problem) -> None:
        nonlocal problems
        problems += 1
        if problems <= _NAMED:
            say(f"{path}:{problem.line}: {problem.reason}", err=True)

    options = RunOptions(
        steps=steps,
        seed=seed,
        patience=patience,
        trained_layers=trained_layers,
        workers=workers,
        base=base,
        count=count,
        kept=kept,
    )
    try:
        report = run_preset(preset, data, output, options, work=work, report=show)
    except KeyboardInterrupt:
        say("stopped after a checkpoint; the same command goes on from it", err=True)
        raise
    if problems > _NAMED:
        say(f"{problems - _NAMED:,} more records don't parse", err=True)
    if report is not None:
        say(report.to_json() if as_json else _report_text(report))


def _report_text(report: RunReport) -> str:
    lines = [f"{report.preset}: {report.checkpoint}"]
    if report.validation:
        figures = (f"{name} {value:.3f}" for name, value in report.validation.items() if name != "step")
        lines.append(f"validation chunks at step {report.validation['step']}: {', '.join(figures)}")
    if report.scoring:
        lines.append(
            "validation files: " + ", ".join(f"{name} {value}" for name, value in report.scoring.items())
        )
    return "\n".join([*lines, *report.chains])
