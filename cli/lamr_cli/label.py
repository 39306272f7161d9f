"""`lamr label`: rubric labels for a file of records, by static analysis alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from lamr_training.labels.settings import EdgeWeights, LabelSettings

from lamr_cli.printing import say
from lamr_cli.progress import bar

if TYPE_CHECKING:
    from lamr_training.labels.labelling import LabelSummary


_LABELS, _EDGES = LabelSettings(), EdgeWeights()


def _weight(text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(help=text, min=0, max=1, rich_help_panel="Labels")
    return option


def _count(text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(help=text, min=0, rich_help_panel="Labels")
    return option


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
    hops: Annotated[int, _count("How far relevance flows along dependencies.")] = _LABELS.hops,
    decay: Annotated[float, _weight("What is left of it at each hop after the first.")] = _LABELS.decay,
    threshold: Annotated[
        float, _weight("Least weight of a kept line, as a share of the record's score.")
    ] = _LABELS.threshold,
    score_floor: Annotated[float, _weight("Records with a lower score keep nothing.")] = _LABELS.score_floor,
    header: Annotated[float, _weight("Weight of headers around a line.")] = _EDGES.header,
    sibling: Annotated[
        float, _weight("Weight of the other branches of statements around it.")
    ] = _EDGES.sibling,
    imported: Annotated[float, _weight("Weight of the imports of names it uses.")] = _EDGES.imported,
    defined: Annotated[float, _weight("Weight of the definitions of names it uses.")] = _EDGES.defined,
    caller: Annotated[float, _weight("Weight of the calls of a definition.")] = _EDGES.caller,
    definition_lines: Annotated[
        int, _count("Most lines of an assignment that explain its name.")
    ] = _LABELS.definition_lines,
    context_lines: Annotated[
        int, _count("Lines before and after gold lines that are their context.")
    ] = _LABELS.context_lines,
    context_decay: Annotated[
        float, _weight("What is left of relevance at each line's distance.")
    ] = _LABELS.context_decay,
) -> None:
    """Say for every line why it is worth keeping, without a model.

    `semantic`: the record's own lines. `dependency`: what these need, by the syntax tree: headers and branches around
    them, imports and definitions of the names they use. `context`: what stands near. `aggregate`: the first two.

    A record that can't be used is named on standard error and left out.

    lamr label train.jsonl labelled.jsonl
    """
    from lamr_training.labels.labelling import label_file

    settings = LabelSettings(
        hops=hops,
        decay=decay,
        threshold=threshold,
        score_floor=score_floor,
        edges=EdgeWeights(header=header, sibling=sibling, imported=imported, defined=defined, caller=caller),
        definition_lines=definition_lines,
        context_lines=context_lines,
        context_decay=context_decay,
    )
    with bar() as progress:
        summary = label_file(
            source,
            target,
            settings,
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
