"""`lamr research compress`: what perplexity under a causal model chooses of a file, and how such a model is named."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer
from lamr_base.expressions import expression
from typer import Argument, Option

from lamr_cli.arguments import AsJson, Language, Query, Quiet, credentials, read_code
from lamr_cli.exits import needs_extra
from lamr_cli.printing import bar, print_exactly, say

if TYPE_CHECKING:
    from lamr_model.perplexity.causal_scorer import CausalScorer

MODEL_HELP = (
    "The causal language model: a folder of transformers, a .gguf file, OWNER/NAME on the Hugging Face Hub, HOST:PORT "
    "of a server of what `lamr export --perplexity` wrote, or http://HOST/v1 of vLLM, SGLang or llama.cpp."
)
Perplexity = Annotated[
    str, Option("--model", "--perplexity", help=MODEL_HELP, envvar="LAMR_PERPLEXITY", metavar="MODEL")
]
_HUB_ID = expression(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def scorer_of(named: str, *, bfloat16: bool = False) -> contextlib.AbstractContextManager[CausalScorer]:
    """Return the scorer that a text names; leaving it lets go of the model."""
    from lamr_model.perplexity.causal_spec import causal_files

    path = Path(named)
    if causal_files(path).is_dir():
        raise typer.BadParameter(f"{named} is for a server; run `lamr serve {named}` and name its HOST:PORT")
    if path.is_dir():
        return _in_torch(str(_only_gguf(path) or named), bfloat16)
    if path.suffix == ".gguf":
        if not path.is_file():
            raise typer.BadParameter(f"there is no file {path}")
        return _in_torch(named, bfloat16)
    if path.is_file():
        raise typer.BadParameter(f"{named} is a file, but no .gguf file; name the folder of its config.json")
    if urlsplit(named).scheme in ("http", "https") and urlsplit(named).path.strip("/"):
        from lamr_client import EndpointScorer

        return EndpointScorer(named, api_key=credentials(named).get("api_key"))
    if _HUB_ID.fullmatch(named) and not path.parent.is_dir():
        return _in_torch(named, bfloat16)
    return _served(named)


def _served(named: str) -> contextlib.AbstractContextManager[CausalScorer]:
    from lamr_client import InvalidInputError, TritonScorer, parse_connection

    try:
        connection = parse_connection(named, **credentials(named))
    except InvalidInputError as error:
        raise typer.BadParameter(
            f"there is no folder or file {named}, and {error}; an endpoint's address ends with /v1"
        ) from error
    return TritonScorer(connection)


def _only_gguf(folder: Path) -> Path | None:
    """The folder's GGUF file, where that is its model; of a model in parts, the first one."""
    if (folder / "config.json").is_file():
        return None
    files = [
        file
        for file in sorted(folder.glob("*.gguf"))
        if not re.search(r"-\d{5}-of-\d{5}$", file.stem) or "-00001-of-" in file.stem
    ]
    if len(files) > 1:
        names = ", ".join(file.name for file in files[:5])
        raise typer.BadParameter(f"{folder} holds several GGUF files; name one of them: {names}")
    return files[0] if files else None


def _in_torch(named: str, bfloat16: bool) -> contextlib.AbstractContextManager[CausalScorer]:
    with needs_extra("export"):
        from lamr_export import TorchScorer
        from transformers.utils.logging import disable_progress_bar

        # Its bars for loaded weights heed neither --quiet nor a missing terminal.
        disable_progress_bar()  # type: ignore[no-untyped-call]

    def told(line: str) -> None:
        if not line.startswith("reading") or named.endswith(".gguf"):
            say(f"lamr: {line}", err=True)

    return contextlib.nullcontext(TorchScorer(named, bfloat16=bfloat16, progress=told))


def compress(
    file: Annotated[str, Argument(help="The file to compress; - reads standard input.", metavar="FILE|-")],
    query: Query,
    perplexity: Perplexity,
    rate: Annotated[float, Option(help="The share of the tokens to aim at.", min=0.001, max=1)] = 0.5,
    target_tokens: Annotated[
        int | None, Option(help="The number of tokens to aim at, instead of --rate.", min=1)
    ] = None,
    context_budget: Annotated[
        str, Option(help="A change to that number: an operator and a number.", metavar="+100")
    ] = "+100",
    rank_only: Annotated[
        bool, Option("--rank-only", help="Take whole functions, without choosing within them.")
    ] = False,
    fine_ratio: Annotated[
        float | None, Option(help="The share of lines within functions; default: the rate.", min=0.001, max=1)
    ] = None,
    min_lines: Annotated[int, Option(help="Keep functions with fewer lines whole.", min=0)] = 5,
    language: Language = None,
    repair: Annotated[
        bool,
        Option(
            "--repair/--no-repair",
            help="Add lines that the chosen ones need, so that the code parses; LongCodeZip doesn't.",
        ),
    ] = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compress one file for a question by LongCodeZip's method, with any causal language model.

    Functions are ranked by how much they lower the question's perplexity. From the best ones, the sections that lower
    it most are taken. The method needs no training, but takes much longer than `lamr prune`. Rates are aims, not
    limits. The code goes to standard output, a summary to standard error.

    lamr research compress queue.py -q "How long does a retry wait?" --model models/Qwen2.5-Coder-0.5B-Instruct

    lamr research compress queue.py -q "How long does a retry wait?" --model SmolLM2-135M.gguf --rate 0.3

    lamr research compress queue.py -q "How long does a retry wait?" --model http://127.0.0.1:8000/v1"""
    from lamr_repositories.compression import CompressionOptions
    from lamr_repositories.compression import compress as compress_code

    options = CompressionOptions(
        rate=rate,
        target_tokens=target_tokens,
        context_budget=context_budget,
        rank_only=rank_only,
        fine_ratio=fine_ratio,
        min_lines=min_lines,
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
