"""`lamr eval`: a pruner and the lexical baselines, measured on the same items."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer
from lamr_base.choices import EffortName

from lamr_cli.arguments import EFFORT_HELP, Model, Server, Tokenizer, Within, credentials
from lamr_cli.exits import end_with, needs_extra
from lamr_cli.printing import bar, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lamr_client import Pruner
    from lamr_evaluation import EvalReport, Problem, Record
    from lamr_evaluation.by_tokens import TokenReport
    from lamr_evaluation.repositories import RepositoryReport

SUITE_NAMES = "questions, polyglot, edits, sessions, contexts, repositories"
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
        typer.Option(help="Measure on a suite, built from its pinned sources: " + SUITE_NAMES + "."),
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
            help="Measure `lamr pack` on your own items, which are like those of the suite `repositories`.",
            metavar="ITEMS",
        ),
    ] = None,
    server: Server = None,
    model: Model = None,
    history: Annotated[
        bool,
        typer.Option(
            "--history", help="Give the pruner what each item's session said before, if it is known."
        ),
    ] = False,
    by: Annotated[
        Literal["lines", "tokens"],
        typer.Option(
            help="lines: measure the ranking of lines; tokens: measure needed lines and whole answers within budgets."
        ),
    ] = "lines",
    tokenizer: Tokenizer = None,
    effort: Annotated[EffortName, typer.Option(help=EFFORT_HELP)] = "full",
    within: Within = None,
    timeout: Annotated[float, typer.Option(help="Seconds for one item.", min=0.001)] = 300.0,
    plot: Annotated[
        Path | None, typer.Option(help="PNG file for a plot of recall against kept fraction.")
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Stop at the first item that can't be used, instead of leaving it out."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
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
    functions by BM25.
    """
    if sum(each is not None for each in (data, suite, repositories)) != 1:
        raise typer.BadParameter("give one of --data, --suite and --repositories")
    if suite == "repositories":
        from lamr_evaluation.suites import manifest

        repositories = manifest(suite)
    if by == "tokens" and (plot is not None or repositories is not None):
        raise typer.BadParameter("--by tokens goes with --data or --suite, without --plot")
    if repositories is not None:
        packs = _of_packs(repositories, mirror, model, tokenizer, strict)
        say(packs.to_json() if as_json else packs.table())
        end_with(str(repositories), packs.left_out)
        return
    asked = PrunerChoice(server, model, timeout, effort, within, history)
    if plot is not None:
        with needs_extra("train"):  # better now than after the work
            import matplotlib  # noqa: F401
    items = Items(data, suite, mirror)
    report = _of_items(items, asked, by, tokenizer, strict)
    if plot is not None:
        from lamr_evaluation import plot_recall

        plot_recall(cast("EvalReport", report), plot)
    say(report.to_json() if as_json else report.table())
    end_with(items.name, report.left_out)


@dataclass(frozen=True)
class PrunerChoice:
    """Which pruner an evaluation asks, and how."""

    server: str | None
    model: Path | None
    timeout: float
    effort: str
    within: float | None
    history: bool  # whether items tell what their sessions said before

    @property
    def options(self) -> dict[str, Any]:
        """Of every call of the pruner. A fault ends the evaluation rather than being measured."""
        return {"effort": self.effort, "within": self.within, "degrade": False}

    def pruner(self) -> Pruner:
        """Make the pruner."""
        from lamr_client import Pruner

        return Pruner(self.server, model=self.model, timeout=self.timeout, **credentials(self.server))


@dataclass(frozen=True)
class Items:
    """Where items about single files come from."""

    data: Path | None  # a JSONL file; None for a suite
    suite: str | None  # its name
    mirror: Path | None  # a folder of repositories that the suite is built from; None clones them

    @property
    def name(self) -> str:
        """What messages call them."""
        return str(self.data) if self.data is not None else f"suite {self.suite}"

    def read(self, on_problem: Callable[[Problem], None] | None) -> list[Record]:
        """Read or build them; `on_problem` takes the rows that are none."""
        from lamr_base.private_files import cache_folder
        from lamr_evaluation import build_suite, read_records

        if self.data is not None:
            return list(read_records(self.data, on_problem))
        return build_suite(str(self.suite), cache_folder(), self.mirror)


def _of_items(
    items: Items, asked: PrunerChoice, by: str, tokenizer: str | None, strict: bool
) -> EvalReport | TokenReport:
    """Measure the pruner and the baselines on items about single files, by lines or by tokens."""
    from lamr_evaluation import RecordError, evaluate_pruner
    from lamr_evaluation.by_tokens import evaluate_by_tokens
    from lamr_model.counters import token_counter

    problems: list[Problem] = []
    on_problem = None if strict else problems.append
    records = items.read(on_problem)
    if not records:
        raise RecordError(f"{items.name}: {_nothing(problems)}", path=items.data)
    with asked.pruner() as pruner, bar() as progress, _named(items.name, items.data):
        how: dict[str, Any] = {"history": asked.history, "on_problem": on_problem, "progress": progress}
        report: EvalReport | TokenReport
        if by == "tokens":
            counter = token_counter(tokenizer, pruner.encoder)
            options = {**asked.options, "tokenizer": tokenizer}
            report = evaluate_by_tokens(records, pruner, counter, options=options, **how)
        else:
            report = evaluate_pruner(records, pruner, options=asked.options, **how)
    return replace(report, left_out=tuple(sorted(problems)))


def _of_packs(
    file: Path, mirror: Path | None, model: Path | None, tokenizer: str | None, strict: bool
) -> RepositoryReport:
    """Measure packs, and what they are compared with, on items about whole repositories."""
    from lamr_base.private_files import cache_folder
    from lamr_evaluation import RecordError
    from lamr_evaluation.mirrors import clone, locate
    from lamr_evaluation.repositories import evaluate_repositories, read_items
    from lamr_repositories import PackOptions, default_cache_file

    problems: list[Problem] = []
    on_problem = None if strict else problems.append
    items = read_items(file, on_problem)
    if not items:
        raise RecordError(f"{file}: {_nothing(problems)}", path=file)

    def place(repository: str) -> Path:
        return locate(repository, mirror) if mirror else clone(repository, cache_folder() / "repositories")

    with bar() as progress, _named(str(file), file):
        report = evaluate_repositories(
            items,
            place,
            model=model,
            cache=default_cache_file(),
            options=PackOptions(tokenizer=tokenizer),
            on_problem=on_problem,
            progress=progress,
        )
    return replace(report, left_out=tuple(sorted(problems)))


@contextlib.contextmanager
def _named(name: str, path: Path | None) -> Iterator[None]:
    """Name the source of the items in an error about one of them."""
    from lamr_evaluation import RecordError

    try:
        yield
    except RecordError as error:
        raise RecordError(f"{name}: {error}", path=path, row=error.row) from error


def _nothing(problems: list[Problem]) -> str:
    if not problems:
        return "holds no records; expected one JSON object a line"
    return f"none of {len(problems)} rows is a record; line {problems[0].line}: {problems[0].reason}"
