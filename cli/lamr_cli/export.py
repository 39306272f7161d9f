"""`lamr export`: a checkpoint becomes a Triton model repository."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from lamr_cli.exits import needs_extra
from lamr_cli.printing import say

Precision = Literal["fp32", "bf16", "int8"]
"""Of the encoder's weights and products: `lamr_serving.engines.PRECISIONS`, as Typer needs them."""
Scoring = Literal["paper", "emission"]
"""How tokens are scored: `lamr_export.config.SCORINGS`, as Typer needs them."""


def export(
    checkpoint: Annotated[
        str | None,
        typer.Argument(
            help="A LaMR checkpoint folder, or one in SWE-Pruner's published layout; or the Hugging Face id of either."
        ),
    ] = None,
    *,
    perplexity: Annotated[
        str | None,
        typer.Option(
            help="Instead: the folder, GGUF file or Hugging Face id of any causal language model; what is served are "
            "log-probabilities of tokens.",
            metavar="MODEL",
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The model repository's folder; a repository in it is replaced."),
    ],
    precision: Annotated[
        Precision,
        typer.Option(
            help="int8: smaller and, for small models on most CPUs, fastest; bf16: fastest for large ones on CPUs with "
            "bf16, served with onnxruntime-openvino; `lamr status` says what suits this machine."
        ),
    ] = "fp32",
    revision: Annotated[
        str | None, typer.Option(help="Branch, tag or commit of a Hugging Face id; default: main.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            help="What the model is called, with a digest of its weights as version; default: as the checkpoint is."
        ),
    ] = None,
    scoring: Annotated[
        Scoring | None,
        typer.Option(
            help="paper: averaged decisions of the chain; emission: probabilities without one, as SWE-Pruner's service "
            "scores; default: the checkpoint's own, which for SWE-Pruner's is emission."
        ),
    ] = None,
    chunk_tokens: Annotated[
        int | None,
        typer.Option(help="Most code tokens of a chunk, cut at lines; default: the checkpoint's own.", min=1),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            help="With --perplexity: the longest sequence; default: the model's window, up to 4,096.", min=1
        ),
    ] = None,
    max_batch_size: Annotated[
        int | None,
        typer.Option(help="Most chunks or sequences in one execution; default: by the model.", min=1),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Write a complete Triton model repository and verify it against PyTorch.

    The report is printed and stored beside the model, as report.json.

    lamr export runs/my-model --output my-repository --precision int8 --name ours

    lamr export ayanami-kitasan/code-pruner --output my-repository

    lamr serve my-repository

    lamr export --perplexity models/Qwen2.5-Coder-0.5B-Instruct --output my-coder
    """
    if (checkpoint is None) == (perplexity is None):
        raise typer.BadParameter("name a checkpoint, or a causal language model with --perplexity")
    of_pruners = {
        "--precision": precision != "fp32",
        "--scoring": scoring is not None,
        "--chunk-tokens": chunk_tokens is not None,
    }
    with needs_extra("export"):
        from lamr_export.causal_repository import CausalReport, export_causal
        from lamr_export.repository_writer import ExportReport, export_repository

        report: ExportReport | CausalReport
        if checkpoint is not None:
            if max_tokens is not None:
                raise typer.BadParameter("--max-tokens goes with --perplexity")
            report = export_repository(
                checkpoint,
                output,
                precision,
                revision=revision,
                name=name,
                scoring=scoring,
                chunk_tokens=chunk_tokens,
                max_batch_size=max_batch_size,
                progress=_say,
            )
        else:
            if misplaced := [name for name, given in of_pruners.items() if given]:
                raise typer.BadParameter(f"{misplaced[0]} goes with a pruner's checkpoint")
            assert perplexity is not None
            report = export_causal(
                perplexity,
                output,
                revision=revision,
                name=name,
                max_tokens=max_tokens,
                max_batch_size=max_batch_size,
                progress=_say,
            )
    say(report.to_json() if as_json else report.summary())


def _say(line: str) -> None:
    say(line, err=True)
