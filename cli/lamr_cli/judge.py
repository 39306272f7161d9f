"""`lamr judge`: does a reader answer as well from a part of the tokens? `lamr judge items` makes the questions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lamr_cli.arguments import Model, Server
from lamr_cli.exits import end_with, needs_extra
from lamr_cli.judging import Asked, counter, judged
from lamr_cli.printing import bar, say, write_page

if TYPE_CHECKING:
    from lamr_evaluation import Problem
    from lamr_evaluation.judge import Item

PRUNERS_HELP = (
    "whole, none, head-tail, bm25, rag, longcodezip-coarse, longcodezip, swe-pruner, lamr-instant, lamr-auto, "
    "lamr-full, oracle"
)
FORMATS_HELP = "longcodeqa, lcc, swe-qa"
"""For the help, which mustn't cost the import of `lamr_evaluation.judge`; a test compares them."""
SHARES = (0.5, 0.25, 0.125)

app = typer.Typer(
    name="judge",
    help="Measure whether a reader answers as well from a part of the tokens.\n\n"
    "Each item is pruned by several pruners to the same number of tokens and given to the reader. Its answer is "
    "graded, and the difference to the whole code is paired, item by item. What asking will cost is said before and "
    "counted meanwhile. Answers are kept on disk: a run that was ended goes on where it was.\n\n"
    "A row of --data needs three fields: query, answer, and code or the path of a file.\n\n"
    "lamr judge items . -o items.jsonl\n\n"
    "lamr judge -d items.jsonl --reader http://127.0.0.1:8000/v1 --model qwen3-coder",
)


