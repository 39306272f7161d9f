"""`lamr pack`: takes a repository, a question and a budget, and prints the code that matters."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from lamr_contract.choices import EffortName

from lamr_cli.arguments import (
    AllAsJson,
    CacheFile,
    Degrade,
    LineNumbers,
    Model,
    NoCache,
    Query,
    Quiet,
    Server,
    Task,
    Tokenizer,
    Within,
    cache_file,
    credentials,
    read_words,
)
from lamr_cli.exits import INCOMPLETE
from lamr_cli.printing import bar, print_exactly, say, write_page
from lamr_cli.scorers import OfPerplexity, scorer_of
from lamr_cli.streams import read_input

if TYPE_CHECKING:
    from lamr_client import Pruner

MOST_TOKENS = 32_000
"""The budget of a pack that names none."""


Form = Literal["xml", "markdown", "plain", "json"]
"""The keys of `lamr_repositories.FORMATS`, as Typer needs them."""
RankerName = Literal["sum", "bm25", "relevance", "perplexity"]
"""The keys of `lamr_repositories.RANKERS`."""


def pack(
    repository: Annotated[
        str,
        typer.Argument(
            help="The repository's folder, or a URL that git fetches; - reads a list of files from standard input.",
            metavar="PATH|URL|-",
        ),
    ],
    query: Query,
    task: Task = "",
    max_tokens: Annotated[
        int,
        typer.Option(
            help=f"Never more tokens than this, everything included; default: {MOST_TOKENS:,}.",
            min=1,
            show_default=False,
        ),
    ] = MOST_TOKENS,
    revision: Annotated[
        str | None,
        typer.Option(
            help="Pack this branch, tag or commit instead of the work tree; works on bare repositories and URLs, too."
        ),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(
            help="Only files that match this pattern, as in .gitignore. Repeatable.", metavar="PATTERN"
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            help="No files that match this pattern; a .lamrignore does the same. Repeatable.",
            metavar="PATTERN",
            show_default=False,
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="Count vendored, generated and minified files as well.")
    ] = False,
    include_secrets: Annotated[
        bool,
        typer.Option("--include-secrets", help="Count files that hold keys, tokens or passwords as well."),
    ] = False,
    ranker: Annotated[
        RankerName,
        typer.Option(
            help="sum: words and the model; bm25: words alone, without a model; relevance: the model alone; "
            "perplexity: whole functions by how much they help a causal language model to foresee the question."
        ),
    ] = "sum",
    perplexity: OfPerplexity = None,
    chunks: Annotated[
        int | None,
        typer.Option(
            help="Chunks of code that the encoder reads at the most; more find more and take longer.", min=0
        ),
    ] = None,
    effort: Annotated[
        EffortName,
        typer.Option(
            help="How much the encoder reads: instant, nothing; full, the best pieces; auto, what words leave "
            "undecided, for a few seconds or --within."
        ),
    ] = "auto",
    within: Within = None,
    degrade: Degrade = True,
    form: Annotated[
        Form, typer.Option("--format", help="How the pack is written; xml has repomix's shape.")
    ] = "xml",
    order: Annotated[
        Literal["score", "path"],
        typer.Option(help="Which file stands first: that of the best lines, or by path."),
    ] = "score",
    line_numbers: LineNumbers = False,
    tokenizer: Tokenizer = None,
    html: Annotated[
        Path | None,
        typer.Option(help="Write a page to look at as well: one file that loads nothing.", metavar="FILE"),
    ] = None,
    server: Server = None,
    model: Model = None,
    cache: CacheFile = None,
    no_cache: NoCache = False,
    as_json: AllAsJson = False,
    quiet: Quiet = False,
) -> None:
    """Pack the lines of a whole repository that a question is about into a budget of tokens.

    Files are ranked by their words, the model judges the best functions, and lines compete for one budget with what
    repair and markers cost. Files without a kept line are listed by their definitions as far as tokens last. The pack
    goes to standard output, a summary to standard error, which says why if no line was kept (exit code 4).

    The index of files that didn't change is kept, and so are the model's answers, for the same question asked again.

    lamr pack . -q "Where are retries limited?" --max-tokens 16000

    lamr pack https://github.com/tornadoweb/tornado --revision stable -q "How are pings sent?" --html pack.html

    git ls-files src | lamr pack - -q "Where are retries limited?"

    lamr pack . -q "Where are retries limited?" --ranker perplexity --perplexity 127.0.0.1:8002
    """
    from lamr_repositories import PackOptions, WalkOptions, default_cache_file, render_page
    from lamr_repositories import pack as pack_repository

    kept = cache_file(cache, no_cache, default_cache_file())
    if repository == "-" and revision is not None:
        raise typer.BadParameter("a list of files names files of the work tree: leave --revision out")
    by_perplexity = ranker == "perplexity"
    if by_perplexity and perplexity is None:
        raise typer.BadParameter("--ranker perplexity needs a model: give --perplexity")
    if html is not None and not html.absolute().parent.is_dir():
        raise typer.BadParameter(f"there is no folder {html.absolute().parent}", param_hint="--html")
    names = _listed() if repository == "-" else None
    options = PackOptions(
        task=read_words("--task", task),
        revision=revision,
        names=names,
        walk=WalkOptions(
            tuple(include or ()),
            tuple(exclude or ()),
            everything=everything,
            include_secrets=include_secrets,
        ),
        ranker=ranker,
        form=form,
        order=order,
        line_numbers=line_numbers,
        tokenizer=tokenizer,
        most_chunks=chunks,
        effort=effort,
        within=within,
        degrade=degrade,
    )
    with contextlib.ExitStack() as stack:
        scorer = stack.enter_context(scorer_of(perplexity)) if by_perplexity and perplexity else None
        pruner = stack.enter_context(_pruner(server, model, ranker))
        progress = stack.enter_context(bar(disable=quiet))
        result = pack_repository(
            "." if names is not None else repository,
            query,
            max_tokens,
            pruner=pruner,
            model=model,
            server=server,
            cache=kept,
            on_progress=progress,
            options=options,
            scorer=scorer,
        )
    if html is not None:
        write_page(html, render_page(result))
    print_exactly(result.to_json() + "\n" if as_json else result.text)
    if not quiet:
        say(result.summary(), err=True)
    if not result.files:
        raise typer.Exit(INCOMPLETE)


def _listed() -> tuple[str, ...]:
    """Return the names on standard input, of a line each or, as of `git ls-files -z`, with NUL at their ends."""
    data = read_input()
    rows = data.split(b"\0") if b"\0" in data else [row.rstrip(b"\r") for row in data.split(b"\n")]
    return tuple(map(os.fsdecode, filter(None, rows)))


def _pruner(
    server: str | None, model: Path | None, ranker: RankerName
) -> contextlib.AbstractContextManager[Pruner | None]:
    """Give the pruner with what opens its server; None where the ranker asks no server."""
    from lamr_client import Pruner
    from lamr_repositories.line_scores import NEEDS_MODEL

    if server is None or ranker not in NEEDS_MODEL:
        return contextlib.nullcontext()
    return Pruner(server, model=model, timeout=math.inf, **credentials(server))
