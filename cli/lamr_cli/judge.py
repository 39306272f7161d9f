"""`lamr research judge`: does a reader answer as well from a part of the tokens? Its `items` makes the questions."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from lamr_model.names import TOKENIZER_FILE
from typer import Argument, Option

from lamr_cli.arguments import AsJson, Server, credentials
from lamr_cli.compress import scorer_of
from lamr_cli.exits import end_with, needs_extra
from lamr_cli.printing import bar, say, write_page

if TYPE_CHECKING:
    from lamr_evaluation import Problem
    from lamr_evaluation.judge import Cost, Item, Reader, Setup
    from lamr_evaluation.judge.pruners import ItemPruner
    from lamr_model import counters
    from lamr_model.perplexity.causal_scorer import CausalScorer

PRUNERS_HELP = "whole, none, head-tail, bm25, longcodezip, lamr-instant, lamr-auto, lamr-full, oracle"
"""For the help, which mustn't cost the import of `lamr_evaluation.judge`; a test compares them."""
SHARES = (0.5, 0.25, 0.125)
_UNASKED = ("lamr-auto",)
"""Pruners that are left out unless they are named: within an item's few seconds, auto is full."""

app = typer.Typer(
    name="judge",
    help="Measure whether a reader answers as well from a part of the tokens.\n\n"
    "Several pruners prune each item to the same number of tokens. The reader's answers are graded and compared with "
    "those from the whole code, item by item. The command says first how many questions and tokens it needs. Answers "
    "are kept on disk, so the same command continues an interrupted run.\n\n"
    "A row of --data needs three fields: query, answer, and code or the path of a file.\n\n"
    "lamr research judge items . -o items.jsonl\n\n"
    "lamr research judge -d items.jsonl --reader http://127.0.0.1:8000/v1 --model qwen3-coder",
)
Tokenizer = Annotated[
    Path | None, Option(help="The reader's tokenizer.json; default: GPT's o200k, by a table.")
]


