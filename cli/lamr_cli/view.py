"""`lamr view`: writes one HTML page that shows what each threshold keeps of a file, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from lamr_base.admission import TIMEOUT_SECONDS

from lamr_cli.arguments import (
    Language,
    Model,
    Query,
    Server,
    Task,
    Timeout,
    credentials,
    read_code,
    read_words,
)
from lamr_cli.printing import say, write_page

if TYPE_CHECKING:
    from lamr_client import PruneResult
    from lamr_model.scoring.query_document import QueryDocument
    from lamr_model.spec import ModelSpec


def view(
    file: Annotated[
        str, typer.Argument(help="The file to look at; - reads standard input.", metavar="FILE|-")
    ],
    query: Query,
    task: Task = "",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The page; default: the file's name with .html, in this folder."),
    ] = None,
    server: Server = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Where the slider stands at first; default: the model's own.", min=0, max=1),
    ] = None,
    language: Language = None,
    model: Model = None,
    timeout: Timeout = TIMEOUT_SECONDS,
    show: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print where the page is, as JSON.")] = False,
) -> None:
    """Write a page that shows a file with every line's score and what would be kept of it.

    Lines are shaded by score and coloured by reason; a slider moves the threshold, repair included. The page is one
    file and loads nothing.

    lamr view src/server.py -q "How are timeouts handled when the pool is full?" -o page.html

    lamr view src/server.py -q "retry limits" --threshold 0.6 --open
    """
    from lamr_client import Pruner
    from lamr_model.query_truncation import Query as Question
    from lamr_model.scoring.query_document import QueryDocument
    from lamr_postprocess import SourceFile, render_html

    path = None if file == "-" else file
    target = output or Path(f"{'stdin' if path is None else Path(path).name}.html")
    if path is not None and target.exists() and target.samefile(path):
        raise typer.BadParameter(f"{target} is the file to look at; name another page", param_hint="--output")
    code, serves = read_code(file, query).text, read_words("--task", task)
    with Pruner(server, model=model, timeout=timeout, **credentials(server)) as pruner:
        # At threshold 0 every line is kept by its own reason, which the page needs for all of them.
        result = pruner.prune(
            query,
            code,
            task=serves,
            path=path,
            language=language,
            listed=not path,
            threshold=0,
            effort="full",
        )
        if threshold is None:
            source = SourceFile(code, listed=not path)
            asked = QueryDocument.of(pruner.encoder, Question(query, serves), source)
            threshold = default_threshold(pruner.spec, asked, result)
    page = render_html(
        code,
        result.line_scores,
        path=path,
        language=language,
        listed=not path,
        threshold=threshold,
        query=query,
        dependency=[
            result.reasons.get(line) == "dependency" for line in range(1, len(result.line_scores) + 1)
        ],
    )
    write_page(target, page)
    if as_json:
        say(json.dumps({"page": str(target), "lines": len(result.line_scores), "threshold": threshold}))
    else:
        say(f"{target}: {len(result.line_scores):,} lines, the slider at {threshold:g}", err=True)
    if show:
        typer.launch(str(target.resolve()))


def default_threshold(spec: ModelSpec, asked: QueryDocument, result: PruneResult) -> float:
    """Return the threshold that a file with this result gets for what the model read, where none is given."""
    import numpy as np
    from lamr_model.rules import adapted

    inked = np.array(result.line_scores, np.float32)[~asked.source.layout.blank]
    relevance = 1.0 if result.relevance is None else result.relevance
    return adapted(spec.threshold, spec.scoring.for_query(asked.query), inked, relevance)
