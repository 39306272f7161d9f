"""`lamr prune` prints the code of a file that matters for a question; `lamr view` writes a page that shows why."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from lamr_base.admission import TIMEOUT_SECONDS
from lamr_base.choices import EffortName, OnError
from typer import Argument, Option

from lamr_cli.arguments import (
    EFFORT_HELP,
    AsJson,
    Degrade,
    History,
    Language,
    LineNumbers,
    Model,
    NoCache,
    Query,
    Quiet,
    Server,
    Task,
    Timeout,
    Tokenizer,
    Within,
    credentials,
    parse_keep,
    read_code,
    read_words,
)
from lamr_cli.printing import print_exactly, say, say_meanwhile, write_page

if TYPE_CHECKING:
    from lamr_client import PruneResult
    from lamr_model.scoring.query_document import QueryDocument
    from lamr_model.spec import ModelSpec

PATIENCE_SECONDS = 2.0  # before the progress of a pruning is shown


Markers = Literal["comment", "named", "swe-pruner"]
Form = Literal["text", "spans", "heat"]


def prune(
    file: Annotated[str, Argument(help="The file to prune; - reads standard input.", metavar="FILE|-")],
    query: Query,
    task: Task = "",
    history: History = "",
    server: Server = None,
    threshold: Annotated[
        float | None, Option(help="Least probability of a kept line; default: the model's.", min=0, max=1)
    ] = None,
    ratio: Annotated[
        float | None, Option(help="Keep one part in RATIO of the tokens: 4 keeps about a quarter.", min=1)
    ] = None,
    max_tokens: Annotated[
        int | None, Option(help="The most tokens of the result, markers included.", min=1)
    ] = None,
    tokenizer: Tokenizer = None,
    keep: Annotated[
        list[str] | None,
        Option(help="Lines to keep in any case: 10-20, or /regex/. Repeatable.", metavar="LINES|/RE/"),
    ] = None,
    min_tokens: Annotated[int, Option(help="Leave code with fewer tokens unpruned.", min=0)] = 0,
    language: Language = None,
    line_numbers: LineNumbers = False,
    repair: Annotated[
        bool,
        Option(
            "--repair/--no-repair",
            help="Add lines that the selected ones need, so that the code parses.",
        ),
    ] = True,
    markers: Annotated[
        Markers,
        Option(
            help="How cuts are marked. comment: by a comment with the line numbers; named: also with the names of cut "
            "definitions; swe-pruner: by (filtered 12 lines), with --no-repair exactly SWE-Pruner's text."
        ),
    ] = "comment",
    min_cut: Annotated[
        int | None,
        Option(
            help="Cut no fewer characters than this between kept lines, because markers cost tokens too.",
            min=0,
        ),
    ] = None,
    excerpts: Annotated[
        bool, Option("--excerpts", help="For minified code: print the parts around the query's words.")
    ] = False,
    effort: Annotated[EffortName, Option(help=EFFORT_HELP)] = "auto",
    within: Within = None,
    degrade: Degrade = True,
    form: Annotated[
        Form,
        Option(
            "--format",
            help="text: the kept lines, with markers for cuts; spans: JSON, an entry for each run of lines; heat: the "
            "whole file, shaded by score, for a terminal.",
        ),
    ] = "text",
    as_json: AsJson = False,
    on_error: Annotated[
        OnError,
        Option(help="If the server fails: raise (exit with 3), or passthrough (print the code unpruned)."),
    ] = "raise",
    model: Model = None,
    timeout: Timeout = TIMEOUT_SECONDS,
    no_cache: NoCache = False,
    quiet: Quiet = False,
) -> None:
    """Prune one file for a question.

    The pruned code goes to standard output, a summary to standard error. On a terminal, control characters are
    made visible; elsewhere every kept line is unchanged.

    lamr prune src/server.py -q "How are timeouts handled when the pool is full?"

    lamr prune src/server.py -q "retry limits" --format heat

    lamr prune src/server.py -q "I'll look at how the pool waits" --task @issue.md"""
    from lamr_base.cache import default_cache_file
    from lamr_client import Pruner
    from lamr_postprocess import LEAST_CUT

    if as_json and form != "text":
        raise typer.BadParameter(f"give --json or --format {form}, not both")
    source = read_code(file, query)
    code = source.text
    cache = None if no_cache else default_cache_file()
    with Pruner(server, model=model, timeout=timeout, cache=cache, **credentials(server)) as pruner:
        result = pruner.prune(
            query,
            code,
            task=read_words("--task", task),
            history=read_words("--history", history),
            path=None if file == "-" else file,
            language=language,
            listed=file == "-",
            threshold=threshold,
            ratio=ratio,
            max_tokens=max_tokens,
            tokenizer=tokenizer,
            keep=parse_keep(keep or []),
            line_numbers=line_numbers,
            min_tokens=min_tokens,
            repair=repair,
            markers=markers,
            min_cut=LEAST_CUT if min_cut is None else min_cut,
            excerpts=excerpts,
            effort=effort,
            within=within,
            degrade=degrade,
            on_error=on_error,
            on_progress=None if quiet or not sys.stderr.isatty() else _Progress(),
        )
        result = dataclasses.replace(result, encoding=source.encoding)
        # Before the pruner is closed, which waits for what the encoder is still at.
        if as_json:
            print_exactly(json.dumps(result.to_dict(), ensure_ascii=False) + "\n")
        else:
            color = _colored()
            text = _rendered(form, code, result, color)
            encoding = result.encoding if form == "text" else None
            print_exactly(text, encoding=encoding, colored=color and form == "heat")
        if not quiet:
            say(_summary(result), err=True)


def _rendered(form: Form, code: str, result: PruneResult, color: bool) -> str:
    from lamr_postprocess import PrunedCode, render_heat, render_json

    if form == "text":
        return result.text  # the pruner wrote it so, and measured its budget by it
    pruned = PrunedCode(
        text=result.text,
        kept_lines=result.kept_lines,
        reasons=result.reasons,
        cuts=result.cuts,
        language=result.language or "text",
        note=result.reason,
    )
    if form == "spans":
        return render_json(code, pruned, result.line_scores)
    return render_heat(code, pruned, result.line_scores, color=color)


class _Progress:
    """A line on a terminal that says how far a long pruning is; short ones are over before it shows."""

    def __init__(self) -> None:
        self._begin = time.monotonic()

    def __call__(self, judged: int, tokens: int) -> None:
        if time.monotonic() - self._begin > PATIENCE_SECONDS:
            done = judged >= tokens
            say_meanwhile("" if done else f"lamr: {judged:,} of {tokens:,} tokens judged")


def _colored() -> bool:
    """Return whether standard output is a terminal that wants colours; NO_COLOR, FORCE_COLOR and TERM are heeded."""
    if not sys.stdout.isatty() and not os.environ.get("FORCE_COLOR"):
        return False
    from rich.console import Console

    console = Console()
    return console.is_terminal and console.color_system is not None and not console.no_color


def _summary(result: Any) -> str:
    parts = [
        f"{result.status}: {len(result.kept_lines):,} of {len(result.line_scores):,} lines",
        f"{result.tokens_in:,} → {result.tokens_out:,} tokens",
        f"relevance {result.relevance:.2f}" if result.relevance is not None else "",
        str(result.effort) if result.effort is not None else "",
        f"read as {result.encoding.name}" if result.encoding.name != "utf-8" else "",
        f"{result.timings.total:.2f} s",
    ]
    summary = " · ".join(part for part in parts if part)
    read = (
        f"of query and task the model read: {' '.join(result.query_read.split())}"
        if result.query_read
        else ""
    )
    return "\n".join(filter(None, (summary, result.reason, read)))


def view(
    file: Annotated[str, Argument(help="The file to look at; - reads standard input.", metavar="FILE|-")],
    query: Query,
    task: Task = "",
    output: Annotated[
        Path | None,
        Option(
            "--output", "-o", help="The page to write; default: the file's name with .html, in this folder."
        ),
    ] = None,
    server: Server = None,
    threshold: Annotated[
        float | None, Option(help="The slider's first position; default: the model's own.", min=0, max=1)
    ] = None,
    language: Language = None,
    model: Model = None,
    timeout: Timeout = TIMEOUT_SECONDS,
    show: Annotated[bool, Option("--open", help="Open the page in the browser.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a page that shows every line's score and which lines would be kept.

    Lines are shaded by score and coloured by reason; a slider changes the threshold, repair included. The page is one
    file without external resources.

    lamr view src/server.py -q "How are timeouts handled when the pool is full?" -o page.html

    lamr view src/server.py -q "retry limits" --threshold 0.6 --open"""
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
