"""`lamr eval`: a pruner and the lexical baselines, measured on the same items."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer
from lamr_base.choices import EffortName
from lamr_base.records import dataclass
from typer import Option

from lamr_cli.arguments import EFFORT_HELP, AsJson, Model, Server, Tokenizer, Within, credentials
from lamr_cli.exits import end_with, needs_extra
from lamr_cli.printing import bar, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from lamr_evaluation import EvalReport, Problem, Record
    from lamr_evaluation.by_tokens import TokenReport
    from lamr_evaluation.repositories import RepositoryItem, RepositoryReport

SUITE_NAMES = "questions, polyglot, edits, sessions, contexts, repositories"
"""For the help, which mustn't cost the import of `lamr_evaluation.suites`; a test compares them."""


def evaluate(
    data: Annotated[
        Path | None, Option("--data", "-d", help="JSONL with query, code and kept_frags in each row.")
    ] = None,
    suite: Annotated[
        str | None, Option(help="Measure on a suite, built from its pinned sources: " + SUITE_NAMES + ".")
    ] = None,
    mirror: Annotated[
        Path | None, Option(help="Folder of bare repositories named owner+name; default: clone them.")
    ] = None,
    repositories: Annotated[
        Path | None,
        Option(
            help="Measure `lamr pack` on your own items, which are like those of the suite `repositories`.",
            metavar="ITEMS",
        ),
    ] = None,
    server: Server = None,
    model: Model = None,
    history: Annotated[
        bool,
        Option("--history", help="Give the pruner what each item's session said before, if it is known."),
    ] = False,
    by: Annotated[
        Literal["lines", "tokens"],
        Option(
            help="lines: measure the ranking of lines; tokens: measure needed lines and whole answers within budgets."
        ),
    ] = "lines",
    tokenizer: Tokenizer = None,
    effort: Annotated[EffortName, Option(help=EFFORT_HELP)] = "full",
    within: Within = None,
    timeout: Annotated[float, Option(help="Seconds for one item.", min=0.001)] = 300.0,
    plot: Annotated[Path | None, Option(help="PNG file for a plot of recall against kept fraction.")] = None,
    strict: Annotated[
        bool, Option("--strict", help="Stop at the first item that can't be used, instead of leaving it out.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Measure the model against BM25, grep and random lines on the same items.

    Precision, recall, F1 and kept fraction are at the model's default threshold, repair included; the baselines
    keep the same fraction of each file. R@10, R@25 and R@50 are recall with so many percent of the lines kept; area
    is the area under recall against kept lines. Figures have 95 % bootstrap intervals, also by kind of question and by
    project.

    If a row isn't a record, or the model refuses it, it is named on standard error, counted, and left out of every
    figure, and the exit code is 4.

    lamr eval --data items.jsonl --plot recall.png

    lamr eval --suite edits

    lamr eval --suite questions --by tokens --effort instant

    With repositories: recall of gold lines and files, and whole answers, within budgets of tokens, for packs and for
    functions by BM25."""
    from lamr_evaluation import RecordError
    from lamr_evaluation.repositories import read_items

    if sum(each is not None for each in (data, suite, repositories)) != 1:
        raise typer.BadParameter("give one of --data, --suite and --repositories")
    if suite == "repositories":
        from lamr_evaluation.suites import manifest

        repositories = manifest(suite)
    if by == "tokens" and (plot is not None or repositories is not None):
        raise typer.BadParameter("--by tokens goes with --data or --suite, without --plot")
    if plot is not None:
        with needs_extra("train"):  # better now than after the work
            import matplotlib  # noqa: F401
    path = data if repositories is None else repositories
    name = f"suite {suite}" if path is None else str(path)
    problems: list[Problem] = []
    how: dict[str, Any] = {"on_problem": None if strict else problems.append}
    report: EvalReport | TokenReport | RepositoryReport
    try:
        items = read_items(repositories, how["on_problem"]) if repositories else []
        records = [] if repositories else _records(data, suite, mirror, how["on_problem"])
        if not items and not records:
            raise RecordError(_nothing(problems))
        if items:
            report = _of_packs(items, mirror, model, tokenizer, how)
        else:
            asked = PrunerChoice(server, model, timeout, effort, within, history)
            report = _of_items(records, asked, by, tokenizer, how)
    except RecordError as error:
        named = str(error) if error.path else f"{name}: {error}"
        raise RecordError(named, path=path, row=error.row) from error
    report = replace(report, left_out=tuple(sorted(problems)))
    if plot is not None and repositories is None:
        from lamr_evaluation import plot_recall

        plot_recall(cast("EvalReport", report), plot)
    say(report.to_json() if as_json else report.table())
    end_with(name, report.left_out)


@dataclass(frozen=True)
class PrunerChoice:
    """Which pruner an evaluation asks, and how."""

    server: str | None
    model: Path | None
    timeout: float
    effort: str
    within: float | None
    history: bool  # whether items tell what their sessions said before


def _records(
    data: Path | None, suite: str | None, mirror: Path | None, on_problem: Callable[[Problem], None] | None
) -> list[Record]:
    from lamr_base.private_files import cache_folder
    from lamr_evaluation import build_suite, read_records

    if data is not None:
        return list(read_records(data, on_problem))
    return build_suite(str(suite), cache_folder(), mirror)


def _of_items(
    records: list[Record], asked: PrunerChoice, by: str, tokenizer: str | None, how: dict[str, Any]
) -> EvalReport | TokenReport:
    """Measure the pruner and the baselines on items about single files, by lines or by tokens."""
    from lamr_client import Pruner
    from lamr_evaluation import evaluate_pruner
    from lamr_evaluation.by_tokens import evaluate_by_tokens
    from lamr_model.counters import token_counter

    # A fault ends the evaluation rather than being measured.
    options: dict[str, Any] = {"effort": asked.effort, "within": asked.within, "degrade": False}
    pruner = Pruner(asked.server, model=asked.model, timeout=asked.timeout, **credentials(asked.server))
    with pruner, bar() as progress:
        how |= {"history": asked.history, "progress": progress}
        if by == "lines":
            return evaluate_pruner(records, pruner, options=options, **how)
        counter = token_counter(tokenizer, pruner.encoder)
        return evaluate_by_tokens(
            records, pruner, counter, options={**options, "tokenizer": tokenizer}, **how
        )


def _of_packs(
    items: list[RepositoryItem],
    mirror: Path | None,
    model: Path | None,
    tokenizer: str | None,
    how: dict[str, Any],
) -> RepositoryReport:
    """Measure packs, and what they are compared with, on items about whole repositories."""
    from lamr_base.private_files import cache_folder
    from lamr_evaluation.mirrors import clone, locate
    from lamr_evaluation.repositories import evaluate_repositories
    from lamr_repositories import PackOptions, default_cache_file

    def place(repository: str) -> Path:
        return locate(repository, mirror) if mirror else clone(repository, cache_folder() / "repositories")

    given: dict[str, Any] = {"model": model, "cache": default_cache_file()}
    with bar() as progress:
        options = PackOptions(tokenizer=tokenizer)
        return evaluate_repositories(items, place, options=options, progress=progress, **given, **how)


def _nothing(problems: list[Problem]) -> str:
    if not problems:
        return "holds no records; expected one JSON object a line"
    return f"none of {len(problems)} rows is a record; line {problems[0].line}: {problems[0].reason}"
