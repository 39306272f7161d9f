"""The message of a command whose extra isn't installed: it says what to install, in place of a traceback."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import typer
from lamr_errors import how_to_install

from lamr_cli.exits import BAD_INPUT
from lamr_cli.printing import say

_OF_EXPORT = """torch transformers onnx onnxruntime onnxscript safetensors huggingface_hub"""
_MODULES = {
    "export": tuple(_OF_EXPORT.split()),
    "http": ("fastapi", "starlette", "uvicorn", "pydantic", "prometheus_client"),
    "mcp": ("mcp", "mcp_types"),
    "train": ("torch", "transformers", "tqdm", "matplotlib", "tensorboard"),
}


@contextlib.contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Turn the missing import of one of an extra's packages into a message and exit code 2; other errors pass."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in _MODULES[extra]:
            raise
        say(f"lamr: {error.name} isn't installed: {how_to_install(extra)}", err=True)
        raise typer.Exit(BAD_INPUT) from error
