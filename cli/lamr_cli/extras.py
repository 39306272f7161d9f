"""A command whose extra isn't installed says which to install, instead of a traceback."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import typer

from lamr_cli.exits import BAD_INPUT

_MODULES = {
    "export": ("torch", "transformers", "onnx", "onnxruntime", "onnxscript", "safetensors"),
    "train": ("torch", "transformers", "tqdm", "matplotlib", "tensorboard"),
}


@contextlib.contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Turn the missing import of one of an extra's packages into a message; any other stays what it is."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in _MODULES[extra]:
            raise
        typer.echo(f"lamr: {error.name} isn't installed: pip install 'lamr-server[{extra}]'", err=True)
        raise typer.Exit(BAD_INPUT) from error
