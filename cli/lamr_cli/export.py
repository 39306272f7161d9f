"""`lamr export`: a checkpoint becomes a Triton model repository."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from lamr_cli.extras import needs_extra


class Precision(str, enum.Enum):
    """The precision of the encoder's weights and products: `lamr_serving.engines.PRECISIONS`, as Typer needs them."""

    FP32 = "fp32"
    BF16 = "bf16"
    INT8 = "int8"


def export(
    checkpoint: Annotated[
        Path, typer.Argument(help="A LaMR checkpoint folder, or one in SWE-Pruner's published layout.")
    ],
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
    ] = Precision.FP32,
    max_batch_size: Annotated[
        int | None, typer.Option(help="Most chunks in one execution; default: by the model's window.", min=1)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Write a complete Triton model repository and verify it against PyTorch.

    The report is printed and stored beside the model, in lamr_encoder/1/report.json.

    lamr export runs/my-model --output my-repository --precision int8

    lamr serve my-repository
    """
    with needs_extra("export"):
        from lamr_export import export_repository

        report = export_repository(
            checkpoint,
            output,
            precision.value,
            max_batch_size=max_batch_size,
            progress=lambda line: typer.echo(line, err=True),
        )
    typer.echo(report.to_json() if as_json else report.summary())
