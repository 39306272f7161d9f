"""`lamr research compress`: takes a file and a question, and prints what perplexity under a causal model chooses."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import typer

from lamr_cli.arguments import Language, Query, Quiet, read_code
from lamr_cli.printing import bar, print_exactly, say
from lamr_cli.scorers import Perplexity, scorer_of

Value = Literal["conditional", "contrastive"]
"""The keys of `lamr_repositories.compression.VALUES`, as Typer needs them."""
Spread = Literal["std", "robust_std", "iqr", "mad"]
"""The keys of `lamr_repositories.compression.SPREADS`."""


def compress(
    file: Annotated[
        str, typer.Argument(help="The file to compress; - reads standard input.", metavar="FILE|-")
    ],
    query: Query,
    perplexity: Perplexity,
    rate: Annotated[float, typer.Option(help="The share of the tokens to aim at.", min=0.001, max=1)] = 0.5,
    target_tokens: Annotated[
        int | None, typer.Option(help="The number of tokens to aim at, instead of --rate.", min=1)
    ] = None,
    context_budget: Annotated[
        str, typer.Option(help="A change to that number: an operator and a number.", metavar="+100")
    ] = "+100",
    rank_only: Annotated[
        bool, typer.Option("--rank-only", help="Take whole functions, without choosing within them.")
    ] = False,
    fine_ratio: Annotated[
        float | None,
        typer.Option(help="The share of the taken functions' lines; default: the rate.", min=0.001, max=1),
    ] = None,
    beta: Annotated[
        float,
        typer.Option(
            help="How far a function's share depends on its rank: 0 not at all, 1 the most.", min=0, max=1
        ),
    ] = 0.5,
    min_lines: Annotated[
        int, typer.Option(help="Keep functions with fewer lines or sections whole.", min=0)
    ] = 5,
    value: Annotated[
        Value,
        typer.Option(
            help="The value of a section. conditional: how much it helps to predict the question; contrastive: how "
            "much the question helps to predict it."
        ),
    ] = "conditional",
    knapsack: Annotated[
        bool, typer.Option("--knapsack/--lines", help="Choose sections, or lines by their smoothed value.")
    ] = True,
    spread: Annotated[Spread, typer.Option(help="How large a jump of perplexity ends a section.")] = "std",
    spread_weight: Annotated[float, typer.Option(help="The weight of the spread in that jump.")] = 0.2,
    language: Language = None,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair/--no-repair",
            help="Add lines that the chosen ones need, so that the code parses; LongCodeZip doesn't.",
        ),
    ] = True,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print text, tokens and every function's score as JSON.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Compress one file for a question by LongCodeZip's method, with any causal language model.

    Functions are ranked by how much they lower the question's perplexity. From the best ones, the sections that lower
    it most are taken. The method needs no training, but takes much longer than `lamr prune`. Rates are aims, not
    limits. The code goes to standard output, a summary to standard error.

    lamr research compress queue.py -q "How long does a retry wait?" --model models/Qwen2.5-Coder-0.5B-Instruct

    lamr research compress queue.py -q "How long does a retry wait?" --model SmolLM2-135M.gguf --rate 0.3

    lamr research compress queue.py -q "How long does a retry wait?" --model http://127.0.0.1:8000/v1
    """
    from lamr_repositories.compression import CompressionOptions
    from lamr_repositories.compression import compress as compress_code

    options = CompressionOptions(
        rate=rate,
        target_tokens=target_tokens,
        context_budget=context_budget,
        rank_only=rank_only,
        fine_ratio=fine_ratio,
        beta=beta,
        min_lines=min_lines,
        value=value,
        knapsack=knapsack,
        spread=spread,
        spread_weight=spread_weight,
    )
    source = read_code(file, query)
    with scorer_of(perplexity) as scorer, bar(disable=quiet) as progress:
        found = compress_code(
            source.text,
            query,
            scorer,
            options,
            path=None if file == "-" else file,
            language=language,
            repair=repair,
            on_progress=progress,
        )
    if as_json:
        print_exactly(json.dumps(found.to_dict(), ensure_ascii=False) + "\n")
    else:
        print_exactly(found.text, encoding=source.encoding)
    if not quiet:
        say(found.summary(), err=True)
