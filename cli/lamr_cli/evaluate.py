"""`lamr eval`: a pruner and the lexical baselines, measured on the same items."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lamr_cli.arguments import Model
from lamr_cli.credentials import credentials
from lamr_cli.exits import INCOMPLETE
from lamr_cli.extras import needs_extra
from lamr_cli.progress import bar
from lamr_cli.scorers import scorer_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from lamr_evaluation import Problem, Record
    from lamr_training.model.cosine import Embedder

SUITE_NAMES = "questions, polyglot, edits, sessions"
"""For the help, which mustn't cost the import of `lamr_evaluation.suites`; a test compares them."""


def evaluate(
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", "-d", help="JSONL of query, code, kept_frags (1-based lines), optional score, path."
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(help="Measure on a suite instead, built from its pinned sources: " + SUITE_NAMES + "."),
    ] = None,
    mirror: Annotated[
        Path | None,
        typer.Option(
            help="Folder of bare repositories named owner+name for --suite; default: clone into the cache."
        ),
    ] = None,
    repositories: Annotated[
        Path | None,
        typer.Option(
            help="Items about whole repositories instead: does `lamr pack` find the lines? Reads --mirror.",
            metavar="ITEMS",
        ),
    ] = None,
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
    encoder: Annotated[
        Path | None,
        typer.Option(
            help="With --cosine: the folder of another sentence encoder, with tokenizer.json.",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    perplexity: Annotated[
        str | None,
        typer.Option(
            help="With --repositories: also measure packs by this causal language model; as in `lamr pack`.",
            metavar="HOST:PORT|CHECKPOINT",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="End at the first item that can't be used, instead of leaving it out."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Measure the model against BM25, grep and random lines on the same items.

    Precision, recall, F1 and kept fraction are at the model's default threshold, repair included; the baselines
    keep the same fraction of each file. R@10, R@25 and R@50 are recall with so many percent of the lines kept, area
    is that under recall against kept lines, all with 95 % bootstrap intervals; then the model by kind of question and
    by project.

    A row that isn't a record, or that the model refuses, is named on standard error and left out of every figure; the
    exit code is then 4, and the report counts such rows.

    lamr eval --data items.jsonl --plot recall.png

    lamr eval --suite edits

    With --repositories: recall of gold lines and files within budgets of tokens, for packs by each ranker, whole files
    and functions by BM25, and a map of definitions; with --cosine, functions and windows by embeddings, and with
    --perplexity, packs by a causal language model.
    """
    from lamr_client import Pruner
    from lamr_evaluation import BASELINES, CosineOverFunctions, RecordError, evaluate_pruner, plot_recall

    if sum(each is not None for each in (data, suite, repositories)) != 1:
        raise typer.BadParameter("give one of --data, --suite and --repositories")
    if encoder is not None and not cosine:
        raise typer.BadParameter("--encoder goes with --cosine")
    if perplexity is not None and repositories is None:
        raise typer.BadParameter("--perplexity goes with --repositories")
    embed = _embedder(encoder) if cosine else None
    if repositories is not None:
        _repositories(repositories, mirror, Asked(server, model, timeout, embed, perplexity), as_json)
        return
    name = str(data) if suite is None else f"suite {suite}"
    if plot is not None:
        with needs_extra("train"):  # better now than after the work
            import matplotlib  # noqa: F401
    problems: list[Problem] = []
    on_problem = None if strict else problems.append
    items = _items(data, suite, mirror, on_problem)
    if not items:
        raise RecordError(f"{name}: {_nothing(problems)}", path=data)
    baselines = BASELINES if embed is None else {**BASELINES, "cosine-functions": CosineOverFunctions(embed)}
    with Pruner(server, model=model, timeout=timeout, **credentials(server)) as pruner, bar() as progress:
        try:
            report = evaluate_pruner(
                items, pruner, baselines=baselines, on_problem=on_problem, progress=progress
            )
        except RecordError as error:
            raise RecordError(f"{name}: {error}", path=data, row=error.row) from error
    report = replace(report, left_out=tuple(sorted(problems)))
    if plot is not None:
        plot_recall(report, plot)
    typer.echo(report.to_json() if as_json else report.table())
    for problem in report.left_out:
        typer.echo(f"{name}:{problem.line}: {problem.reason}", err=True)
    if report.left_out:
        raise typer.Exit(INCOMPLETE)


@dataclass(frozen=True)
class Asked:
    """Which models an evaluation on repositories asks.

    Attributes:
        server, model, timeout: of the pruner.
        embed: the sentence encoder; None measures none.
        perplexity: names the causal language model (`scorers.scorer_of`); None measures none.
    """

    server: str | None
    model: Path | None
    timeout: float
    embed: Embedder | None
    perplexity: str | None


def _repositories(file: Path, mirror: Path | None, asked: Asked, as_json: bool) -> None:
    from lamr_client import Pruner
    from lamr_evaluation.mirrors import clone, locate
    from lamr_evaluation.repositories import METHODS, cosine_methods, evaluate_repositories, read_items
    from lamr_repositories import default_cache_file
    from lamr_repositories.cache import default_cache

    items = read_items(file)
    if not items:
        raise typer.BadParameter(f"{file} holds no items")

    def place(repository: str) -> Path:
        return locate(repository, mirror) if mirror else clone(repository, default_cache() / "repositories")

    with contextlib.ExitStack() as stack:
        pruner = stack.enter_context(Pruner(asked.server, model=asked.model, timeout=asked.timeout))
        report = evaluate_repositories(
            items,
            place,
            pruner,
            cache=default_cache_file(),
            methods={**METHODS, **(cosine_methods(asked.embed) if asked.embed else {})},
            scorer=stack.enter_context(scorer_of(asked.perplexity)) if asked.perplexity else None,
            progress=stack.enter_context(bar()),
        )
    typer.echo(report.to_json() if as_json else report.table())


def _items(
    data: Path | None, suite: str | None, mirror: Path | None, on_problem: Callable[[Problem], None] | None
) -> list[Record]:
    from lamr_evaluation import build_suite, default_cache, read_records

    if data is not None:
        return list(read_records(data, on_problem))
    return build_suite(str(suite), default_cache(), mirror)


def _nothing(problems: list[Problem]) -> str:
    if not problems:
        return "holds no records; expected one JSON object a line"
    return f"none of {len(problems)} rows is a record; line {problems[0].line}: {problems[0].reason}"


def _embedder(folder: Path | None) -> Embedder:
    with needs_extra("train"):
        from lamr_training.model.cosine import folder_embedder, minilm_embedder
    return minilm_embedder() if folder is None else folder_embedder(folder)