@app.callback(invoke_without_command=True)
def judge(
    context: typer.Context,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", "-d", help="JSONL of query, answer, and code or path; or what `lamr judge items` wrote."
        ),
    ] = None,
    public: Annotated[
        str | None,
        typer.Option(help=f"Read --data as a public set that you have: {FORMATS_HELP}.", metavar="FORMAT"),
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option(
            help="The folder that a row's path lies in; default: that of --data.",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    reader: Annotated[
        str | None,
        typer.Option(
            help="An OpenAI-compatible endpoint, such as http://127.0.0.1:8000/v1; its key in LAMR_READER_KEY.",
            metavar="URL",
        ),
    ] = None,
    name: Annotated[str | None, typer.Option("--model", help="The reader's name at the endpoint.")] = None,
    likelihoods: Annotated[
        str | None,
        typer.Option(
            help="Instead of an endpoint: a causal model that weighs answers and writes none, as --perplexity of "
            "`lamr compress` names it.",
            metavar="MODEL",
        ),
    ] = None,
    bfloat16: Annotated[
        bool,
        typer.Option(
            "--bfloat16",
            help="Let the causal model multiply in bfloat16: more than twice as fast on processors that have it.",
        ),
    ] = False,
    share: Annotated[
        list[float] | None,
        typer.Option(help="Of an item's tokens, repeatable; default: 0.5, 0.25, 0.125.", min=0.001, max=1),
    ] = None,
    pruner: Annotated[
        list[str] | None,
        typer.Option(help=f"Who prunes, repeatable; default: all that can: {PRUNERS_HELP}.", metavar="NAME"),
    ] = None,
    perplexity: Annotated[
        str | None,
        typer.Option(help="LongCodeZip's causal model; default: that of --likelihoods.", metavar="MODEL"),
    ] = None,
    encoder: Annotated[
        Path | None,
        typer.Option(
            help="rag's sentence encoder, a folder; default: MiniLM-L6 where the extra `train` is installed.",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    swe_pruner: Annotated[
        Path | None,
        typer.Option(help="What `lamr export` wrote of SWE-Pruner's weights.", exists=True, file_okay=False),
    ] = None,
    opinion: Annotated[
        str | None, typer.Option(help="A model of the endpoint that judges open answers.", metavar="NAME")
    ] = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(help="The reader's tokenizer.json; default: GPT's o200k, by a table."),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="The first so many items of each task.", min=1)] = None,
    budget_tokens: Annotated[int | None, typer.Option(help="Spend at most so many tokens.", min=1)] = None,
    budget_dollars: Annotated[float | None, typer.Option(help="Spend at most so much.", min=0)] = None,
    price: Annotated[
        tuple[float, float], typer.Option(help="Dollars for a million tokens read and written.")
    ] = (0.0, 0.0),
    at_once: Annotated[int, typer.Option(help="Questions under way together.", min=1)] = 8,
    thinking: Annotated[
        int, typer.Option(help="Tokens that the reader may think before it answers.", min=0)
    ] = 0,
    cache: Annotated[
        Path | None, typer.Option(help="Where answers are kept; default: in the user's cache folder.")
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Prune, say what asking would cost and what was kept, and ask nothing."
        ),
    ] = False,
    by: Annotated[
        str | None,
        typer.Option(
            help="The grade that is compared, where a task has it, such as exact or chance; --json has all.",
            metavar="GRADE",
        ),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the score over tokens into this PNG.")] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with what was kept and answered of each item.")
    ] = None,
    server: Server = None,
    repository: Model = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Judge, unless `lamr judge items` was asked for."""
    if context.invoked_subcommand is not None:
        return
    from lamr_evaluation.judge import Budget, Prices

    if data is None:
        raise typer.BadParameter("give --data, or make items first: lamr judge items . -o items.jsonl")
    if (reader is None) == (likelihoods is None):
        raise typer.BadParameter("give one of --reader and --likelihoods")
    if plot is not None:
        with needs_extra("train"):  # better now than after the work
            import matplotlib  # noqa: F401
    asked = Asked(
        reader=reader,
        name=name,
        likelihoods=likelihoods,
        bfloat16=bfloat16,
        perplexity=perplexity,
        encoder=encoder,
        swe_pruner=swe_pruner,
        opinion=opinion,
        tokenizer=tokenizer,
        at_once=at_once,
        thinking=thinking,
        by=by,
        server=server,
        repository=repository,
        pruners=tuple(pruner or ()),
        shares=tuple(sorted(share or SHARES, reverse=True)),
        budget=Budget(budget_tokens, budget_dollars),
        prices=Prices(*price),
        cache=cache,
        dry_run=dry_run,
    )
    problems: list[Problem] = []
    items = _items(data, public, root, limit, problems)
    report, judgement = judged(items, asked)
    if report is None:
        return
    if plot is not None:
        from lamr_evaluation.judge.report import plot_scores

        plot_scores(report, plot)
    if html is not None:
        from lamr_evaluation.judge.report import render_page

        write_page(html, render_page(report, judgement))
    say(report.to_json() if as_json else report.table())
    end_with(str(data), sorted([*problems, *judgement.problems]))


@app.command("items")
def items(
    sources: Annotated[
        list[Path],
        typer.Argument(
            help="Folders of code, repositories and wheels.", metavar="FOLDER|WHEEL...", exists=True
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The JSONL file to write.")],
    task: Annotated[
        list[str] | None, typer.Option(help="choice, completion or place, repeatable; default: all three.")
    ] = None,
    count: Annotated[int, typer.Option(help="Most items of each task.", min=1)] = 100,
    per_file: Annotated[int, typer.Option(help="Most items of a task from one file.", min=1)] = 2,
    min_tokens: Annotated[int, typer.Option(help="Least tokens of an item's code.", min=1)] = 800,
    max_tokens: Annotated[int, typer.Option(help="Most tokens of an item's code.", min=1)] = 24_000,
    tokenizer: Annotated[
        Path | None,
        typer.Option(help="The reader's tokenizer.json; default: GPT's o200k, by a table."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Another one makes other items.")] = 0,
) -> None:
    """Make items of a repository's own code and history, without a model and without labels.

    choice asks for the value of a constant or of a parameter's default, and for the function that a docstring
    describes; the rivals are of the same file. completion cuts a file inside a function; the next lines are known.
    place asks with a commit's message which lines it changed. How each item was made stands in its field `made`; the
    same sources and seed make the same items.

    lamr judge items . -o items.jsonl

    lamr judge items tabulate-0.9.0-py3-none-any.whl --task completion --count 50 -o items.jsonl
    """
    from lamr_evaluation.judge.making import MakingOptions, make_items
    from lamr_evaluation.judge.making.sources import open_sources

    options = MakingOptions(tuple(task or ()), count, per_file, min_tokens, max_tokens, seed)
    with bar() as progress:
        made = make_items(open_sources(sources), options, counter(tokenizer), progress)
    if not made:
        raise typer.BadParameter(
            f"nothing to ask was found in files of {min_tokens:,} to {max_tokens:,} tokens; name other sources or "
            "bounds"
        )
    write_page(output, "".join(f"{item.to_json()}\n" for item in made))
    counts = Counter(item.task for item in made)
    parts = ", ".join(f"{number:,} {name}" for name, number in sorted(counts.items()))
    say(f"{output}: {parts}; {len({(item.project, item.path) for item in made}):,} files", err=True)


def _items(
    data: Path, public: str | None, root: Path | None, limit: int | None, problems: list[Problem]
) -> list[Item]:
    from lamr_evaluation import RecordError
    from lamr_evaluation.judge import read_items
    from lamr_evaluation.judge.formats import FORMATS, read_public

    if public is not None and public not in FORMATS:
        raise typer.BadParameter(f"--public must be one of {', '.join(FORMATS)}, not {public!r}")
    if public is not None:
        found = read_public(data, public, root, problems.append)
    else:
        found = read_items(data, root, problems.append)
    if not found:
        why = f"; line {problems[0].line}: {problems[0].reason}" if problems else ""
        raise RecordError(f"{data} holds no items{why}", path=data)
    if limit is None:
        return found
    seen: Counter[str] = Counter()
    seen_before = [(seen[item.task], seen.update([item.task]))[0] for item in found]
    return [item for item, before in zip(found, seen_before, strict=True) if before < limit]
