"""`lamr label`: rubric labels for a file of records, by static analysis alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lamr_cli.printing import bar, say

if TYPE_CHECKING:
    from lamr_training.labels.labelling import LabelSummary


def label(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="IN.jsonl",
            help="Records: query, code, kept_frags (1-based lines), optional score and id.",
        ),
    ],
    target: Annotated[Path, typer.Argument(metavar="OUT.jsonl", help="The same records with `labels`.")],
    weights: Annotated[
        bool, typer.Option("--weights", help="Add each line's weight before the threshold.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Say for every line why it is worth keeping, as training does, without a model.

    `semantic`: the record's own lines. `dependency`: what these need, by the syntax tree: headers and branches around
    them, imports and definitions of the names they use. `aggregate`: both.

    A record that can't be used is named on standard error and left out.

    lamr label train.jsonl labelled.jsonl
    """
    from lamr_training.labels.labelling import label_file

    with bar() as progress:
        summary = label_file(
            source,
            target,
            weights=weights,
            progress=progress,
            report=lambda problem: say(f"{source}:{problem.line}: {problem.reason}", err=True),
        )
    say(summary.to_json() if as_json else _summary_text(summary, target))


def _summary_text(summary: LabelSummary, target: Path) -> str:
    parts = [f"{summary.labelled:,} records labelled into {target}"]
    if summary.unparsed:
        parts.append(f"{len(summary.unparsed):,} without dependency labels")
    return " · ".join([*parts, f"{len(summary.bad):,} bad records left out"])