@app.callback(invoke_without_command=True)
def judge(
    context: typer.Context,
    data: Annotated[
        Path | None,
        Option(
            "--data",
            "-d",
            help="JSONL of query, answer, and code or path; or what `lamr research judge items` wrote.",
        ),
    ] = None,
    reader: Annotated[
        str | None,
        Option(
            help="An OpenAI-compatible endpoint, such as http://127.0.0.1:8000/v1; its key in LAMR_READER_KEY.",
            metavar="URL",
        ),
    ] = None,
    name: Annotated[str | None, Option("--model", help="The reader's name at the endpoint.")] = None,
    likelihoods: Annotated[
        str | None,
        Option(
            help="Instead of an endpoint: a causal model that compares the likelihoods of answers, named as in "
            "`lamr research compress --model`.",
            metavar="MODEL",
        ),
    ] = None,
    share: Annotated[
        list[float] | None,
        Option(
            help="Share of an item's tokens to keep, repeatable; default: 0.5, 0.25, 0.125.", min=0.001, max=1
        ),
    ] = None,
    pruner: Annotated[
        list[str] | None,
        Option(
            help=f"A pruner, repeatable: {PRUNERS_HELP}; default: all but lamr-auto. longcodezip needs "
            "--likelihoods.",
            metavar="NAME",
        ),
    ] = None,
    tokenizer: Tokenizer = None,
    limit: Annotated[int | None, Option(help="The most items of each task.", min=1)] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Prune and print the costs, without asking.")] = False,
    plot: Annotated[Path | None, Option(help="PNG file for a plot of the score over tokens.")] = None,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Judge, unless `lamr research judge items` was asked for."""
    if context.invoked_subcommand is not None:
        return
    from lamr_base.cache import Cache
    from lamr_base.private_files import cache_folder
    from lamr_client import Pruner as LamrPruner
    from lamr_evaluation import judge as judging
    from lamr_evaluation.judge.readers import LikelihoodReader
    from lamr_evaluation.judge.report import forewarning, gold_table, plot_scores

    if data is None:
        raise typer.BadParameter(
            "give --data, or make items first: lamr research judge items . -o items.jsonl"
        )
    if (reader is None) == (likelihoods is None):
        raise typer.BadParameter("give one of --reader and --likelihoods")
    if plot is not None:
        with needs_extra("train"):  # better now than after the work
            import matplotlib  # noqa: F401
    problems: list[Problem] = []
    found = _items(data, limit, problems)
    for task in sorted({item.task for item in found}):
        say(f"{task}: {forewarning(sum(item.task == task for item in found))}", err=True)

    def on_foreseen(cost: Cost, known: int) -> None:
        say(f"asking costs at most {cost}; {known:,} answers are kept from before", err=True)

    with contextlib.ExitStack() as stack:
        scorer: CausalScorer | None = None
        tokenizer_file = str(tokenizer) if tokenizer else None
        if likelihoods is not None:
            scorer = stack.enter_context(_scorer(likelihoods))
            answering: Reader = LikelihoodReader(scorer, Path(likelihoods).name)
            tokenizer_file = tokenizer_file or _tokenizer_of(scorer, stack)
        else:
            answering = _endpoint(str(reader), name, stack)
        count = counter(tokenizer_file)
        lamr = stack.enter_context(LamrPruner(server, timeout=600.0, **credentials(server)))
        bench = judging.Bench(
            answering,
            _pruners(pruner or [], judging.Setup(count, lamr, tokenizer_file, scorer)),
            tuple(sorted(share or SHARES, reverse=True)),
            count,
            stack.enter_context(Cache(cache_folder() / "judge.sqlite", lambda note: say(note, err=True))),
            on_foreseen,
            stack.enter_context(bar()),
        )
        try:
            judgement = judging.judge(found, bench, dry_run=dry_run)
        except KeyboardInterrupt:
            say("the answers so far are kept; run the same command to continue", err=True)
            raise
        if dry_run:
            say(gold_table(judgement))
            return
        figures, spent = judging.figures_of(judgement), (judgement.foreseen, judgement.spent, judgement.known)
        report = judging.JudgeReport(answering.name, figures, *spent, judgement.cut, judgement.problems)
    if plot is not None:
        plot_scores(report, plot)
    say(report.to_json() if as_json else report.table())
    end_with(str(data), sorted([*problems, *judgement.problems]))


@app.command("items")
def items(
    sources: Annotated[
        list[Path], Argument(help="Code to ask about.", metavar="FOLDER|WHEEL...", exists=True)
    ],
    output: Annotated[Path, Option("--output", "-o", help="The JSONL file to write.")],
    task: Annotated[list[str] | None, Option(help="choice, completion, place; default: all.")] = None,
    count: Annotated[int, Option(help="The most items of each task.", min=1)] = 100,
    per_file: Annotated[int, Option(help="The most items of a task from one file.", min=1)] = 2,
    min_tokens: Annotated[int, Option(help="The fewest tokens of an item's code.", min=1)] = 800,
    max_tokens: Annotated[int, Option(help="The most tokens of an item's code.", min=1)] = 24_000,
    tokenizer: Tokenizer = None,
    seed: Annotated[int, Option(help="The seed of the random choice of items.")] = 0,
) -> None:
    """Make items from a repository's own code and history, without a model and without labels.

    choice asks for the value of a constant or of a parameter's default, or for the function that a docstring describes;
    the wrong answers are from the same file. completion asks for the next line in a function. place asks which lines a
    commit changed. An item's field `made` says how it was made. The same sources and seed make the same items.

    lamr research judge items . -o items.jsonl

    lamr research judge items tabulate-0.9.0-py3-none-any.whl --task completion --count 50 -o items.jsonl"""
    from lamr_evaluation.judge.make import ItemSources, MakingOptions, make_items

    options = MakingOptions(tuple(task or ()), count, per_file, min_tokens, max_tokens, seed)
    with bar() as progress:
        made = make_items(ItemSources(sources), options, counter(tokenizer), progress)
    if not made:
        raise typer.BadParameter(
            f"found no questions in files of {min_tokens:,} to {max_tokens:,} tokens; name other sources or "
            "bounds"
        )
    write_page(output, "".join(f"{item.to_json()}\n" for item in made))
    counts = Counter(item.task for item in made)
    parts = ", ".join(f"{number:,} {name}" for name, number in sorted(counts.items()))
    say(f"{output}: {parts}; {len({(item.project, item.path) for item in made}):,} files", err=True)


def _items(data: Path, limit: int | None, problems: list[Problem]) -> list[Item]:
    from lamr_evaluation import RecordError
    from lamr_evaluation.judge import read_items

    found = read_items(data, problems.append)
    if not found:
        why = f"; line {problems[0].line}: {problems[0].reason}" if problems else ""
        raise RecordError(f"{data} holds no items{why}", path=data)
    if limit is None:
        return found
    seen: Counter[str] = Counter()
    seen_before = [(seen[item.task], seen.update([item.task]))[0] for item in found]
    return [item for item, before in zip(found, seen_before, strict=True) if before < limit]


def _scorer(named: str) -> contextlib.AbstractContextManager[CausalScorer]:
    """Return the model that weighs answers; it multiplies in bfloat16 where the processor has instructions for it."""
    from lamr_base.cpus import cpu_features

    return scorer_of(named, bfloat16=not cpu_features().isdisjoint({"avx512_bf16", "amx_bf16"}))


def _endpoint(url: str, name: str | None, stack: contextlib.ExitStack) -> Reader:
    from lamr_evaluation.judge.readers import KEY_FROM, EndpointReader

    if name is None:
        raise typer.BadParameter("--reader needs --model, the model's name at the endpoint")
    made = EndpointReader(url, name, api_key=os.environ.get(KEY_FROM, ""))
    stack.callback(made.close)
    return made


def _pruners(named: list[str], setup: Setup) -> dict[str, ItemPruner]:
    """Return the pruners by name: those that are named, or all that can prune."""
    from lamr_evaluation.judge import PRUNERS

    made: dict[str, ItemPruner] = {}
    for name in named or (name for name in PRUNERS if name not in _UNASKED):
        if name not in PRUNERS:
            raise typer.BadParameter(f"--pruner must be one of {', '.join(PRUNERS)}, not {name!r}")
        pruner = PRUNERS[name](setup)
        if pruner is not None:
            made[name] = pruner
        elif named:
            raise typer.BadParameter(f"{name} needs --likelihoods")
    return made


def _tokenizer_of(scorer: CausalScorer, stack: contextlib.ExitStack) -> str | None:
    """Return a file of the scorer's own tokenizer; None where it has none that can be written."""
    tokenizer = getattr(scorer, "tokenizer", None)
    if tokenizer is None:
        return None
    file = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lamr-"))) / TOKENIZER_FILE
    file.write_text(tokenizer.to_str(), encoding="utf-8")
    return str(file)


def counter(tokenizer: Path | str | None) -> counters.Counter:
    """Return what counts the reader's tokens: by its `tokenizer.json`, or by default as GPT's o200k does."""
    from lamr_model.counters import token_counter
    from lamr_model.encoding import PromptEncoder
    from lamr_model.spec import bundled_repository

    return token_counter(tokenizer, PromptEncoder.from_repository(bundled_repository()))
