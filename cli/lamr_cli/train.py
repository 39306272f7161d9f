"""`lamr train` and `lamr research lines` train a preset and the line model."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from lamr_cli.arguments import AsJson
from lamr_cli.exits import needs_extra
from lamr_cli.printing import say

if TYPE_CHECKING:
    from lamr_evaluation.records import Problem
    from lamr_training.recipes.runs import RunReport


_NAMED = 20  # How many records are named one by one


def train(
    preset: Annotated[str, Argument(help="lamr-mini, fine-tune, or tiny (a quick check).")],
    data: Annotated[
        list[Path],
        Option(
            "--data",
            "-d",
            help="Folder with train.jsonl and validation.jsonl (`python -m lamr_training.commits`); "
            "repeatable, to shuffle several together.",
        ),
    ],
    output: Annotated[Path, Option("--output", "-o", help="Checkpoint folder to write.")],
    work: Annotated[
        Path | None, Option(help="Folder for examples, checkpoints and logs; default: OUTPUT/work.")
    ] = None,
    base: Annotated[
        Path | None, Option(help="fine-tune: the model to start from; default: the shipped one.")
    ] = None,
    steps: Annotated[int | None, Option(help="Optimizer steps; default: the preset's.", min=1)] = None,
    workers: Annotated[
        int, Option(help="Processes of one thread each; 1: one process with all threads.", min=1)
    ] = 1,
    count: Annotated[
        int | None, Option("--runs", help="fine-tune: the number of runs whose mean is written.", min=1)
    ] = None,
    kept: Annotated[
        int | None, Option(help="fine-tune: the weight of the start model in that mean, in runs.", min=0)
    ] = None,
    seed: Annotated[int | None, Option(help="The seed of the order and of dropout.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train a model. The same command continues an interrupted run.

    Ctrl-C finishes the step and writes a checkpoint. `work` has the log.jsonl of every run.

    lamr train lamr-mini --data records --output runs/mini --workers 2

    lamr train fine-tune --data records --data more --runs 5 --kept 3 --output runs/ours"""
    with needs_extra("train"):
        from lamr_training.recipes.runs import RunOptions, run_preset

    problems = 0

    def show(path: Path, problem: Problem) -> None:
        nonlocal problems
        problems += 1
        if problems <= _NAMED:
            say(f"{path}:{problem.line}: {problem.reason}", err=True)

    options = RunOptions(steps=steps, seed=seed, workers=workers, base=base, count=count, kept=kept)
    try:
        report = run_preset(preset, data, output, options, work=work, report=show)
    except KeyboardInterrupt:
        say("stopped after a checkpoint; run the same command to continue", err=True)
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
    return "\n".join(lines)


def lines(
    data: Annotated[Path, Option("--data", "-d", help="Folder with train.jsonl and validation.jsonl.")],
    output: Annotated[Path, Option("--output", "-o", help="Model repository to write.")],
    base: Annotated[
        Path | None, Option(help="Model repository to start from; default: the shipped one.")
    ] = None,
    fresh: Annotated[bool, Option(help="Start with new words and weights.")] = False,
    epochs: Annotated[int, Option(help="Passes over the records.", min=1)] = 1,
    as_json: AsJson = False,
) -> None:
    """Train the line model on your records.

    The encoder and its fingerprint don't change, so a running server needs no restart; clients load the new line model.
    A hundred thousand records take about an hour and a half on one CPU core.

    lamr research lines --data records --output my-repository

    lamr research lines --data records --output my-repository --fresh --epochs 2"""
    with needs_extra("train"):
        from lamr_model.spec import bundled_repository
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
