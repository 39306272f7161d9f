"""`lamr pack`: takes a repository, a question and a budget, and prints the code that matters."""

import os
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from lamr_cli.arguments import (
    AsJson,
    CacheFile,
    LineNumbers,
    Model,
    NoCache,
    Query,
    Quiet,
    Task,
    Tokenizer,
    cache_file,
    read_words,
)
from lamr_cli.exits import INCOMPLETE
from lamr_cli.printing import bar, print_exactly, read_input, say, write_page
from lamr_cli.settings import MOST_TOKENS

# The keys of `lamr_repositories.FORMATS`, as Typer needs them.
Form = Literal["xml", "markdown", "plain", "json"]


def pack(
    repositories: Annotated[
        list[str],
        Argument(
            help="One or several folders of repositories, or URLs that git fetches; - reads a list of files from "
            "standard input.",
            metavar="PATH|URL|-",
        ),
    ],
    query: Query,
    task: Task = "",
    max_tokens: Annotated[
        int,
        Option(
            help=f"Never more tokens than this, everything included; default: {MOST_TOKENS:,}.",
            min=1,
            show_default=False,
        ),
    ] = MOST_TOKENS,
    revision: Annotated[
        str | None,
        Option(
            help="Pack this branch, tag or commit instead of the work tree; works on bare repositories and URLs too."
        ),
    ] = None,
    include: Annotated[
        list[str] | None, Option(help="Only take files that match, as in .gitignore.", metavar="PATTERN")
    ] = None,
    exclude: Annotated[
        list[str] | None,
        Option(
            help="Leave out files that match this pattern, as a .lamrignore does. Repeatable.",
            metavar="PATTERN",
            show_default=False,
        ),
    ] = None,
    everything: Annotated[
        bool, Option("--everything", help="Include vendored, generated and minified files.")
    ] = False,
    include_secrets: Annotated[
        bool, Option("--include-secrets", help="Include files with keys, tokens or passwords.")
    ] = False,
    form: Annotated[Form, Option("--format", help="The pack's format; xml is like repomix's.")] = "xml",
    order: Annotated[
        Literal["score", "path"], Option(help="The order of files: by their best lines, or by path.")
    ] = "score",
    line_numbers: LineNumbers = False,
    tokenizer: Tokenizer = None,
    html: Annotated[
        Path | None,
        Option(help="Also write an HTML page, one file without external resources.", metavar="FILE"),
    ] = None,
    model: Model = None,
    cache: CacheFile = None,
    no_cache: NoCache = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    effort: Annotated[str, Option(hidden=True)] = "",
    ranker: Annotated[str, Option(hidden=True)] = "",
) -> None:
    """Pack the lines of whole repositories that answer a question into a budget of tokens.

    Functions of all files are ranked by their words and by the line model; the best file comes first. Code comes before
    tests, prose and translations, and copies count once. The pack goes to standard output, a summary to standard error.
    If no line was kept, the exit code is 4. An index of the files is kept for the next question.

    lamr pack . -q "Where are retries limited?" --max-tokens 16000

    git ls-files src | lamr pack - -q "Where are retries limited?"

    lamr pack ../client ../server -q "Which field tells the client to retry?"

    lamr pack https://github.com/tornadoweb/tornado --revision stable -q "How are pings sent?" --html pack.html"""
    from lamr_repositories import PackOptions, WalkOptions, default_cache_file, render_page
    from lamr_repositories import pack as pack_repositories

    if effort or ranker:
        say("packs always rank by words and the line model: --effort and --ranker have no effect", err=True)
    kept = cache_file(cache, no_cache, default_cache_file())
    listed = "-" in repositories
    if listed and (revision is not None or len(repositories) > 1):
        raise typer.BadParameter(
            "a list of files is for one work tree: give no repositories and no --revision"
        )
    if html is not None and not html.absolute().parent.is_dir():
        raise typer.BadParameter(f"there is no folder {html.absolute().parent}", param_hint="--html")
    names = _listed() if listed else None
    options = PackOptions(
        task=read_words("--task", task),
        revision=revision,
        names=names,
        walk=WalkOptions(
            tuple(include or ()), tuple(exclude or ()), everything=everything, include_secrets=include_secrets
        ),
        form=form,
        order=order,
        line_numbers=line_numbers,
        tokenizer=tokenizer,
    )
    with bar(disable=quiet) as progress:
        result = pack_repositories(
            ["."] if listed else repositories,
            query,
            max_tokens,
            model=model,
            cache=kept,
            on_progress=progress,
            options=options,
        )
    print_exactly(result.to_json() + "\n" if as_json else result.text)
    if not quiet:
        say(result.summary(), err=True)
    if html is not None:
        write_page(html, render_page(result))
    if not result.files:
        raise typer.Exit(INCOMPLETE)


def _listed() -> tuple[str, ...]:
    """Return the names on standard input, of a line each or, as of `git ls-files -z`, with NUL at their ends."""
    data = read_input()
    rows = data.split(b"\0") if b"\0" in data else [row.rstrip(b"\r") for row in data.split(b"\n")]
    return tuple(map(os.fsdecode, filter(None, rows)))
