"""`lamr export`: a checkpoint becomes a Triton model repository."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

from lamr_cli.arguments import AsJson
from lamr_cli.exits import needs_extra
from lamr_cli.printing import say

Precision = Literal["fp32", "bf16", "int8"]
"""Of the encoder's weights and products: `lamr_serving.engines.PRECISIONS`, as Typer needs them."""
# How tokens are scored: `lamr_export.config.SCORINGS`, as Typer needs them.
Scoring = Literal["paper", "emission"]


def export(
    checkpoint: Annotated[
        str | None,
        Argument(
            help="A LaMR checkpoint folder, or one in SWE-Pruner's published layout; or the Hugging Face id of either."
        ),
    ] = None,
    *,
    perplexity: Annotated[
        str | None,
        Option(
            help="Instead of a checkpoint: the folder, GGUF file or Hugging Face id of any causal language model, to "
            "serve log-probabilities of tokens.",
            metavar="MODEL",
        ),
    ] = None,
    output: Annotated[
        Path, Option("--output", "-o", help="Folder to write; a repository in it is replaced.")
    ],
    precision: Annotated[
        Precision,
        Option(
            help="int8: smaller and, for small models on most CPUs, fastest; bf16: fastest for large ones on CPUs with "
            "bf16, served with onnxruntime-openvino; `lamr status` shows which one suits this machine."
        ),
    ] = "fp32",
    revision: Annotated[str | None, Option(help="Revision of a Hugging Face id; default: main.")] = None,
    name: Annotated[
        str | None,
        Option(
            help="The model's name; its version is then a digest of its weights. Default: the checkpoint's."
        ),
    ] = None,
    scoring: Annotated[
        Scoring | None,
        Option(
            help="paper: averaged decisions of the chain; emission: probabilities without a chain, as in SWE-Pruner's "
            "service. Default: the checkpoint's own, for SWE-Pruner's emission."
        ),
    ] = None,
    chunk_tokens: Annotated[
        int | None, Option(help="The most code tokens of a chunk; default: the checkpoint's own.", min=1)
    ] = None,
    max_tokens: Annotated[
        int | None,
        Option(
            help="With --perplexity: the longest sequence; default: the model's window, up to 4,096.", min=1
        ),
    ] = None,
    max_batch_size: Annotated[
        int | None, Option(help="The most sequences in one batch; default: by the model.", min=1)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a complete Triton model repository and verify it against PyTorch.

    The report is printed and stored beside the model, as report.json.

    lamr export runs/my-model --output my-repository --precision int8 --name ours

    lamr export ayanami-kitasan/code-pruner --output my-repository

    lamr serve my-repository

    lamr export --perplexity models/Qwen2.5-Coder-0.5B-Instruct --output my-coder"""
    if (checkpoint is None) == (perplexity is None):
        raise typer.BadParameter("name a checkpoint, or a causal language model with --perplexity")
    of_pruners = {
        "--precision": precision != "fp32",
        "--scoring": scoring is not None,
        "--chunk-tokens": chunk_tokens is not None,
    }
    with needs_extra("export"):
        from lamr_export.causal_repository import CausalReport, export_causal
        from lamr_export.repository_writer import ExportReport, ServingTerms, export_repository

        how: dict[str, Any] = {"revision": revision, "progress": partial(say, err=True)}
        named: dict[str, Any] = {"name": name, "max_batch_size": max_batch_size}
        report: ExportReport | CausalReport
        if checkpoint is not None:
            if max_tokens is not None:
                raise typer.BadParameter("--max-tokens goes with --perplexity")
            terms = ServingTerms(scoring=scoring, chunk_tokens=chunk_tokens, **named)
            report = export_repository(checkpoint, output, precision, terms, **how)
        else:
            if misplaced := [name for name, given in of_pruners.items() if given]:
                raise typer.BadParameter(f"{misplaced[0]} goes with a pruner's checkpoint")
            assert perplexity is not None
            report = export_causal(perplexity, output, max_tokens=max_tokens, **named, **how)
    say(report.to_json() if as_json else report.summary())
